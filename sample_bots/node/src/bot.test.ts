// Whatever the strategy, a choice is as many of the legal cards as are asked for, no card twice.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Decision, Phase } from "./arena/v1/bot.js";
import { Card } from "./arena/v1/card.js";
import { choose } from "./bot.js";

/** Returns a decision of HeartSwitch for four, with some of its fields changed. */
function decision(changes: Partial<Decision>): Decision {
  return {
    ...Decision.decode(new Uint8Array()),
    game: { name: "heartswitch", players: 4, sides: [0, 1, 2, 3], options: {}, placed: 1, target: 0 },
    phase: Phase.PLAYING,
    count: 1,
    random: 7n,
    ...changes,
  };
}

const hand = [Card.MAGICIAN_1, Card.TWO_OF_CLUBS, Card.ACE_OF_SPADES, Card.FOUR_OF_HEARTS];

const cases: [string, Decision][] = [
  ["passing", decision({ phase: Phase.PASSING, count: 3, hand, legal: hand })],
  ["leading", decision({ hand, legal: hand })],
  [
    "following",
    decision({ hand, legal: [Card.MAGICIAN_1, Card.ACE_OF_SPADES], trickLeader: 3, trick: [Card.QUEEN_OF_SPADES] }),
  ],
  ["throwing off", decision({ hand, legal: hand, trickLeader: 2, trick: [Card.MAGICIAN_2, Card.WITCH_OF_DIAMONDS] })],
  ["asked what only later versions ask", decision({ phase: 99 as Phase, count: 3, hand, legal: hand })],
];

for (const [name, view] of cases) {
  test(`the choice is legal when ${name}`, () => {
    const chosen = choose(view);

    assert.equal(new Set(chosen).size, view.count);
    assert.ok(chosen.every((card) => view.legal.includes(card)));
  });
}
