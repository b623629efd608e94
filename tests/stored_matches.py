"""Tournaments and played matches for the tests of the store; run as a program, it plays what a store has left."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from arena.dealing import Seed
from arena.faults import Evidence, Fault, FaultKind
from arena.game import Game, Phase
from arena.games import find_game
from arena.match import Match, RotationResult
from arena.record import DealRecord
from arena.results import Result, places
from arena.settings import Entry, Settings, Tournament
from arena.store import Store

BOTS = ("cautious", "gopher", "Ünï 蝶", "zed")
GAME = find_game("hearts-classic")


def new_tournament(tournament_id: str = "0123456789ab", fingerprint: str = "0123456789abcdef") -> Tournament:
    """Return a tournament of four bots that has not begun."""
    entries = tuple(Entry(name, command=("./bot", name), directory=Path("/srv/bots")) for name in BOTS)
    return Tournament(
        id=tournament_id,
        fingerprint=fingerprint,
        settings=Settings(options={"moon": "off", "deals": None}, seed="open"),
        entries=entries,
        seed=Seed.from_text("open"),
        created=datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC),
        versions={**dict.fromkeys(BOTS, "00ff00ff00ff"), "zed": None},
    )


def new_matches(count: int, deals: int = 2) -> tuple[Match, ...]:
    """Return matches of the four bots."""
    return tuple(Match(number, BOTS, deals) for number in range(1, count + 1))


def played_deal(game: Game, bots: Sequence[str], number: int, faults: tuple[Fault, ...] = ()) -> DealRecord:
    """Play a deal in which everybody chooses the lowest legal cards."""
    deal = game.random_deal(f"{bots}", number)
    hands = [deal.legal(seat) if deal.phase is Phase.PASSING else () for seat in range(game.players)]
    passes = [hand[: game.cards_passed] for hand in hands]
    dealt = deal.copy()
    while deal.to_act:
        seat = deal.to_act[0]
        deal.choose(seat, deal.legal(seat)[: game.cards_passed if deal.phase is Phase.PASSING else 1])
    return DealRecord(
        game=game,
        placed_by_game=False,
        number=number,
        bots=tuple(bots),
        hands=tuple(dealt.observe(seat).hand for seat in range(game.players)),
        passes=tuple(passes),
        plays=tuple(deal.plays),
        scores=deal.scores(),
        totals=(0,) * game.players,
        faults=faults,
    )


def save_match(store: Store, tournament_id: str, tables: Sequence[RotationResult]) -> None:
    """Keep all tables of a match, which is done then."""
    store.save_tables(tournament_id, tables, done=[tables[0].match.number])


def played_match(match: Match, attempt: int = 0) -> list[RotationResult]:
    """Return the tables of a match as they might have been played, with one fault in its first deal."""
    fault = Fault(
        2, 0, Evidence(FaultKind.TIMEOUT, "no answer within 1 s", overrun=0.5, stderr="warming up"), retired=True
    )
    tables = []
    for table, seating in enumerate(match.seatings(GAME)):
        bots = tuple(match.line_up[place] for place in seating)
        first = (fault,) if table == 0 else ()
        records = tuple(
            played_deal(GAME, bots, number, first if number == 1 else ()) for number in range(1, match.deals + 1)
        )
        results = []
        for record in records:
            counts = tuple(sum(fault.seat == seat for fault in record.faults) for seat in range(GAME.players))
            results.append(
                Result((match.number, record.number), table, bots, record.scores, places(record.scores), counts)
            )
        played = RotationResult(match, table, attempt, records, tuple(results), decisions=104, seconds=0.0625)
        tables.append(played)
    return tables


def _as_of(match: Match, table: RotationResult) -> RotationResult:
    results = tuple(replace(result, board=(match.number, result.board[1])) for result in table.results)
    return replace(table, match=match, results=results)


def main(path: str) -> None:
    """Play what is left, one match after the other, and say so after each."""
    template = played_match(new_matches(1)[0])
    with Store.open(path) as store, store.coordinate():
        tournament = store.tournament()
        for match in store.matches(tournament.id, done=False):
            save_match(store, tournament.id, [_as_of(match, table) for table in template])
            print(match.number, flush=True)  # noqa: T201
        store.finish(tournament.id)


if __name__ == "__main__":
    main(sys.argv[1])
