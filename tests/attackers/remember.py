"""Remembers the deals that it has met: where it holds what this seat held before, it knows the other hands.

Then it plays each card out, with all players playing as the arena would substitute, and takes the card that costs it least.
Else it plays as the arena would substitute itself. It plays Hearts without passing.
"""

from attacker import Attacker, run

from arena.cards import Card
from arena.faults import substitute
from arena.game import Deal, Phase
from arena.sdk import Decision


class Remember(Attacker):
    def __init__(self) -> None:
        self._tables: dict[tuple[str, int], list[set[Card]]] = {}
        super().__init__()

    def attack(self) -> str:
        return ""

    def choose(self, view: Decision) -> tuple[Card, ...]:
        now = (view.table_id, view.deal_number)
        held: list[set[Card]] = [set() for _ in range(view.players)]
        for seat, card in view.plays:
            held[seat].add(card)
        held[view.seat] |= set(view.hand)
        self._tables[now] = held
        for table, before in self._tables.items():
            known = sum(map(len, before))
            if table != now and known > 40 and all(mine <= theirs for mine, theirs in self._pairs(held, before, view)):
                return (self._best(view, self._complete(before, held, view)),)
        return substitute(view.legal, view.count)

    @staticmethod
    def _pairs(held: list[set[Card]], before: list[set[Card]], view: Decision) -> list[tuple[set[Card], set[Card]]]:
        """Pair what must be part of what if the deal is the one that was met before."""
        everything = set(view.game.deck)
        others = [everything.difference(*(before[:seat] + before[seat + 1 :])) for seat in range(view.players)]
        return list(zip(held, others, strict=True))

    @staticmethod
    def _complete(before: list[set[Card]], held: list[set[Card]], view: Decision) -> list[list[Card]]:
        """Return whole hands: what was not seen before is dealt as it fits."""
        hands = [was | now for was, now in zip(before, held, strict=True)]
        left = sorted(set(view.game.deck).difference(*hands))
        size = len(view.game.deck) // view.players
        for hand in hands:
            while len(hand) < size:
                hand.add(left.pop())
        return [sorted(hand) for hand in hands]

    @staticmethod
    def _best(view: Decision, hands: list[list[Card]]) -> Card:
        def cost(card: Card) -> int:
            deal = view.game.start(hands, view.deal_number)
            for seat, played in view.plays:
                deal.choose(seat, (played,))
            deal.choose(view.seat, (card,))
            _play_out(deal)
            return deal.scores()[view.seat]

        return min(view.legal, key=cost)


def _play_out(deal: Deal) -> None:
    while deal.phase is not Phase.OVER:
        for seat in deal.to_act:
            deal.choose(seat, substitute(deal.legal(seat), 1))


if __name__ == "__main__":
    run(Remember)
