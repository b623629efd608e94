"""A recorded deal as a picture in text: the hands, every trick with who took it and what it cost, faults and notes.

On a terminal cards have suit symbols, and a colour for each suit; elsewhere they are the codes of `arena.cards`. The table of
tricks fits 80 columns for six players.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from arena.cards import Card, Suit
from arena.faults import Evidence
from arena.game import PassDirection
from arena.record import DealRecord
from arena.replay import replay
from arena.text import clean_line, clean_lines
from leaderboard.signs import Signs

_COLOURS: Final = {
    Suit.CLUBS: "",
    Suit.DIAMONDS: "bright_blue",
    Suit.SPADES: "",
    Suit.HEARTS: "red",
    None: "magenta",
}
_SYMBOLS: Final = {Suit.CLUBS: "♣", Suit.DIAMONDS: "♦", Suit.SPADES: "♠", Suit.HEARTS: "♥"}

NAME_WIDTH: Final = 16
"""The most columns that a bot's name takes in a table."""


@dataclass(frozen=True, slots=True)
class Trick:
    """One trick of a recorded deal: who led, the cards by seat, who took it, and by how much the taker's points changed."""

    leader: int
    cards: tuple[Card, ...]
    taker: int
    cost: int


def tricks(record: DealRecord) -> tuple[Trick, ...]:
    """Play a recorded deal again and return its tricks; raise Difference where the record breaks the rules."""
    players = record.game.players
    played: list[Trick] = []
    before = [0] * players
    for step in replay(record):
        deal = step.deal
        if len(deal.trick_leaders) > len(played):
            leader, taker = deal.trick_leaders[-1], deal.leader
            cards = deal.plays[-players:]
            points = [record.game.pile_points(pile) for pile in deal.piles]
            by_seat = tuple(cards[(seat - leader) % players] for seat in range(players))
            played.append(Trick(leader, by_seat, taker, points[taker] - before[taker]))
            before = points
    return tuple(played)


def decision_tricks(record: DealRecord) -> Mapping[int, int]:
    """Return the trick, from 1, of each decision of this deal, 0 for passing; players count theirs over a whole table."""
    passing = [record.game.pass_direction(number) is not PassDirection.NONE for number in range(1, record.number + 1)]
    earlier = sum(record.game.hand_size + passes for passes in passing[:-1])
    return dict(enumerate(range(0 if passing[-1] else 1, record.game.hand_size + 1), earlier))


def evidence_lines(evidence: Evidence) -> Iterator[str]:
    """Say in lines what is known of a fault."""
    facts = [
        f"{evidence.overrun:.3f} s over the limit" if evidence.overrun is not None else "",
        f"exit code {evidence.exit_code}" if evidence.exit_code is not None else "",
        f"signal {evidence.signal}" if evidence.signal is not None else "",
        f"answer: {clean_line(evidence.answer)}" if evidence.answer else "",
    ]
    yield "; ".join(filter(None, (f"{evidence.kind}: {clean_line(evidence.detail)}", *facts)))
    yield from written_lines(evidence)


def written_lines(evidence: Evidence) -> Iterator[str]:
    """Show in lines what the bot wrote before a fault."""
    return (f"  | {line}" for line in clean_lines(evidence.stderr).splitlines())


