"""Wildcards: `*` stands for any characters, also none, `?` for one; anything else is itself, and nothing is escaped.

One text is matched by a regular expression that never goes back: the pattern is cut at its stars, and each piece is
taken where it is found first, in an atomic group. A later place would leave less for what follows, so the first is
right. That is the greedy walk, at most `len(pattern) * len(text)` steps.

All texts that begin with a prefix are matched by the set of positions in the pattern at which one may be once the
prefix is read (Thompson, 1968): a step for each character, on one integer whose bits are the positions. What may
follow is then asked of that set: whether it takes anything at all, or everything.
"""

from __future__ import annotations

import re
from collections import defaultdict

WILDCARDS = "*?"
_WILD = re.compile(r"[*?]")


class Pattern:
    """A pattern, made ready once."""

    __slots__ = ("_head", "_kind", "_positions", "_regex", "text")

    def __init__(self, text: str) -> None:
        self.text = re.sub(r"\*+", "*", text)
        wild = _WILD.search(self.text)
        self._head = self.text if wild is None else self.text[: wild.start()]
        """What every text begins with that the pattern fits."""
        tail = self.text[len(self._head) :]
        self._kind = tail if tail in ("", "*") else "?"
        self._regex = _regex(self.text) if self._kind == "?" else None
        self._positions: Positions | None = None

    def matches(self, text: str) -> bool:
        """Whether it fits the whole text."""
        if self._kind == "*":
            return text.startswith(self._head)
        if self._regex is None:
            return text == self._head
        return text.startswith(self._head) and self._regex.fullmatch(text) is not None

    def covers(self, prefix: str) -> bool:
        """Whether it fits every text that begins with the prefix, the prefix itself among them."""
        if not self._kind or not prefix.startswith(self._head):
            return False
        return self._kind == "*" or self._walk().takes_everything(prefix)

    def meets(self, prefix: str) -> bool:
        """Whether it fits some text that begins with the prefix."""
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
    """The positions in a pattern as the bits of an integer: bit n stands for "the first n symbols are used up"."""

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
        """Where one may be once the text is read. From each such position something leads to the end."""
        now = self._free(1)
        for symbol in text:
            now = self._step(now, self._literals.get(symbol, 0))
            if not now:
                break
        return now

    def takes_everything(self, prefix: str) -> bool:
        """Whether whatever follows the prefix leads to the end.

        Enough to ask of runs of a character that is nowhere in the pattern, which only `*` and `?` take: whatever takes
        a run of some length takes any text of that length. And of runs that are no longer than its question marks and
        one more: what takes that one has a star, and takes all longer ones.
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
        """A star may stand for nothing. No two of them are neighbours."""
        return now | (now & self._any) << 1


def _regex(text: str) -> re.Pattern[str]:
    first, *pieces = (re.escape(piece).replace(r"\?", ".") for piece in text.split("*"))
    if not pieces:
        return re.compile(first, re.DOTALL)
    *middle, last = pieces
    return re.compile("".join([first, *(f"(?>.*?{piece})" for piece in middle), f".*{last}"]), re.DOTALL)
