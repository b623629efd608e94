"""How much an owner may ask: calls a minute and at once, submissions, bots and bytes. Pure; the time is given."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Final, Self

from arena.errors import BadInput, Refused

_REMEMBERED: Final = 10_000  # callers whose buckets are kept at most


@dataclass(frozen=True, slots=True)
class Quotas:
    """What each owner may have and do; callers without a token are counted by their address."""

    calls: int = 600
    """Calls a minute."""
    at_once: int = 32
    """Calls at once, those that watch included."""
    uploads: int = 4
    """Uploads at once."""
    submissions: int = 60
    """Submissions an hour."""
    waiting: int = 10
    """Submissions whose admission has not ended."""
    bots: int = 10
    """Bots."""
    megabytes: int = 1000
    """What all versions may take together, in millions of bytes."""
    refusals: int = 30
    """Bad tokens a minute from one address, after which they are not told apart and not written down."""

    @classmethod
    def parse(cls, texts: tuple[str, ...]) -> Self:
        """Make quotas of texts such as `bots=5`; raise BadInput for one that is none."""
        known = [each.name for each in fields(cls)]
        values: dict[str, int] = {}
        for text in texts:
            name, _, number = text.partition("=")
            if name not in known or not (number.isascii() and number.isdigit() and 0 < len(number) < 10):
                raise BadInput(f"--quota {text}: write NAME=NUMBER, NAME being one of {', '.join(known)}")
            values[name] = int(number)
        return cls(**values)


@dataclass(slots=True)
class _Bucket:
    tokens: float
    time: float


class Rate:
    """So many times a period, for each caller; as many may come in one burst."""

    def __init__(self, times: int, period: float, now: Callable[[], float]) -> None:
        self._times = times
        self._period = period
        self._now = now
        self._buckets: dict[str, _Bucket] = {}

    def wait(self, caller: str) -> float:
        """Return how many seconds a caller has to wait before it may come once more; 0 if it may come now."""
        bucket = self._filled(caller)
        return (
            0.0 if bucket.tokens >= 1 else (1 - bucket.tokens) * self._period / self._times if self._times else 3600.0
        )

    def take(self, caller: str) -> None:
        """Count that a caller came."""
        self._filled(caller).tokens -= 1

    def _filled(self, caller: str) -> _Bucket:
        now = self._now()
        bucket = self._buckets.setdefault(caller, _Bucket(self._times, now))
        bucket.tokens = min(self._times, bucket.tokens + (now - bucket.time) * self._times / self._period)
        bucket.time = now
        if len(self._buckets) > _REMEMBERED:
            self._forget(now)
        return bucket

    def _forget(self, now: float) -> None:
        """Forget the callers whose buckets are full again, and else those that came first."""
        full = [name for name, bucket in self._buckets.items() if now - bucket.time > self._period]
        for name in full or list(self._buckets)[: _REMEMBERED // 10]:
            del self._buckets[name]


@dataclass(slots=True)
class AtOnce:
    """So many at once, for each caller."""

    most: int
    what: str
    _now: dict[str, int] = field(default_factory=dict)

    @contextmanager
    def one(self, caller: str) -> Iterator[None]:
        """Be one of them; raise Refused where there are too many."""
        if self._now.get(caller, 0) >= self.most:
            text = f"{self.what} at once are too many: {self.most} are allowed; wait until one has ended"
            raise Refused("TOO_MANY_CALLS", text, retry=1.0)
        self._now[caller] = self._now.get(caller, 0) + 1
        try:
            yield
        finally:
            self._now[caller] -= 1
            if not self._now[caller]:
                del self._now[caller]
