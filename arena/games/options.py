"""Options of games: their text form, and the check of those that were given against those that a game knows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from arena.errors import BadGame
from arena.game import Option, OptionValue

_WORDS: dict[str, OptionValue] = {"true": True, "false": False, "none": None}


def parse_option(text: str) -> OptionValue:
    """Read the value of an option: true, false, none, a whole number, or else a word.

    >>> [parse_option(text) for text in ("26", "true", "none", "off")]
    [26, True, None, 'off']
    """
    word = text.strip().lower()
    if word in _WORDS:
        return _WORDS[word]
    digits = word.removeprefix("-")
    return int(word) if digits.isascii() and digits.isdigit() and len(digits) < 20 else word


def format_option(value: OptionValue) -> str:
    """Write the value of an option as text: the opposite of `parse_option`.

    >>> [format_option(value) for value in (26, True, None, "off")]
    ['26', 'true', 'none', 'off']
    """
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def end_options(target: int) -> tuple[Option, ...]:
    """Return the options that say when a game ends, which all games share. The wire has room for 32 bits."""
    return (
        Option("target", target, "the total that ends the game", numbers=range(1, 2**32), only_if=("deals", None)),
        Option("deals", None, "how many deals are played instead", choices=(None,), numbers=range(1, 2**32)),
    )


def describe_values(option: Option) -> str:
    """Say which values an option may have, and its default.

    >>> describe_values(Option("moon", 13, "", choices=(13, 26, "off")))
    'moon: 13, 26 or off (13 if not given)'
    """
    values = list(map(format_option, option.choices))
    if option.numbers:
        values.insert(0, f"a whole number from {option.numbers[0]} to {option.numbers[-1]}")
    listed = " or ".join(filter(None, (", ".join(values[:-1]), values[-1])))
    return f"{option.name}: {listed} ({format_option(option.default)} if not given)"


def complete_options(game: str, known: tuple[Option, ...], given: Mapping[str, OptionValue]) -> dict[str, OptionValue]:
    """Return the value of every known option, as given or its default, in the order in which the game lists them.

    Raises BadGame, with all valid options, for one that is unknown, has a value that it cannot have, or contradicts
    another.
    """
    complete = {option.name: given.get(option.name, option.default) for option in known}
    problems = [f"{game} has no option {name!r}" for name in given if name not in complete]
    problems += [problem for option in known for problem in _problems(option, complete)]
    if problems:
        valid = "\n".join(f"  {describe_values(option)}" for option in known)
        raise BadGame(f"{'; '.join(problems)}. The options of {game} are:\n{valid}")
    return complete


def _problems(option: Option, values: Mapping[str, OptionValue]) -> Iterator[str]:
    value = values[option.name]
    if not option.allows(value):
        yield f"{option.name} cannot be {format_option(value)}"
    elif option.only_if and value != option.default and values[option.only_if[0]] != option.only_if[1]:
        other = option.only_if[0]
        yield f"{option.name} means nothing where {other} is {format_option(values[other])}, so leave one of them out"