class DealView:
    """Draws deals for one console."""

    def __init__(self, console: Console) -> None:
        self._signs = Signs(console.encoding)
        self._wraps = console.is_terminal
        self._symbols = console.is_terminal and console.encoding.lower().startswith("utf")
        self._width = console.width

    def draw(self, record: DealRecord, heading: str) -> RenderableType:
        """Return the whole picture of a deal."""
        legend = "> leads   * takes the trick" + "   ! substitute for a failed choice" * bool(record.faults)
        return Group(
            Text(heading, "bold"),
            Text(),
            self._hands(record),
            Text(),
            self._tricks(record),
            Padding(Text(legend, "dim"), (1, 0, 0, 1)),
            *map(self._indent, self._remarks(record)),
        )

    def _indent(self, remark: Text) -> RenderableType:
        """Put a remark a column to the right: on a terminal wrapped, elsewhere each line as it is."""
        if self._wraps:
            return Padding(remark, (0, 0, 0, 1))
        lines = [Text.assemble(" ", line) for line in remark.split()]
        return Text("\n", no_wrap=True, overflow="ignore").join(lines)

    def _hands(self, record: DealRecord) -> Table:
        direction = record.game.pass_direction(record.number)
        table = Table("seat", self._name_column("bot", NAME_WIDTH), "dealt", box=None, header_style="bold")
        if direction is not PassDirection.NONE:
            table.add_column(f"passed {direction.name.lower()}", no_wrap=True)
        for seat, (bot, hand) in enumerate(zip(record.bots, record.hands, strict=True)):
            name = self._signs.shorten(clean_line(bot), NAME_WIDTH)
            row = [Text(str(seat)), Text(name), self._suits(hand)]
            if direction is not PassDirection.NONE:
                row.append(Text(" ").join(map(self._card, record.passes[seat])))
            table.add_row(*row)
        return table

    def _tricks(self, record: DealRecord) -> Table:
        game = record.game
        width = min(NAME_WIDTH, (self._width - 24) // game.players - 1)
        names = (self._name_column(f" {seat} {clean_line(bot)}", width) for seat, bot in enumerate(record.bots))
        table = Table(
            "trick", *names, Column("points", justify="right", no_wrap=True, min_width=6), box=None, header_style="bold"
        )
        trick_of = decision_tricks(record)
        substitutes = {(fault.seat, trick_of.get(fault.decision)) for fault in record.faults}
        for number, trick in enumerate(tricks(record), 1):
            cells = (self._play(trick, seat, failed=(seat, number) in substitutes) for seat in range(game.players))
            table.add_row(str(number), *cells, f"{trick.cost:+}" if trick.cost else "")
        table.add_section()
        table.add_row("points", *(f" {score}" for score in record.scores), str(sum(record.scores)), style="bold")
        if record.placed_by_game:
            totals = (f" {record.totals[game.side_of[seat]]}" for seat in range(game.players))
            table.add_row("total", *totals, style="bold")
        return table

    def _play(self, trick: Trick, seat: int, *, failed: bool) -> Text:
        card = self._card(trick.cards[seat])
        if seat == trick.taker:
            card.stylize("bold reverse")
        marks = ("*" if seat == trick.taker else "") + ("!" if failed else "")
        return Text.assemble(">" if seat == trick.leader else " ", card, (marks, "bold"))

    def _remarks(self, record: DealRecord) -> Iterator[Text]:
        trick_of = decision_tricks(record)
        taken = [0] * record.game.players
        for trick in tricks(record):
            taken[trick.taker] += trick.cost
        if tuple(taken) != record.scores:
            yield Text(f"a moon was shot; the points taken were {', '.join(map(str, taken))}", "bold")

        def where(seat: int, decision: int) -> str:
            trick = trick_of.get(decision)
            moment = f"trick {trick}" if trick else "passing" if trick == 0 else f"decision {decision}"
            return f"{moment}, seat {seat} ({clean_line(record.bots[seat])}): "

        for fault in record.faults:
            first, *others = evidence_lines(fault.evidence)
            yield Text("\n".join([where(fault.seat, fault.decision) + first, *others]), "red")
            if fault.retired:
                yield Text(f"seat {fault.seat} is retired: it is asked no more", "red")
        for note in record.notes:
            yield Text.assemble((where(note.seat, note.decision), "dim"), (clean_line(note.text), "italic"))

    def _card(self, card: Card) -> Text:
        if card.suit is None:
            return Text(str(card), _COLOURS[None])
        return Text(str(card)[0] + self._suit(card.suit), _COLOURS[card.suit])

    def _suit(self, suit: Suit) -> str:
        return _SYMBOLS[suit] if self._symbols else suit.name[0]

    def _suits(self, hand: Iterable[Card]) -> Text:
        """Return a hand by suits, magicians last."""
        cards = list(hand)
        groups = []
        for suit in (Suit.CLUBS, Suit.DIAMONDS, Suit.SPADES, Suit.HEARTS):
            ranks = [str(card)[0] for card in cards if card.suit is suit]
            if ranks:
                groups.append(Text(f"{self._suit(suit)}\N{NO-BREAK SPACE}{' '.join(ranks)}", _COLOURS[suit]))
        groups += [self._card(card) for card in cards if card.is_magician]
        return Text("  ").join(groups)

    def _name_column(self, name: str, width: int) -> Column:
        header = Text(self._signs.shorten(name, width), no_wrap=True, overflow="ellipsis")
        return Column(header, max_width=width, no_wrap=True, overflow="ellipsis")
