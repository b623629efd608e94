"""HeartSwitch: 60 cards with witches and magicians, for three to six, also in partnerships (rules W-01 to W-32, P-01 to P-06)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from arena.cards import ALL_CARDS, MAGICIANS, SUIT_SETS, WITCHES, Card, Suit
from arena.errors import BadGame
from arena.game import Game, Option, OptionValue, PassDirection
from arena.games.options import complete_options, end_options

QUEEN_POINTS: Final = 13
"""What the queen of spades costs: I-23."""
WITCH_POINTS: Final = 5
"""What the witch of spades costs."""
DOUBLED_HEARTS_CAP: Final = 15
"""What hearts cost at most with the witch of hearts (W-18)."""
DEDUCTION: Final = 5
"""What the witch of diamonds takes off at most (W-21)."""

_QUEEN = 1 << Card("QS")
_CLUB_WITCH, _DIAMOND_WITCH, _SPADE_WITCH, _HEART_WITCH = (1 << Card(code) for code in ("WC", "WD", "WS", "WH"))
_HEARTS = SUIT_SETS[Suit.HEARTS]
_PLAIN_HEARTS = _HEARTS & ~WITCHES
_MOON_POINTS = {0: 0, _SPADE_WITCH: 20, _QUEEN: 25, _SPADE_WITCH | _QUEEN: 30}
"""What a moon costs each opponent by the spades in it (W-24): without one of them it is none."""

_CYCLES = {
    3: (PassDirection.LEFT, PassDirection.RIGHT),
    4: (PassDirection.LEFT, PassDirection.RIGHT, PassDirection.ACROSS),
    5: (PassDirection.LEFT, PassDirection.RIGHT),
    6: (PassDirection.LEFT, PassDirection.RIGHT, PassDirection.ACROSS),
}
"""Where cards are passed, by the number of players (W-09)."""

_KNOWN_OPTIONS: tuple[Option, ...] = end_options(target=70)


class HeartSwitch(Game):
    """HeartSwitch for three to six players, or for two or three partnerships."""

    @property
    def summary(self) -> str:
        """The rules in a few plain sentences."""
        directions = ", ".join(direction.name.lower() for direction in self.pass_cycle)
        partners = " Opposite seats are partners and add up their points." if self.partners else ""
        if self.deals is None:
            end = f"Once a total is {self.target} or more after a deal, the lowest wins; equals share the win."
        else:
            end = f"After {self.deals} deals the lowest total wins."
        return (
            f"{self.players} players get {self.hand_size} of 60 cards each: the 52 usual ones, a witch between ten and "
            f"jack of each suit, and four magicians, which have no suit.{partners} Each passes 3, by turns: {directions}. "
            "The seat after the dealer leads anything; then the taker of a trick leads the next. Follow suit if you "
            "can, but a magician may always be played. The highest card of the first suit played takes the trick; a "
            "magician never does, unless only magicians lie there: then the first. Each heart costs 1 point, the queen "
            "of spades 13, the witch of spades 5. In one player's pile the witch of clubs cancels both spades, the "
            "witch of hearts costs nothing and doubles hearts to at most 15, and at last the witch of diamonds takes "
            "off up to 5. Who takes all 14 hearts with the queen or the witch of spades or both gets none, and each "
            f"opponent 25, 20 or 30. {end}"
        )

    def first_leader(self, hands: Sequence[int], number: int) -> int:
        """Return the seat after the dealer (W-11)."""
        del hands
        return number % self.players

    def free_set(self, hand: int, following: bool, first_trick: bool, broken: bool) -> int:
        """Return the whole hand: anything may be led or discarded (W-11, W-12)."""
        del following, first_trick, broken
        return hand

    def pile_points(self, pile: int) -> int:
        """Return what one pile costs (W-18 to W-22)."""
        hearts = (pile & _PLAIN_HEARTS).bit_count()
        points = min(2 * hearts, DOUBLED_HEARTS_CAP) if pile & _HEART_WITCH else hearts
        if not pile & _CLUB_WITCH:
            points += (QUEEN_POINTS if pile & _QUEEN else 0) + (WITCH_POINTS if pile & _SPADE_WITCH else 0)
        return max(points - DEDUCTION, 0) if pile & _DIAMOND_WITCH else points

    def score_sets(self, piles: Sequence[int]) -> tuple[int, ...]:
        """Return the piles' points, or after a moon its value for all but the shooter's side (W-23 to W-27, P-05)."""
        for shooter, pile in enumerate(piles):
            if pile & _HEARTS == _HEARTS and (moon := _MOON_POINTS[pile & (_SPADE_WITCH | _QUEEN)]):
                side = self.side_of[shooter]
                return tuple(0 if self.side_of[seat] == side else moon for seat in range(self.players))
        return tuple(map(self.pile_points, piles))


def heartswitch(players: int, partners: bool, options: Mapping[str, OptionValue]) -> HeartSwitch:
    """Return heartswitch with these options; raise BadGame where it doesn't allow something."""
    if players not in _CYCLES:
        raise BadGame(f"heartswitch is for 3 to 6 players, not {players}")
    if partners and players % 2:
        raise BadGame(f"partners need 4 or 6 players, not {players}")
    return HeartSwitch(
        name="heartswitch",
        players=players,
        partners=partners,
        options=complete_options("heartswitch", _KNOWN_OPTIONS, options),
        known_options=_KNOWN_OPTIONS,
        deck=ALL_CARDS,
        pass_cycle=_CYCLES[players],
        cards_passed=3,
        breaking=0,
        always_legal=MAGICIANS,
        totals_can_fall=False,
    )
