"""Wildcards: `*` matches any characters, including none; `?` matches one character; everything else matches itself.
There is no escape character.

A single text is matched by a regular expression without backtracking. The pattern is split at its stars. Each part is
matched at its first occurrence, in an atomic group. A later occurrence would leave less text for the rest, so the first
one is always right. This greedy algorithm takes at most `len(pattern) * len(text)` steps.

All texts with a given prefix are matched by the set of pattern positions that are possible after the prefix (Thompson,
1968). Each character is one step on an integer whose bits are the positions. The set then tells whether any
continuation matches, or every continuation.
"""

from __future__ import annotations

import re
from collections import defaultdict

_WILD = re.compile(r"[*?]")


class Pattern:
    """Compiled pattern."""

    __slots__ = ("_head", "_kind", "_positions", "_regex", "text")

    def __init__(self, text: str) -> None:
        self.text = re.sub(r"\*+", "*", text)
        wild = _WILD.search(self.text)
        self._head = self.text if wild is None else self.text[: wild.start()]
        """Common prefix of all matching texts."""
        tail = self.text[len(self._head) :]
        self._kind = tail if tail in ("", "*") else "?"
        self._regex = _regex(self.text) if self._kind == "?" else None
        self._positions: Positions | None = None

    def matches(self, text: str) -> bool:
        """Return true if the pattern matches the whole text."""
        if self._kind == "*":
            return text.startswith(self._head)
        if self._regex is None:
            return text == self._head
        return text.startswith(self._head) and self._regex.fullmatch(text) is not None

    def covers(self, prefix: str) -> bool:
        """Return true if the pattern matches every text that begins with the prefix, including the prefix itself."""
        if not self._kind or not prefix.startswith(self._head):
            return False
        return self._kind == "*" or self._walk().takes_everything(prefix)

    def meets(self, prefix: str) -> bool:
        """Return true if the pattern matches some text that begins with the prefix."""
        if self._head.startswith(prefix):
            return True
        if not self._kind or not prefix.startswith(self._head):
            return False
        return self._kind == "*" or self._walk().after(prefix) != 0

    def _walk(self) -> Positions:
        if self._positions is None:
            self._positions = Positions(self.text)
        return self._positions


class Positions:
    """Set of positions in a pattern, as bits of an integer. Bit n means that the first n symbols have been matched."""

    __slots__ = ("_any", "_end", "_few", "_literals", "_one")

    def __init__(self, text: str) -> None:
        literals: dict[str, int] = defaultdict(int)
        for at, symbol in enumerate(text):
            literals[symbol] |= 1 << at
        self._any = literals.pop("*", 0)
        self._one = literals.pop("?", 0)
        self._literals = dict(literals)
        self._end = 1 << len(text)
        self._few = text.count("?")

    def after(self, text: str) -> int:
        """Return the possible positions after a text. From each of them, some continuation matches."""
        now = self._free(1)
        for symbol in text:
            now = self._step(now, self._literals.get(symbol, 0))
            if not now:
                break
        return now

    def takes_everything(self, prefix: str) -> bool:
        """Return true if every continuation of the prefix matches.

        It is enough to check continuations that repeat a character which does not occur in the pattern, because only
        `*` and `?` match it: a set of positions that matches such a text of some length matches any text of that
        length. It is also enough to check lengths up to the number of question marks plus one: matching the longest of
        them requires a star, which then matches all longer texts.
        """
        now = self.after(prefix)
        for _ in range(self._few + 1):
            if not now & self._end:
                return False
            now = self._step(now, 0)
        return bool(now & self._end)

    def _step(self, now: int, literal: int) -> int:
        return self._free((now & (literal | self._one)) << 1 | now & self._any)

    def _free(self, now: int) -> int:
        """Add the positions after stars, because a star may match nothing. No two stars are adjacent."""
        return now | (now & self._any) << 1


def _regex(text: str) -> re.Pattern[str]:
    first, *pieces = (re.escape(piece).replace(r"\?", ".") for piece in text.split("*"))
    if not pieces:
        return re.compile(first, re.DOTALL)
    *middle, last = pieces
    return re.compile("".join([first, *(f"(?>.*?{piece})" for piece in middle), f".*{last}"]), re.DOTALL)
