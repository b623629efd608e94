"""Names of files that a URI would read as something else, or that are unusual otherwise."""

from __future__ import annotations

ODD_NAMES = ("q?x", "h#x", "p%41x", "two words", "läufer", "\udcff", "a:b@c")
