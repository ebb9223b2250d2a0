"""Numbers with their nouns, in texts for people."""

from __future__ import annotations


def counted(number: float, one: str, others: str = "") -> str:
    """Return a number with its noun, as in "1 object" and "2 objects".

    Args:
        number: The number. A whole number is written with separators of thousands, another one with six digits.
        one: Words that follow the number 1.
        others: Words that follow other numbers. Default: the regular plural of `one`.
    """
    words = one if number == 1 else others or _plural(one)
    return f"{int(number):,} {words}" if number == int(number) else f"{number:g} {words}"


def _plural(noun: str) -> str:
    if noun.endswith(("s", "x", "z", "ch", "sh")):
        return f"{noun}es"
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}s"
