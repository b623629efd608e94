// Command bot plays trick-taking cards in the Arena: the strategy of careful.py, choice by choice.
//
// What it knows of a decision is in arenav1/bot.pb.go, field by field. A decision is complete in itself, so the bot keeps
// nothing in mind; and the arena never asks a process two things at once, so it needs no locks.
package main

import (
	"context"
	"log"
	"net"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"google.golang.org/grpc"

	pb "bots/careful/arenav1"
)

const (
	witchOfDiamonds = pb.Card_CARD_WITCH_OF_DIAMONDS
	witchOfSpades   = pb.Card_CARD_WITCH_OF_SPADES
	queenOfSpades   = pb.Card_CARD_QUEEN_OF_SPADES
	witchOfHearts   = pb.Card_CARD_WITCH_OF_HEARTS
)

// The suits. Magicians have none, whatever their number says.
const (
	clubs = iota
	diamonds
	spades
	hearts
	magicians
)

func suitOf(card pb.Card) int {
	if card&15 == 1 {
		return magicians
	}
	return int(card >> 4)
}

func rankOf(card pb.Card) int { return int(card & 15) }

// points returns about what it costs to take this card.
func points(card pb.Card) int {
	switch {
	case card == queenOfSpades:
		return 13
	case card == witchOfSpades, card == witchOfHearts:
		return 5
	case card == witchOfDiamonds:
		return -5
	case suitOf(card) == hearts:
		return 1
	}
	return 0
}

// ofSuit returns the cards of a suit, in their order.
func ofSuit(cards []pb.Card, suit int) []pb.Card {
	var found []pb.Card
	for _, card := range cards {
		if suitOf(card) == suit {
			found = append(found, card)
		}
	}
	return found
}

// least returns the card that costs least; of equal ones the first, which is the one with the lowest number.
func least(cards []pb.Card, cost func(pb.Card) int) pb.Card {
	return slices.MinFunc(cards, func(one, other pb.Card) int { return cost(one) - cost(other) })
}

// burden returns how much one wants to be rid of a card: the queen, what could catch her, witches; else by rank and length.
func burden(card pb.Card, hand []pb.Card, queenGone bool) int {
	suit, rank := suitOf(card), rankOf(card)
	switch {
	case suit == magicians:
		return -20
	case card == witchOfHearts:
		return 2*rank + 5
	case suit == hearts:
		return 2 * rank
	case suit != spades:
		return 2*rank - 2*len(ofSuit(hand, suit))
	case card == queenOfSpades:
		return 100
	case rank > 13 && !queenGone:
		return 60 + rank
	case card == witchOfSpades:
		return 40
	}
	return rank
}

// exposure returns how risky a card is to lead: high cards, suits of which many cards are gone; low spades hunt the queen.
func exposure(card pb.Card, earlier []pb.Card, mayTakeQueen bool) int {
	suit, rank := suitOf(card), rankOf(card)
	if suit == magicians {
		return 12
	}
	risk := 2*rank + len(ofSuit(earlier, suit))
	if suit == spades && !slices.Contains(earlier, queenOfSpades) {
		switch {
		case rank >= 13:
			risk += 40
		case !mayTakeQueen:
			risk -= 8
		}
	}
	return risk
}

// pass chooses the cards with the greatest burden.
func pass(view *pb.Decision) []pb.Card {
	cards := slices.Clone(view.Hand)
	slices.SortStableFunc(cards, func(one, other pb.Card) int {
		return burden(other, view.Hand, false) - burden(one, view.Hand, false)
	})
	return cards[:view.Count]
}

// play chooses a card: to lead, to follow suit, or to throw off.
func play(view *pb.Decision) pb.Card {
	best, byPartner := winning(view)
	if suitOf(best) == magicians {
		return lead(view)
	}
	if cards := ofSuit(view.Legal, suitOf(best)); len(cards) > 0 {
		return follow(view, cards, best, byPartner)
	}
	return discard(view, byPartner)
}

// winning returns the card that takes the trick as it lies, and whether the partner played it; magician 1 while none does.
func winning(view *pb.Decision) (best pb.Card, byPartner bool) {
	best = pb.Card_CARD_MAGICIAN_1
	for i, card := range view.Trick {
		if suitOf(card) != magicians && (suitOf(best) == magicians || suitOf(card) == suitOf(best) && card > best) {
			seat := (view.TrickLeader + uint32(i)) % view.Game.Players
			best, byPartner = card, view.Game.Sides[seat] == view.Game.Sides[view.Seat]
		}
	}
	return best, byPartner
}

