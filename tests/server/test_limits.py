"""What an owner may ask: rates, things at once, and quotas as they are written on the command line."""

from __future__ import annotations

import pytest

from arena.errors import BadInput, Refused
from arena.server.limits import AtOnce, Quotas, Rate


class Time:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_burst_of_the_whole_allowance_may_come_and_then_one_a_period_over_it() -> None:
    time = Time()
    rate = Rate(6, 60.0, time)

    for _ in range(6):
        assert rate.wait("a") == 0
        rate.take("a")
    assert rate.wait("a") == pytest.approx(10.0)
    time.now = 10.0
    assert rate.wait("a") == pytest.approx(0.0)


def test_callers_do_not_share_an_allowance() -> None:
    rate = Rate(1, 60.0, Time())

    rate.take("a")

    assert rate.wait("a") > 0
    assert rate.wait("b") == 0


def test_many_callers_do_not_fill_the_memory() -> None:
    time = Time()
    rate = Rate(1, 60.0, time)

    for number in range(25_000):
        time.now += 0.001
        rate.take(str(number))

    assert len(rate._buckets) <= 10_001


def test_one_too_many_at_once_is_refused_and_room_comes_back() -> None:
    at_once = AtOnce(2, "so many calls")

    with at_once.one("a"):
        with at_once.one("a"):
            with pytest.raises(Refused) as refused, at_once.one("a"):
                pass
            with at_once.one("b"):
                pass
        with at_once.one("a"):
            pass

    assert refused.value.reason == "TOO_MANY_CALLS"
    assert refused.value.retry
    assert not at_once._now


def test_quotas_are_read_as_they_are_written() -> None:
    assert Quotas.parse(("bots=3", "megabytes=5")) == Quotas(bots=3, megabytes=5)


@pytest.mark.parametrize("text", ["bots", "bots=", "bots=-1", "bots=many", "cats=1", "bots=99999999999", "bots=1.5"])
def test_a_quota_that_is_none_is_refused_with_the_names(text: str) -> None:
    with pytest.raises(BadInput, match="submissions"):
        Quotas.parse((text,))
