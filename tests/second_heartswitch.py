"""HeartSwitch a second time, straight from its rules: slow, plain, and sharing nothing with the arena.

A card is its text ("QS", "WH", "M1"), a hand or a pile a list of cards, a trick a list of (seat, card) in the order of
play. The numbers W-.. and P-.. are those of the rules; nothing here is worked out ahead, remembered or packed.
"""

RANKS = ["2", "3", "4", "5", "6", "7", "8", "9", "T", "W", "J", "Q", "K", "A"]  # W-03: the witch between ten and jack
SUITS = ["C", "D", "H", "S"]
MAGICIANS = ["M1", "M2", "M3", "M4"]
DECK = [rank + suit for suit in SUITS for rank in RANKS] + MAGICIANS  # W-02
HEARTS = [rank + "H" for rank in RANKS]

CARDS_EACH = {3: 20, 4: 15, 5: 12, 6: 10}  # W-01, W-06
CARDS_PASSED = 3  # W-08
DIRECTIONS = {  # W-09
    3: ["left", "right"],
    4: ["left", "right", "across"],
    5: ["left", "right"],
    6: ["left", "right", "across"],
}
TEAMS = {4: 2, 6: 3}  # P-01

Trick = list[tuple[int, str]]


def dealer(seats: int, deal: int) -> int:
    """The dealer of deal 1, 2, 3, ...: seat 0 first, then one seat to the left each deal (W-07)."""
    seat = 0
    for _ in range(deal - 1):
        seat = left_of(seat, seats)
    return seat


def opening_leader(seats: int, deal: int) -> int:
    """The player to the left of the dealer leads first (W-11)."""
    return left_of(dealer(seats, deal), seats)


def left_of(seat: int, seats: int) -> int:
    """The next seat clockwise."""
    return 0 if seat == seats - 1 else seat + 1


def right_of(seat: int, seats: int) -> int:
    """The next seat against the clock."""
    return seats - 1 if seat == 0 else seat - 1


