"""From records back to play: a deal step by step, and whether records agree with the rules of the game and of the table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from arena.cards import Card, format_cards
from arena.difference import Difference
from arena.errors import BadGame, IllegalChoice
from arena.faults import Fault, FaultKind, substitute
from arena.game import Deal, Phase
from arena.record import DealRecord
from arena.table import TableRules


@dataclass(frozen=True, slots=True)
class Step:
    """One choice of a deal: who chose which cards, out of which, and the deal right after it. The deal goes on changing."""

    deal: Deal
    seat: int
    cards: tuple[Card, ...]
    legal: tuple[Card, ...]


def replay(record: DealRecord) -> Iterator[Step]:
    """Play a recorded deal again, choice by choice; raise Difference where the rules refuse one, or score otherwise."""
    try:
        deal = record.game.start(record.hands, record.number)
    except BadGame as error:
        raise Difference("the hands", "a deal of the pack", error) from error
    for seat, cards in enumerate(record.passes):
        if cards or deal.phase is Phase.PASSING:
            yield _choose(deal, seat, cards, f"the cards that seat {seat} passes")
    for place, card in enumerate(record.plays):
        if deal.phase is not Phase.PLAYING:
            raise Difference("the number of cards played", place, len(record.plays))
        trick = len(deal.trick_leaders) + 1
        yield _choose(deal, deal.turn, (card,), f"the card that seat {deal.turn} plays to trick {trick}")
    if deal.phase is not Phase.OVER:
        raise Difference("the number of cards played", "as many as were dealt", len(record.plays))
    if deal.scores() != record.scores:
        raise Difference("the scores", list(deal.scores()), list(record.scores))


def _choose(deal: Deal, seat: int, cards: tuple[Card, ...], what: str) -> Step:
    legal = deal.legal(seat)
    count = deal.game.cards_passed if deal.phase is Phase.PASSING else 1
    try:
        deal.choose(seat, cards)
    except IllegalChoice as error:
        expected = f"{count} of {format_cards(legal)}" if legal else "none"
        raise Difference(what, expected, format_cards(cards) or "none") from error
    return Step(deal, seat, cards, legal)


class TableReplay:
    """The records of one table, played again in their order: who was asked, who failed, whom that retired, and the totals.

    `deals` is how many deals the table was to play, 0 for a game to its end.
    """

    def __init__(self, rules: TableRules, deals: int) -> None:
        game = rules.game
        self._rules = rules
        self._deals = deals
        self._asked = [0] * game.players
        self._faults = [0] * game.players
        self._retired = [False] * game.players
        self._totals = (0,) * len(game.sides)
        self._reached: int | None = None
        self.over = False
        """Whether the deals so far are all that the table was to play."""
        self.why_not_over = f"{deals} deals are to be played" if deals else "a game is to be played to its end"

    def follow(self, record: DealRecord) -> int:
        """Play the next deal again and return how many decisions its players were asked.

        Raises Difference where it breaks the rules of the game, where a failed or retired player's choice is not the
        substitute, where a fault, a note or a time belongs to no decision that was asked, or where the totals are wrong.
        """
        asked_before = sum(self._asked)
        self._follow_choices(record)
        asked = sum(self._asked) - asked_before
        if len(record.answer_micros) != asked:
            raise Difference("the number of answers that were timed", asked, len(record.answer_micros))
        retired = [seat for seat, out in enumerate(self._retired) if out]
        if retired != list(record.retired):
            raise Difference("the retired seats", retired, list(record.retired))
        self._count(record)
        return asked

    def _follow_choices(self, record: DealRecord) -> None:
        booked, faults = 0, record.faults
        answered = set()
        for step in replay(record):
            seat = step.seat
            if self._retired[seat]:
                _verify_substitute(step, "is retired")
                continue
            decision = self._asked[seat]
            self._asked[seat] += 1
            if booked < len(faults) and (faults[booked].seat, faults[booked].decision) == (seat, decision):
                _verify_substitute(step, f"failed its decision {decision}")
                self._book(faults[booked])
                booked += 1
            else:
                answered.add((seat, decision))
        if booked < len(faults):
            raise Difference("a fault", "none but at a decision that was asked", _of(faults[booked]))
        for note in record.notes:
            if (note.seat, note.decision) not in answered:
                raise Difference(
                    "a note", "none but to an answer", f"that of seat {note.seat}, decision {note.decision}"
                )

    def _book(self, fault: Fault) -> None:
        if fault.evidence.kind is FaultKind.ARENA:
            raise Difference("a fault", "one of a bot", f"{_of(fault)}, of the arena itself")
        self._faults[fault.seat] += 1
        out = self._retired[fault.seat] = self._faults[fault.seat] >= self._rules.faults.allowed
        if fault.retired != out:
            names = {True: "its player retired", False: "its player not retired"}
            raise Difference(f"what follows from the fault {_of(fault)}", names[out], names[fault.retired])

    def _count(self, record: DealRecord) -> None:
        game = self._rules.game
        if self._rules.placed_by_game:
            scores = game.side_totals(record.scores)
            self._totals = tuple(map(sum, zip(self._totals, scores, strict=True)))
            if self._reached is None and game.target is not None and max(self._totals) >= game.target:
                self._reached = record.number
            outcome = game.finished(self._totals, scores, record.number, reached=self._reached)
            self.over, self.why_not_over = outcome.over, f"the game goes on ({outcome.reason.replace('_', ' ')})"
        else:
            self.over = record.number == self._deals
        if record.totals != self._totals:
            raise Difference("the totals", list(self._totals), list(record.totals))


def _of(fault: Fault) -> str:
    return f"of seat {fault.seat}, decision {fault.decision}"


def _verify_substitute(step: Step, why: str) -> None:
    expected = substitute(step.legal, len(step.cards))
    if sorted(expected) != sorted(step.cards):
        what = f"what is chosen for seat {step.seat}, which {why}"
        raise Difference(what, f"the substitute {format_cards(expected)}", format_cards(step.cards))