// lead chooses the card with the least exposure.
func lead(view *pb.Decision) pb.Card {
	mayTakeQueen := slices.ContainsFunc(view.Hand, func(card pb.Card) bool {
		return suitOf(card) == spades && card >= queenOfSpades
	})
	return least(view.Legal, func(card pb.Card) int { return exposure(card, view.TrickCards, mayTakeQueen) })
}

// follow chooses among the cards of the suit that was led, of which best takes the trick as it lies.
func follow(view *pb.Decision, cards []pb.Card, best pb.Card, partnerWins bool) pb.Card {
	last := len(view.Trick) == int(view.Game.Players)-1
	fresh := suitOf(best) < spades && len(ofSuit(view.TrickCards, suitOf(best))) == 0
	cost := 0
	for _, card := range view.Trick {
		cost += points(card)
	}
	var below, hurting, free []pb.Card
	for _, card := range cards {
		if card < best {
			below = append(below, card)
			if points(card) >= 5 {
				hurting = append(hurting, card)
			}
		}
		if points(card) <= 0 {
			free = append(free, card)
		}
	}
	thrown := ofSuit(view.Legal, magicians)
	switch {
	case len(hurting) > 0 && !partnerWins:
		return hurting[len(hurting)-1]
	case len(free) > 0 && cost <= 0 && (last || fresh):
		return free[len(free)-1]
	case len(below) > 0 && partnerWins:
		return least(below, func(card pb.Card) int { return 64*points(card) - int(card) })
	case len(below) > 0:
		return below[len(below)-1]
	case len(thrown) > 0 && cost > 0:
		return thrown[0]
	case last:
		return least(cards, func(card pb.Card) int { return 64*(points(card)/5) - int(card) })
	}
	return cards[0]
}

// discard chooses among all cards, none of which can take the trick.
func discard(view *pb.Decision, partnerWins bool) pb.Card {
	if partnerWins {
		return least(view.Legal, func(card pb.Card) int { return 16*points(card) - rankOf(card) })
	}
	queenGone := slices.Contains(view.TrickCards, queenOfSpades) || slices.Contains(view.Trick, queenOfSpades)
	return least(view.Legal, func(card pb.Card) int { return -burden(card, view.Hand, queenGone) })
}

// choose answers one decision; one of a kind that only later versions have, with the first of the legal cards.
func choose(view *pb.Decision) []pb.Card {
	switch view.Phase {
	case pb.Phase_PHASE_PASSING:
		return pass(view)
	case pb.Phase_PHASE_PLAYING:
		return []pb.Card{play(view)}
	}
	return view.Legal[:view.Count]
}

// bot serves arena.v1.BotService. It doesn't care how deals end: FinishDeals stays unimplemented.
type bot struct {
	pb.UnimplementedBotServiceServer
}

func (bot) Describe(context.Context, *pb.DescribeRequest) (*pb.DescribeResponse, error) {
	return &pb.DescribeResponse{Name: "careful", Version: "1", MaxBatch: 128}, nil
}

func (bot) Decide(_ context.Context, request *pb.DecideRequest) (*pb.DecideResponse, error) {
	response := &pb.DecideResponse{RequestId: request.RequestId}
	for _, view := range request.Decisions {
		response.Choices = append(response.Choices, &pb.Choice{Cards: choose(view)})
	}
	return response, nil
}

// main serves at ARENA_BOT_ADDRESS, "unix:/path" or "host:port", until it is asked to stop.
func main() {
	log.SetFlags(0)
	address := os.Getenv("ARENA_BOT_ADDRESS")
	if address == "" {
		log.Fatal("ARENA_BOT_ADDRESS is not set; to run a bot by hand: ARENA_BOT_ADDRESS=127.0.0.1:50051 ./bot")
	}
	network, place := "tcp", address
	if path, found := strings.CutPrefix(address, "unix:"); found {
		network, place = "unix", path
	}
	listener, err := net.Listen(network, place)
	if err != nil {
		log.Fatalf("cannot serve at ARENA_BOT_ADDRESS=%s: %v", address, err)
	}
	server := grpc.NewServer()
	pb.RegisterBotServiceServer(server, bot{})
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, os.Interrupt)
	go func() {
		<-stop
		server.Stop()
	}()
	if err := server.Serve(listener); err != nil {
		log.Fatal(err)
	}
}
