"""Bots in the arena's own process, one for each way to answer or to fail."""

from __future__ import annotations

import asyncio
import sys
import time

from arena.cards import Card
from arena.decision import DealResult, Decision
from arena.sdk import Bot


class Lowest(Bot):
    def play(self, view: Decision) -> Card:
        return view.legal[0]


class Thoughtful(Lowest):
    async def pass_cards(self, view: Decision) -> tuple[Card, ...]:
        await asyncio.sleep(0)
        return view.legal[:3]


class Raising(Lowest):
    def pass_cards(self, view: Decision) -> tuple[Card, ...]:
        raise RuntimeError("lost\x1b[31m count")

    def deal_finished(self, result: DealResult) -> None:
        raise RuntimeError("not interested")


class Quitting(Lowest):
    def pass_cards(self, view: Decision) -> tuple[Card, ...]:
        sys.exit(1)


class Sleeping(Lowest):
    async def pass_cards(self, view: Decision) -> tuple[Card, ...]:
        await asyncio.sleep(3600)
        return ()


class Blocking(Lowest):
    def pass_cards(self, view: Decision) -> tuple[Card, ...]:
        time.sleep(0.15)
        return view.legal[:3]


class OneCard(Lowest):
    def pass_cards(self, view: Decision) -> tuple[Card, ...]:
        return view.legal[:1]


class Unready(Lowest):
    def __init__(self) -> None:
        raise OSError("no model file")


class NoBot:
    pass


class HeartsOnly(Lowest):
    games = ("hearts-classic",)
