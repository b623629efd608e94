package main

import (
	"slices"
	"testing"

	pb "bots/careful/arenav1"
)

// Whatever the strategy, a choice is as many of the legal cards as are asked for, no card twice.
func TestChoicesAreLegal(t *testing.T) {
	game := &pb.Game{Name: "heartswitch", Players: 4, Sides: []uint32{0, 1, 2, 3}}
	hand := []pb.Card{
		pb.Card_CARD_MAGICIAN_1, pb.Card_CARD_TWO_OF_CLUBS, pb.Card_CARD_ACE_OF_SPADES, pb.Card_CARD_FOUR_OF_HEARTS,
	}
	mustFollow := []pb.Card{pb.Card_CARD_MAGICIAN_1, pb.Card_CARD_ACE_OF_SPADES}
	playing, passing, unknown := pb.Phase_PHASE_PLAYING, pb.Phase_PHASE_PASSING, pb.Phase(99)

	for name, view := range map[string]*pb.Decision{
		"passing":   {Phase: passing, Count: 3, Legal: hand},
		"leading":   {Phase: playing, Count: 1, Legal: hand},
		"following": {Phase: playing, Count: 1, Legal: mustFollow, Trick: []pb.Card{pb.Card_CARD_QUEEN_OF_SPADES}},
		"throwing off": {Phase: playing, Count: 1, Legal: hand,
			Trick: []pb.Card{pb.Card_CARD_MAGICIAN_2, pb.Card_CARD_WITCH_OF_DIAMONDS}},
		"asked what only later versions ask": {Phase: unknown, Count: 3, Legal: hand},
	} {
		t.Run(name, func(t *testing.T) {
			view.Game, view.Hand, view.TrickLeader = game, hand, uint32(4-len(view.Trick))%4

			chosen := choose(view)

			if len(chosen) != int(view.Count) {
				t.Fatalf("%d cards were asked for, not %v", view.Count, chosen)
			}
			for i, card := range chosen {
				if !slices.Contains(view.Legal, card) || slices.Contains(chosen[:i], card) {
					t.Errorf("%v is not one of the legal cards, or chosen twice", card)
				}
			}
		})
	}
}
