"""Who meets whom: the matches of a tournament as data, written before play.

A line-up is one bot a side, and its circle is the order in which it goes round the table. Where all line-ups are at most 500
each plays equally often (round-robin); beyond that the bots that have met least are brought together, match by match
(balanced). In a gauntlet one bot is in every line-up, and the others share the remaining seats in the same way. Of an adaptive
schedule only the opening is made here. A line-up goes through the circles in turn, and the circle it starts with is chosen so
that each bot sits at every distance behind each other bot about equally often: one fixed circle would leave a bias that no
number of deals removes.

The order of the matches is such that at any moment all bots have played and met about equally often. The same settings, bots
and seed always give the same schedule, in whatever order the bots are named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice, permutations
from math import ceil, comb, gcd
from typing import Final

from arena.dealing import Stream
from arena.errors import BadInput
from arena.game import Game
from arena.match import Match
from arena.settings import Format, ScheduleKind, Settings

LineUp = tuple[int, ...]
"""Bots by index, one a side."""

ROUND_ROBIN_LIMIT: Final = 500
"""The most line-ups that meet each other in full where the settings leave it open."""

MATCH_LIMIT: Final = 1_000_000
"""The longest schedule that is written down."""

DEFAULT_BOARDS: Final = 120
"""How many boards each bot plays at least where the settings say nothing, in format `duplicate`."""

DEFAULT_GAMES: Final = 24
"""The same in format `game`, where a match is one board and takes much longer."""

OPENING_BOARDS: Final = 40
"""How many boards each bot plays at least in the opening of an adaptive schedule."""

_WINDOW: Final = 100  # from so many line-ups the next one is picked
_EXCHANGES: Final = 15_000  # so often a match gets another circle, at most, to even out neighbours
_IDLE: Final = 4  # after so many turns without gain some matches take any circle

_MORE: Final = 2  # so much more often than usual two bots may meet in matches that were kept

_SIX: Final = (
    "12345 13254 14532 15423 21435 23541 24153 25314 31524 32451 "
    "34215 35142 41352 42513 43125 45231 51243 52134 53412 54321"
)


def circles(sides: int) -> tuple[tuple[int, ...], ...]:
    """Return the cyclic orders that a line-up of so many sides goes through.

    Over all of them each bot sits equally often at each distance behind each other one. Up to four sides these are all
    cyclic orders; for five the multiples 1 to 4 modulo 5; for six the twenty in which any three bots sit in each relative
    position exactly once. Raises BadInput for other numbers of sides.
    """
    if 2 <= sides <= 4:
        return tuple((0, *others) for others in permutations(range(1, sides)))
    if sides == 5:
        return tuple(tuple(step * place % 5 for place in range(5)) for step in range(1, 5))
    if sides == 6:
        return tuple((0, *map(int, others)) for others in _SIX.split())
    raise BadInput(f"there are schedules for 2 to 6 sides, not for {sides}")


def make_schedule(
    settings: Settings, game: Game, bots: Sequence[str], key: bytes, kept: Sequence[Match] = ()
) -> tuple[Match, ...]:
    """Return the matches of a tournament in the order of play.

    Each bot plays at least `settings.boards` boards, and as many more as it takes for all to meet equally often and at
    every distance. Of the `kept` matches, which were played before, come first those that serve; only what they don't serve
    follows. Raises BadInput where there are too few bots, the schedule would be too long, or none of its kind keeps matches.
    """
    sides = len(game.sides)
    _check_bots(settings, game, bots)
    stream = Stream(key, "schedule")
    deals, wanted = _deals(settings, game), _wanted(settings, game)
    names = sorted(bots)
    step = len(circles(sides)) if len(bots) <= sides else 1
    served: list[Match] = []
    if settings.schedule is ScheduleKind.GAUNTLET:
        line_ups = _against_field(names.index(settings.gauntlet), settings, len(bots), sides, wanted, step, stream)
    elif kept and not _round_robin(settings, len(bots), sides, wanted):
        served, line_ups = _complete(kept, names, sides, wanted, stream)
    else:
        line_ups = _line_ups(settings, len(bots), sides, wanted, step, stream)
        served, line_ups = _serve(kept, names, line_ups)
    known = [(_indices(match, names), _order(match, names)) for match in served]
    return tuple(replace(match, number=number) for number, match in enumerate(served, 1)) + tuple(
        Match(number, tuple(names[line_up[place]] for place in circle), deals)
        for number, (line_up, circle) in enumerate(_with_circles(line_ups, len(bots), stream, known), len(served) + 1)
    )


def kind_of(settings: Settings, game: Game, bots: int) -> ScheduleKind:
    """Return how the line-ups of so many bots are made, also where the settings leave that open."""
    if settings.schedule in (ScheduleKind.GAUNTLET, ScheduleKind.ADAPTIVE):
        return settings.schedule
    whole = _round_robin(settings, bots, len(game.sides), _wanted(settings, game))
    return ScheduleKind.ROUND_ROBIN if whole else ScheduleKind.BALANCED


def least_boards(settings: Settings, game: Game) -> int:
    """Return how many boards each bot plays at least; of an adaptive schedule in its opening."""
    return _boards(settings, len(game.sides), _deals(settings, game))


def _deals(settings: Settings, game: Game) -> int:
    """Return how many deals a match has; 0 where a table plays a whole game."""
    return len(game.pass_cycle) if settings.format is Format.DUPLICATE else 0


def _wanted(settings: Settings, game: Game) -> int:
    """Return how many matches each bot plays at least."""
    return ceil(least_boards(settings, game) / (_deals(settings, game) or 1))


def _indices(match: Match, names: Sequence[str]) -> LineUp:
    return tuple(sorted(names.index(name) for name in match.line_up))


def _order(match: Match, names: Sequence[str]) -> int | None:
    """Return which of the circles a match has; None where that can't be told, as among copies."""
    line_up = _indices(match, names)
    found = [names.index(name) for name in match.line_up]
    orders = [[line_up[place] for place in circle] for circle in circles(len(line_up))]
    return orders.index(found) if found in orders else None


