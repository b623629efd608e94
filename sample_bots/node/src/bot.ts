// A bot that plays trick-taking cards in the Arena: the strategy of careful.py, choice by choice.
//
// What it knows of a decision is in arena/v1/bot.ts, field by field. A decision is complete in itself, so the bot keeps
// nothing in mind; and the arena never asks a process two things at once, so it needs no locks. Numbers of 64 bits are
// bigint here: a decision's `random`, a request's id, and a set of cards, should you want one (1n << BigInt(card)).

import { Server, ServerCredentials, type handleUnaryCall } from "@grpc/grpc-js";
import { realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";
import {
  BotServiceService,
  Phase,
  type DecideRequest,
  type DecideResponse,
  type Decision,
  type DescribeRequest,
  type DescribeResponse,
} from "./arena/v1/bot.js";
import { Card } from "./arena/v1/card.js";

const DIAMONDS = 1;
const SPADES = 2;
const HEARTS = 3;
const MAGICIANS = 4; // they have no suit, whatever their number says

function suitOf(card: Card): number {
  return (card & 15) === 1 ? MAGICIANS : card >> 4;
}

function rankOf(card: Card): number {
  return card & 15;
}

/** Returns about what it costs to take this card. */
function points(card: Card): number {
  switch (card) {
    case Card.QUEEN_OF_SPADES:
      return 13;
    case Card.WITCH_OF_SPADES:
    case Card.WITCH_OF_HEARTS:
      return 5;
    case Card.WITCH_OF_DIAMONDS:
      return -5;
    default:
      return suitOf(card) === HEARTS ? 1 : 0;
  }
}

/** Returns the cards of a suit, in their order. */
function ofSuit(cards: Card[], suit: number): Card[] {
  return cards.filter((card) => suitOf(card) === suit);
}

/** Returns the card that costs least; of equal ones the first, which is the one with the lowest number. */
function least(cards: Card[], cost: (card: Card) => number): Card {
  return cards.reduce((best, card) => (cost(card) < cost(best) ? card : best));
}

/** Returns how much one wants to be rid of a card: the queen, what could catch her, witches; else by rank and length. */
function burden(card: Card, hand: Card[], queenGone: boolean): number {
  const suit = suitOf(card);
  const rank = rankOf(card);
  if (suit === MAGICIANS) return -20;
  if (suit === HEARTS) return 2 * rank + (card === Card.WITCH_OF_HEARTS ? 5 : 0);
  if (suit <= DIAMONDS) return 2 * rank - 2 * ofSuit(hand, suit).length;
  if (card === Card.QUEEN_OF_SPADES) return 100;
  if (rank > 13 && !queenGone) return 60 + rank;
  return card === Card.WITCH_OF_SPADES ? 40 : rank;
}

/** Returns how risky a card is to lead: high cards, suits of which many cards are gone; low spades hunt the queen. */
function exposure(card: Card, earlier: Card[], mayTakeQueen: boolean): number {
  const suit = suitOf(card);
  const rank = rankOf(card);
  if (suit === MAGICIANS) return 12;
  const risk = 2 * rank + ofSuit(earlier, suit).length;
  if (suit !== SPADES || earlier.includes(Card.QUEEN_OF_SPADES)) return risk;
  if (rank >= 13) return risk + 40;
  return mayTakeQueen ? risk : risk - 8;
}

/** Chooses the cards with the greatest burden to pass. */
function pass(view: Decision): Card[] {
  const weigh = (card: Card) => burden(card, view.hand, false);
  return [...view.hand].sort((one, other) => weigh(other) - weigh(one)).slice(0, view.count);
}

/** Chooses a card: to lead, to follow suit, or to throw off. */
function play(view: Decision): Card {
  const { best, byPartner } = winning(view);
  if (best === undefined) return lead(view);
  const cards = ofSuit(view.legal, suitOf(best));
  return cards.length > 0 ? follow(view, cards, best, byPartner) : discard(view, byPartner);
}

/** Returns the card that takes the trick as it lies, none while only magicians lie there, and whether the partner played it. */
function winning(view: Decision): { best?: Card; byPartner: boolean } {
  const { players, sides } = view.game!;
  let best: Card | undefined;
  let winner = view.seat;
  view.trick.forEach((card, i) => {
    const suit = suitOf(card);
    if (suit !== MAGICIANS && (best === undefined || (suit === suitOf(best) && card > best))) {
      best = card;
      winner = (view.trickLeader + i) % players;
    }
  });
  return { best, byPartner: sides[winner] === sides[view.seat] };
}

/** Chooses the card with the least exposure. */
function lead(view: Decision): Card {
  const mayTakeQueen = ofSuit(view.hand, SPADES).some((card) => card >= Card.QUEEN_OF_SPADES);
  return least(view.legal, (card) => exposure(card, view.trickCards, mayTakeQueen));
}

/** Chooses among the cards of the suit that was led, of which `best` takes the trick as it lies. */
function follow(view: Decision, cards: Card[], best: Card, partnerWins: boolean): Card {
  const suit = suitOf(best);
  const cost = view.trick.reduce((sum, card) => sum + points(card), 0);
  const last = view.trick.length === view.game!.players - 1;
  const fresh = suit <= DIAMONDS && ofSuit(view.trickCards, suit).length === 0;
  const below = cards.filter((card) => card < best);
  const hurting = below.filter((card) => points(card) >= 5);
  const free = cards.filter((card) => points(card) <= 0);
  const thrown = ofSuit(view.legal, MAGICIANS);
  if (hurting.length > 0 && !partnerWins) return hurting.at(-1)!;
  if (free.length > 0 && cost <= 0 && (last || fresh)) return free.at(-1)!;
  if (below.length > 0) return least(below, (card) => (partnerWins ? 64 * points(card) : 0) - card);
  if (thrown.length > 0 && cost > 0) return thrown[0];
  if (last) return least(cards, (card) => 64 * Math.trunc(points(card) / 5) - card);
  return cards[0];
}

/** Chooses among all cards, none of which can take the trick. */
function discard(view: Decision, partnerWins: boolean): Card {
  if (partnerWins) return least(view.legal, (card) => 16 * points(card) - rankOf(card));
  const queenGone = [...view.trickCards, ...view.trick].includes(Card.QUEEN_OF_SPADES);
  return least(view.legal, (card) => -burden(card, view.hand, queenGone));
}

/** Answers one decision; one of a kind that only later versions have, with the first of the legal cards. */
export function choose(view: Decision): Card[] {
  if (view.phase === Phase.PASSING) return pass(view);
  return view.phase === Phase.PLAYING ? [play(view)] : view.legal.slice(0, view.count);
}

const describe: handleUnaryCall<DescribeRequest, DescribeResponse> = (_call, reply) => {
  reply(null, { name: "careful", version: "1", author: "", games: [], maxBatch: 128 });
};

const decide: handleUnaryCall<DecideRequest, DecideResponse> = (call, reply) => {
  const { requestId, decisions } = call.request;
  reply(null, { requestId, choices: decisions.map((view) => ({ cards: choose(view), note: "" })) });
};

/** Serves at ARENA_BOT_ADDRESS, "unix:/path" or "host:port", until it is asked to stop. */
function serve(): void {
  const address = process.env.ARENA_BOT_ADDRESS;
  if (!address) {
    console.error("ARENA_BOT_ADDRESS is not set; to run a bot by hand: ARENA_BOT_ADDRESS=127.0.0.1:50051 npm start");
    process.exit(2);
  }
  const server = new Server();
  server.addService(BotServiceService, { describe, decide }); // how deals end it doesn't care: no finishDeals
  server.bindAsync(address, ServerCredentials.createInsecure(), (error) => {
    if (error) {
      console.error(`cannot serve at ARENA_BOT_ADDRESS=${address}: ${error.message}`);
      process.exit(2);
    }
  });
  for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => server.forceShutdown());
}

if (realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) serve(); // not where a test imports this
