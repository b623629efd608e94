"""Whole tables under the referee: the bot at one seat, players that choose at random at the others."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from functools import cache

from arena.clock import TimeControl
from arena.conformance.questions import KEY, describe_game
from arena.conformance.subject import Subject
from arena.dealing import Stream, opaque_id, random_word
from arena.decision import Choice, DealResult, Decision, Description
from arena.errors import Malformed
from arena.faults import Evidence, Failure, Fault, FaultKind, FaultPolicy
from arena.game import Game, OptionValue
from arena.games import SIDES, find_game
from arena.players.base import Answer, Player
from arena.table import Table, TableResult, TableRules

DEALS = 4
"""How many deals a table plays: a whole cycle of passing in Hearts."""

FIRST_FAULT_RETIRES = FaultPolicy(forfeit=True)


class Anybody(Player):
    """A player that chooses at random, at once."""

    async def start(self) -> Description:
        """Be there."""
        return Description()

    async def decide(self, decision: Decision) -> Answer:
        """Choose any legal cards."""
        if decision.count > 1:
            return Answer(Choice(tuple(decision.rng.sample(decision.legal, decision.count))), 0.0)
        return Answer(Choice((decision.legal[decision.random % len(decision.legal)],)), 0.0)

    async def finish_deals(self, results: Sequence[DealResult]) -> None:
        """Not care."""

    async def close(self) -> None:
        """Be gone."""


class Asked(Player):
    """The bot under check as a player: asked one decision at a time, while its answers are measured."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._asking = asyncio.Lock()
        self.latencies: list[float] = []
        """Seconds that each answer took."""
        self.largest = 0
        """Bytes of the largest reply."""

    async def start(self) -> Description:
        """Start it again if need be."""
        await self._subject.ready()
        return self._subject.description

    async def decide(self, decision: Decision) -> Answer:
        """Ask for one decision in a request of its own."""
        async with self._asking:
            reply = await self._subject.ask([decision])
        self.latencies.append(reply.elapsed)
        self.largest = max(self.largest, reply.size)
        (choice,) = reply.choices
        if isinstance(choice, Malformed):
            raise Failure(Evidence(FaultKind.MALFORMED, str(choice)), reply.elapsed)
        return Answer(choice, reply.elapsed)

    async def finish_deals(self, results: Sequence[DealResult]) -> None:
        """Not be told: FinishDeals has a step of its own."""

    async def close(self) -> None:
        """Leave the instance to the check."""


@cache
def as_game(game: Game) -> Game:
    """Return the same game played for a fixed number of deals, to be placed as a whole."""
    options = {**game.options, "deals": DEALS, "target": _default(game, "target")}
    return find_game(game.name, game.players, SIDES[game.partners], options)


def _default(game: Game, name: str) -> OptionValue:
    return next(option.default for option in game.known_options if option.name == name)


def seat_of(game: Game, number: int) -> int:
    """Return where the bot sits at a table: at every seat in turn."""
    return number % game.players


async def play_table(player: Player, game: Game, number: int, time: TimeControl) -> TableResult:
    """Play a table with the player at one seat; its first fault retires it.

    At every other table the game is placed as a whole, so that totals are not 0.
    """
    placed_by_game = number % 2 == 1
    played = as_game(game) if placed_by_game else game
    players: list[Player] = [Anybody() for _ in range(game.players)]
    players[seat_of(game, number)] = player
    table = Table(
        TableRules(played, placed_by_game, time, FIRST_FAULT_RETIRES),
        players,
        [type(each).__name__ for each in players],
        table_id=opaque_id(KEY, "table", number),
        deals=0 if placed_by_game else DEALS,
        hands_of=lambda deal: Stream(KEY, "deal", number, deal).deal(game.deck, game.players),
        random_of=lambda seat, decision: random_word(KEY, "bot", number, seat, decision),
    )
    return await table.play()


def faults_of(result: TableResult) -> Iterator[tuple[str, Fault]]:
    """Yield the faults at a table, each with where it happened."""
    for record in result.records:
        for fault in record.faults:
            where = f"{describe_game(record.game)}, deal {record.number}"
            yield f"{where}, decision {fault.decision} at seat {fault.seat}", fault