def _serve(kept: Sequence[Match], names: Sequence[str], line_ups: list[LineUp]) -> tuple[list[Match], list[LineUp]]:
    """Return the kept matches that take the place of line-ups, and the line-ups that none of them serves."""
    wanted = Counter(line_ups)
    served = []
    for match in kept:
        line_up = _indices(match, names)
        if wanted[line_up]:
            wanted[line_up] -= 1
            served.append(match)
    left = []
    for line_up in reversed(line_ups):
        if wanted[line_up]:
            wanted[line_up] -= 1
            left.append(line_up)
    return served, left[::-1]


def _check_bots(settings: Settings, game: Game, bots: Sequence[str]) -> None:
    """Raise BadInput where there are too few bots to seat, or not the one that the others are to meet."""
    sides, count = len(game.sides), len(bots)
    if settings.schedule is ScheduleKind.GAUNTLET and settings.gauntlet not in bots:
        raise BadInput(f"a gauntlet needs a bot that all others meet: name one with --gauntlet, of {', '.join(bots)}")
    if count < 2:
        raise BadInput(f"a tournament needs at least two bots, and there {'is one' if count else 'is none'}: add more")
    if count < sides and not settings.fill:
        table = f"{game.name} with {game.players} players{' in partnerships' if game.partners else ''}"
        raise BadInput(
            f"{table} needs {sides} bots, and there are {count}: add {sides - count}, fill the empty seats with copies "
            "(--fill), or choose another number of players (--players; `arena games` lists what each game allows)"
        )


def _boards(settings: Settings, sides: int, deals: int) -> int:
    """Return how many boards each bot is to play at least."""
    if settings.boards is not None:
        if settings.boards < 1:
            raise BadInput(f"boards must be at least 1, not {settings.boards}")
        return settings.boards
    if settings.schedule is ScheduleKind.ADAPTIVE:
        return OPENING_BOARDS
    step = len(circles(sides)) * (deals or 1)
    return ceil((DEFAULT_BOARDS if deals else DEFAULT_GAMES) / step) * step


def _round_robin(settings: Settings, count: int, sides: int, wanted: int) -> bool:
    """Decide whether all line-ups meet: by the settings; else if they are few, and not more than the boards asked for."""
    if count <= sides or settings.schedule is ScheduleKind.ROUND_ROBIN:
        return True
    if settings.schedule is ScheduleKind.BALANCED or comb(count, sides) > ROUND_ROBIN_LIMIT:
        return False
    whole = settings.boards is None and settings.schedule is not ScheduleKind.ADAPTIVE
    return whole or comb(count - 1, sides - 1) <= wanted


# --- Line-ups ---


