"""How figures are written on a terminal: with the signs that its encoding has, or with plain ASCII."""

from __future__ import annotations

from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size

UNKNOWN = "n/a"
"""What stands for a figure that isn't known."""


@dataclass(frozen=True, slots=True)
class Signs:
    """The signs of an encoding such as `utf-8` or `cp1252`."""

    encoding: str

    @property
    def ascii_only(self) -> bool:
        """Whether to do without anything that isn't ASCII."""
        return not self.encoding.lower().startswith("utf")

    @property
    def plus_minus(self) -> str:
        """What stands before an error."""
        return "+-" if self.ascii_only else "±"

    @property
    def cut(self) -> str:
        """What stands for letters left out."""
        return "..." if self.ascii_only else "…"

    @property
    def bracket(self) -> tuple[str, str, str]:
        """The top, the middle and the foot of a bracket that opens to the left."""
        return ("\\", "|", "/") if self.ascii_only else ("╮", "│", "╯")

    @property
    def like(self) -> str:
        """What heads a list of those that can't be told from something."""
        return "~" if self.ascii_only else "≈"

    def plain(self, text: str) -> str:
        """Replace what can't be printed, and what the encoding lacks."""
        printable = "".join(letter if letter.isprintable() else "?" for letter in text)
        if not self.ascii_only:
            return printable
        return printable.replace("·", "-").encode(self.encoding, "replace").decode(self.encoding)

    def shorten(self, name: str, width: int) -> str:
        """Take out a name's middle where it is too wide: what tells versions apart is often at the end."""
        if cell_len(name) <= width:
            return name
        if width <= 2 * len(self.cut):
            return set_cell_size(name, width).rstrip()
        tail = (width - len(self.cut)) // 3
        end = name[len(name) - tail :]
        while cell_len(end) > tail:
            end = end[1:]
        return set_cell_size(name, width - len(self.cut) - cell_len(end)).rstrip() + self.cut + end

    def number(self, value: float | None, decimals: int) -> str:
        """Write a number."""
        return UNKNOWN if value is None else self._with_minus(f"{round(value, decimals) + 0.0:.{decimals}f}")

    def signed(self, value: float | None) -> str:
        """Write a difference, with its sign and two decimals."""
        return UNKNOWN if value is None else self._with_minus(f"{round(value, 2) + 0.0:+.2f}")

    def error(self, value: float | None, decimals: int) -> str:
        """Write an error; one that would round to nothing as the smallest that can be written, but for the anchor's, 0."""
        if value == 0:
            return f"{self.plus_minus}0"
        return UNKNOWN if value is None else f"{self.plus_minus}{max(value, 10.0**-decimals):.{decimals}f}"

    def interval(self, interval: tuple[int, int] | None) -> str:
        """Write an interval of ranks: `3`, or `3` to `5`."""
        if interval is None:
            return UNKNOWN
        low, high = interval
        return str(low) if low == high else f"{low}{'-' if self.ascii_only else '–'}{high}"

    def percent(self, chance: float | None) -> str:
        """Write a chance of a half or more; nothing is ever certain."""
        if chance is None:
            return UNKNOWN
        return ">99%" if chance > 0.99 else f"{100 * chance:.0f}%"

    def chance(self, chance: float | None) -> str:
        """Write any chance in per cent, without the sign; nothing is ever certain."""
        if chance is None:
            return "?"
        return ">99" if chance > 0.99 else "<1" if chance < 0.01 else f"{100 * chance:.0f}"

    def _with_minus(self, text: str) -> str:
        return text if self.ascii_only else text.replace("-", "−")