def across_from(seat: int, seats: int) -> int:
    """The opposite seat: half the table further on, for an even number of seats."""
    for _ in range(seats // 2):
        seat = left_of(seat, seats)
    return seat


def direction(seats: int, deal: int) -> str:
    """Where deal 1, 2, 3, ... passes to: the cycle of the number of players, from its start at deal 1 (W-09)."""
    cycle = DIRECTIONS[seats]
    return cycle[(deal - 1) % len(cycle)]


def receiver(seat: int, seats: int, deal: int) -> int:
    """Who gets the cards that the seat passes in this deal."""
    towards = {"left": left_of, "right": right_of, "across": across_from}
    return towards[direction(seats, deal)](seat, seats)


def pass_is_legal(hand: list[str], cards: list[str]) -> bool:
    """Whether this is three different cards of the player's own hand; any card may be passed (W-08, W-10)."""
    return len(cards) == CARDS_PASSED and len(set(cards)) == CARDS_PASSED and all(card in hand for card in cards)


def hands_after_passing(hands: list[list[str]], passes: list[list[str]], deal: int) -> list[list[str]]:
    """Every hand once all have passed at the same moment (W-10)."""
    after = [[card for card in hands[seat] if card not in passes[seat]] for seat in range(len(hands))]
    for seat, passed in enumerate(passes):
        after[receiver(seat, len(hands), deal)].extend(passed)
    return after


def is_magician(card: str) -> bool:
    """Whether the card is one of the four without suit or rank (W-05)."""
    return card in MAGICIANS


def suit(card: str) -> str:
    """The suit of any card but a magician; a witch has one too (W-04)."""
    assert not is_magician(card)
    return card[1]


def led_suit(trick: Trick) -> str | None:
    """The suit of the first card that is no magician, or None while there is none (W-14)."""
    for _, card in trick:
        if not is_magician(card):
            return suit(card)
    return None


def legal_cards(hand: list[str], trick: Trick) -> list[str]:
    """What may be played to the trick: anything as leader or while no suit is led (W-11, W-12, W-14).

    After that the led suit or a magician (W-13), and again anything for a player without the suit.
    """
    led = led_suit(trick)
    if led is None:
        return list(hand)
    following = [card for card in hand if not is_magician(card) and suit(card) == led]
    if not following:
        return list(hand)
    return following + [card for card in hand if is_magician(card)]


def trick_winner(trick: Trick) -> int:
    """The seat of the highest card of the led suit (W-15), or of the first magician if there is nothing else (W-16)."""
    led = led_suit(trick)
    if led is None:
        return trick[0][0]
    winner, best = -1, -1
    for seat, card in trick:
        if not is_magician(card) and suit(card) == led and RANKS.index(card[0]) > best:
            winner, best = seat, RANKS.index(card[0])
    return winner


def pile_score(pile: list[str]) -> int:
    """The points of one player's pile in a deal without a moon (W-18 to W-22)."""
    hearts = 0
    for card in pile:
        if card in HEARTS and card != "WH":
            hearts += 1
    if "WH" in pile:  # W-18
        hearts *= 2
        if hearts > 15:
            hearts = 15

    spades = 0
    if "WS" in pile:  # W-19
        spades += 5
    if "QS" in pile:
        spades += 13
    if "WC" in pile:  # W-20
        spades = 0

    points = hearts + spades
    if "WD" in pile:  # W-21
        points -= 5
        if points < 0:
            points = 0
    return points


def moon_value(pile: list[str]) -> int | None:
    """What this pile costs each opponent if it shoots the moon, None if it does not (W-23, W-24, W-26, W-27)."""
    for heart in HEARTS:
        if heart not in pile:
            return None
    if "WS" in pile and "QS" in pile:
        return 30
    if "QS" in pile:
        return 25
    if "WS" in pile:
        return 20
    return None


def team(seat: int, seats: int) -> int:
    """Partners sit opposite each other (P-02)."""
    return min(seat, across_from(seat, seats))


def deal_scores(piles: list[list[str]], *, partnerships: bool = False) -> list[int]:
    """The points of each seat in one deal (W-18 to W-28, P-04, P-05)."""
    seats = len(piles)
    for shooter, pile in enumerate(piles):
        value = moon_value(pile)
        if value is not None:
            scores = [value] * seats  # W-25
            scores[shooter] = 0
            if partnerships:
                scores[across_from(shooter, seats)] = 0  # P-05
            return scores
    return [pile_score(pile) for pile in piles]


def side_scores(scores: list[int], *, partnerships: bool = False) -> list[int]:
    """The points of each side: each player for himself, or the two of a team together (P-04)."""
    if not partnerships:
        return list(scores)
    sides = [0] * TEAMS[len(scores)]
    for seat, points in enumerate(scores):
        sides[team(seat, len(scores))] += points
    return sides


def end_of_game(
    totals: list[int], deal: int, *, target: int = 70, deals: int | None = None
) -> tuple[bool, list[int], str]:
    """Whether the game is over after this many deals, which sides have won, and why.

    The totals are those of the sides (P-06). With a fixed number of deals the target has no say (W-29, W-30); a tie
    for the lowest total is a shared win (W-31).
    """
    if deals is None:
        over = any(total >= target for total in totals)
        reason = "target_reached" if over else "target_not_reached"
    else:
        over = deal >= deals
        reason = "fixed_deals" if over else "deals_left"
    lowest = min(totals)
    winners = [side for side, total in enumerate(totals) if over and total == lowest]
    return over, winners, reason


class Deal:
    """One deal at the table: first everybody passes, then trick after trick until the hands are empty."""

    def __init__(self, hands: list[list[str]], deal: int) -> None:
        self.deal = deal
        self.hands = [list(hand) for hand in hands]
        self.passes: dict[int, list[str]] = {}
        self.trick: Trick = []
        self.finished_tricks: list[Trick] = []
        self.winners: list[int] = []
        self.piles: list[list[str]] = [[] for _ in hands]

    def must_pass(self) -> list[int]:
        """The seats that still owe their pass."""
        return [seat for seat in range(len(self.hands)) if seat not in self.passes]

    def pass_cards(self, seat: int, cards: list[str]) -> None:
        """Take one player's pass; nobody's hand changes before the last has passed (W-10)."""
        assert seat in self.must_pass()
        assert pass_is_legal(self.hands[seat], cards)
        self.passes[seat] = list(cards)
        if not self.must_pass():
            in_order = [self.passes[passer] for passer in range(len(self.hands))]
            self.hands = hands_after_passing(self.hands, in_order, self.deal)

    def is_over(self) -> bool:
        """Whether all cards have been passed and played."""
        return not self.must_pass() and all(not hand for hand in self.hands)

    def to_play(self) -> int:
        """The opening leader (W-11), the taker of the last trick (W-17), or the next player clockwise."""
        if self.trick:
            return left_of(self.trick[-1][0], len(self.hands))
        if self.winners:
            return self.winners[-1]
        return opening_leader(len(self.hands), self.deal)

    def legal(self) -> list[str]:
        """The cards the player to play may choose from."""
        return legal_cards(self.hands[self.to_play()], self.trick)

    def play(self, card: str) -> None:
        """Play one card for the player to play; a full trick goes to its winner's pile."""
        assert not self.must_pass()
        assert card in self.legal()
        seat = self.to_play()
        self.hands[seat].remove(card)
        self.trick.append((seat, card))
        if len(self.trick) == len(self.hands):
            winner = trick_winner(self.trick)
            self.piles[winner].extend(played for _, played in self.trick)
            self.finished_tricks.append(self.trick)
            self.winners.append(winner)
            self.trick = []