def _line_ups(settings: Settings, count: int, sides: int, wanted: int, step: int, stream: Stream) -> list[LineUp]:
    """Return the line-ups: all of them, each a multiple of `step` times, or those of the bots that have met least."""
    if _round_robin(settings, count, sides, wanted):
        return _all_meet(count, sides, wanted, step, stream)
    return _least_met(count, sides, wanted, stream)


def _against_field(
    bot: int, settings: Settings, count: int, sides: int, wanted: int, step: int, stream: Stream
) -> list[LineUp]:
    """Return line-ups of one bot with the others, who play and meet equally often among themselves."""
    field = [other for other in range(count) if other != bot]
    others = _line_ups(settings, len(field), sides - 1, wanted, step, stream)
    return [tuple(sorted((bot, *(field[index] for index in chosen)))) for chosen in others]


def _all_meet(count: int, sides: int, wanted: int, step: int, stream: Stream) -> list[LineUp]:
    """Return all line-ups, each as often as it takes for every bot to play at least `wanted` matches, a multiple of `step`."""
    copies, extra = divmod(sides, count) if count < sides else (0, sides)
    line_ups = comb(count, extra)
    of_a_bot = line_ups if copies else comb(count - 1, sides - 1)
    times = ceil(wanted / of_a_bot / step) * step
    _check_length(times * line_ups)
    each = [tuple(sorted((*range(count),) * copies + chosen)) for chosen in combinations(range(count), extra)]
    return [line_up for _ in range(times) for line_up in _spread(stream.shuffle(each), count)]


def _spread(line_ups: Sequence[LineUp], count: int) -> Iterator[LineUp]:
    """Reorder line-ups so that at any moment the bots have played and met about equally often."""
    met = [[0] * count for _ in range(count)]
    upcoming = iter(line_ups)
    window = list(islice(upcoming, _WINDOW))
    while window:
        line_up = min(window, key=lambda bots: sum(met[bot][other] for bot in bots for other in bots))
        window.remove(line_up)
        window.extend(islice(upcoming, 1))
        _meet(met, line_up)
        yield line_up


def _least_met(count: int, sides: int, wanted: int, stream: Stream) -> list[LineUp]:
    """Return line-ups in which every bot plays equally often, at least `wanted` times, each time those that met least."""
    step = sides // gcd(sides, count)
    matches = ceil(wanted / step) * step * count // sides
    _check_length(matches)
    met = [[0] * count for _ in range(count)]
    return [_bring_together(met, sides, stream) for _ in range(matches)]


def _complete(
    kept: Sequence[Match], names: Sequence[str], sides: int, wanted: int, stream: Stream
) -> tuple[list[Match], list[LineUp]]:
    """Return the kept matches that serve, and the line-ups that are to be played besides.

    A kept match serves if one of its bots lacks matches, and no two of them meet much more often than they would in a
    schedule of its own. Line-ups follow until each bot has played `wanted` times and can be compared with each other one.
    Those bots are in them that are in no kept one, unless they would play much more than the others.
    """
    count = len(names)
    step = sides // gcd(sides, count)
    quota = ceil(wanted / step) * step
    usual = ceil(quota * (sides - 1) / (count - 1))
    met = [[0] * count for _ in range(count)]
    served = []
    for match in kept:
        line_up = _indices(match, names)
        lacking = any(met[bot][bot] < quota for bot in line_up)
        if (
            lacking
            and len(set(line_up)) == sides
            and all(met[a][b] < usual + _MORE for a, b in combinations(line_up, 2))
        ):
            served.append(match)
            _meet(met, line_up)
    new = [bot for bot in range(count) if not met[bot][bot]]
    line_ups = []
    while places := _owed_places(met, new, wanted, quota):
        line_ups.append(_bring_together(met, sides, stream, places, usual))
        _check_length(len(line_ups))
    return served, line_ups


