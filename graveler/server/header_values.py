"""Texts of users as values of HTTP headers."""

from __future__ import annotations

import re
from typing import Final

_PLAIN: Final = re.compile(r"[\x20-\x7e]*")
_WORD_BYTES: Final = 63
"""Maximum length of the text of an encoded word. With the rest it has at most 75 bytes, as RFC 2047 demands."""


def header_value(text: str) -> str:
    """Return a text as the value of a header: as it is, or in the encoding Q of RFC 2047, as lakeFS does."""
    if _PLAIN.fullmatch(text):
        return text
    words, length = [""], 0
    for character in text:
        coded = _coded(character)
        if length + len(coded) > _WORD_BYTES:
            words.append("")
            length = 0
        words[-1] += coded
        length += len(coded)
    return " ".join(f"=?utf-8?q?{word}?=" for word in words)


def header_text(value: str) -> str:
    """Return the text of a header that was read as Latin-1: clients send UTF-8, too."""
    try:
        return value.encode("latin-1").decode()
    except UnicodeError:
        return value


def _coded(character: str) -> str:
    """Return a character of a word in the encoding Q."""
    if character == " ":
        return "_"
    if _PLAIN.fullmatch(character) and character not in "=?_":
        return character
    return "".join(f"={byte:02X}" for byte in character.encode())