def _owed_places(met: list[list[int]], new: Sequence[int], wanted: int, quota: int) -> list[Collection[int]]:
    """Return of which bots the first ones of the next line-up are to be; nothing where none is owed."""
    lacking = [bot for bot, row in enumerate(met) if row[bot] < wanted]
    if lacking:
        return [[bot for bot in new if met[bot][bot] < quota + quota // 4] or lacking]
    reached = {0}
    for _ in met:
        reached |= {other for bot in reached for other, times in enumerate(met[bot]) if times}
    apart = set(range(len(met))) - reached
    return [apart, reached] if apart else []


def _bring_together(
    met: list[list[int]],
    sides: int,
    stream: Stream,
    places: Sequence[Collection[int]] = (),
    usual: int | None = None,
) -> LineUp:
    """Return a line-up of the bots that have played and met least, and count it.

    The first ones are of these `places`, if any are given; rather others than two that have met the `usual` number of times.
    """
    bots = stream.shuffle(range(len(met)))
    chosen: list[int] = []

    def urgency(bot: int) -> tuple[int, int, int]:
        meetings = [met[bot][other] for other in chosen]
        return (0 if usual is None else sum(times >= usual for times in meetings), met[bot][bot], sum(meetings))

    for place in range(sides):
        allowed = places[place] if place < len(places) else bots
        chosen.append(min((bot for bot in bots if bot not in chosen and bot in allowed), key=urgency))
    _meet(met, chosen)
    return tuple(sorted(chosen))


def _meet(met: list[list[int]], line_up: Sequence[int]) -> None:
    """Count that these bots meet; with itself each bot meets whenever it plays."""
    for bot in line_up:
        for other in line_up:
            met[bot][other] += 1


def _check_length(matches: int) -> None:
    if matches > MATCH_LIMIT:
        raise BadInput(
            f"that schedule would have {matches:,} matches, and {MATCH_LIMIT:,} are the most: "
            "ask for fewer boards (--boards), or for a balanced schedule (--schedule balanced)"
        )


# --- Circles ---


class _Neighbours:
    """How often each bot has sat at each distance behind each other one, as far as half-way round the table.

    The other half follows: who sits d places behind me has me sides - d places behind.
    """

    def __init__(self, bots: int, table: Sequence[tuple[int, ...]]) -> None:
        self.circles = table
        self._bots = bots
        self._sides = len(table[0])
        self._half = range(1, self._sides // 2 + 1)
        self._times = [0] * (bots * bots * self._sides)
        self._pairs = [
            [(circle[p], circle[(p + d) % self._sides], d) for d in self._half for p in range(self._sides)]
            for circle in table
        ]

    def _cells(self, line_up: LineUp, circle: int) -> Iterator[int]:
        for place, other, distance in self._pairs[circle]:
            if (bot := line_up[place]) != (behind := line_up[other]):
                yield (bot * self._bots + behind) * self._sides + distance

    def count(self, line_up: LineUp, circle: int, times: int) -> None:
        """Add to the counts what a match with this circle adds; take it away with `times` = -1."""
        for cell in self._cells(line_up, circle):
            self._times[cell] += times

    def evenest(self, line_up: LineUp, taken: Collection[int], stream: Stream) -> int:
        """Return the circle, of those not taken, that brings together who sat so least often; any of them if many do."""
        times = self._times
        costs = {
            circle: sum(times[cell] for cell in self._cells(line_up, circle))
            for circle in range(len(self.circles))
            if circle not in taken
        }
        least = min(costs.values())
        best = [circle for circle, cost in costs.items() if cost == least]
        return best[stream.below(len(best))]

    @property
    def unevenness(self) -> int:
        """How far the counts are from being equal, or as near to it as they can be, for each pair: 0 if they are that."""
        total = 0
        for bot, other in combinations(range(self._bots), 2):
            cells = [
                (one * self._bots + two) * self._sides + distance
                for distance in self._half
                for one, two in ((bot, other), (other, bot))
                if 2 * distance < self._sides or one < two
            ]
            counts = [self._times[cell] for cell in cells]
            low, rest = divmod(sum(counts), len(counts))
            total += sum(count * count for count in counts)
            total -= rest * (low + 1) ** 2 + (len(counts) - rest) * low**2
        return total


def _with_circles(
    line_ups: Sequence[LineUp], bots: int, stream: Stream, known: Sequence[tuple[LineUp, int | None]] = ()
) -> Iterator[tuple[LineUp, tuple[int, ...]]]:
    """Give each match a circle: a line-up uses all before it repeats one, each time the one that evens out best.

    `known` are the matches before these, whose circles are as they are.
    """
    if not line_ups:
        return iter(())
    neighbours = _Neighbours(bots, circles(len(line_ups[0])))
    rests: dict[LineUp, list[int]] = {}  # the matches of each line-up since it last went through all circles
    chosen: list[int] = []
    given = [circle for _, circle in known]
    for match, line_up in enumerate([*(line_up for line_up, _ in known), *line_ups]):
        rest = rests.setdefault(line_up, [])
        if len({chosen[other] for other in rest}) == len(neighbours.circles):
            rest.clear()
        circle = given[match] if match < len(given) else None
        chosen.append(
            neighbours.evenest(line_up, [chosen[other] for other in rest], stream) if circle is None else circle
        )
        neighbours.count(line_up, chosen[match], 1)
        rest.append(match)
    whole = [*(line_up for line_up, _ in known), *line_ups]
    unfinished = [rest for rest in rests.values() if len(rest) < len(neighbours.circles)]
    _exchange(neighbours, unfinished, whole, chosen, stream, first=len(known))
    return ((line_up, neighbours.circles[chosen[match]]) for match, line_up in enumerate(line_ups, len(known)))


def _exchange(
    neighbours: _Neighbours,
    rests: list[list[int]],
    line_ups: Sequence[LineUp],
    chosen: list[int],
    stream: Stream,
    *,
    first: int,
) -> None:
    """Choose again, with all matches in view, the circles of line-ups that don't go through all of them.

    When that has led nowhere for a while, some matches take any circle: what is best for each alone can be a dead end. Those
    before number `first` stay as they are.
    """
    matches = sum(match >= first for rest in rests for match in rest)
    best, least, idle = chosen[:], neighbours.unevenness, 0
    for _ in range(_EXCHANGES // matches if matches else 0):
        if not least:
            break
        for rest in rests:
            for match in (match for match in rest if match >= first):
                neighbours.count(line_ups[match], chosen[match], -1)
                taken = [chosen[other] for other in rest if other != match]
                if idle == _IDLE and not stream.below(max(8, matches // 8)):
                    chosen[match] = stream.shuffle([c for c in range(len(neighbours.circles)) if c not in taken])[0]
                else:
                    chosen[match] = neighbours.evenest(line_ups[match], taken, stream)
                neighbours.count(line_ups[match], chosen[match], 1)
        now = neighbours.unevenness
        idle = 0 if now < least else (idle + 1) % (_IDLE + 1)
        if now < least:
            best, least = chosen[:], now
    chosen[:] = best


# --- How even a schedule is ---

Range = tuple[int, int]
"""The least and the most."""


@dataclass(frozen=True, slots=True)
class Imbalance:
    """How unevenly a schedule treats its bots: where least and most are the same, it doesn't."""

    bots: int
    matches: int
    boards: Range
    """Boards of a bot."""
    meetings: Range
    """How often a pair of bots meets at a table of its own match, copies counted."""
    seats: Range
    """How often a bot takes one seat."""
    neighbours: Range
    """How often a bot sits at one distance behind one other bot."""

    def __str__(self) -> str:
        """Say it in one line, such as "4 bots, 30 matches: 120 boards a bot, ..."."""
        boards, meetings, seats, neighbours = (
            str(least) if least == most else f"{least} to {most}"
            for least, most in (self.boards, self.meetings, self.seats, self.neighbours)
        )
        return (
            f"{self.bots} bots, {self.matches} matches: {boards} boards a bot; each pair meets {meetings} times, "
            f"each bot takes each seat {seats} times and sits at each distance behind each other {neighbours} times"
        )


def imbalance(matches: Sequence[Match], game: Game) -> Imbalance:
    """Measure how evenly bots play, meet, take seats and sit behind each other in a schedule, or in a part of one."""
    boards: Counter[str] = Counter()
    seats: Counter[tuple[str, int]] = Counter()
    behind: Counter[tuple[str, str, int]] = Counter()
    for match in matches:
        line_up, sides = match.line_up, len(match.line_up)
        boards.update(dict.fromkeys(line_up, match.deals or 1))
        for seating in match.seatings(game):
            seats.update((line_up[place], seat) for seat, place in enumerate(seating))
        for place, bot in enumerate(line_up):
            for distance in range(1, sides):
                behind[bot, line_up[(place + distance) % sides], distance] += 1
    sides = len(game.sides)
    pairs = list(permutations(boards, 2))
    return Imbalance(
        bots=len(boards),
        matches=len(matches),
        boards=_range(boards.values()),
        meetings=_range(sum(behind[(*pair, distance)] for distance in range(1, sides)) for pair in pairs),
        seats=_range(seats[bot, seat] for bot in boards for seat in range(game.players)),
        neighbours=_range(behind[(*pair, distance)] for pair in pairs for distance in range(1, sides)),
    )


def _range(counts: Iterable[int]) -> Range:
    values = list(counts)
    return (min(values, default=0), max(values, default=0))
