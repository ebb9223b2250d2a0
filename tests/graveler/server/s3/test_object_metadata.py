"""Headers of uploads whose texts are encoded as RFC 2047 says."""

from __future__ import annotations

from email.header import decode_header

import pytest

from graveler.server.header_values import header_value
from graveler.server.s3 import object_metadata
from graveler.server.s3.object_metadata import MAX_ENCODED_CHARACTERS, MAX_METADATA_BYTES, _read


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Texts that the decoder of the standard library gets."""
    texts = list[str]()

    def noted(text: str) -> object:
        texts.append(text)
        return decode_header(text)

    monkeypatch.setattr(object_metadata, "decode_header", noted)
    return texts


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", "plain"),
        ("=?utf-8?q?K=C3=B6ln?=", "Köln"),
        ("=?UTF-8?B?S8O2bG4=?= =?utf-8?q?_am?= Rhein", "Köln am Rhein"),
        ("a =?utf-8?q?K=C3=B6ln?= b", "a Köln b"),
        ("=?nowhere?q?x?=", "=?nowhere?q?x?="),
        ("=?utf-8?q?=FF?=", "=?utf-8?q?=FF?="),
        ("a =? b ?= c", "a =? b ?= c"),
        ("?= =?utf-8?q?x", "?= =?utf-8?q?x"),
        ("=?utf-8?q?a?= =?utf-8?q?b", "a =?utf-8?q?b"),
    ],
)
def test_words_are_decoded(value: str, text: str) -> None:
    assert _read(value) == text


@pytest.mark.parametrize("character", ["ö", "€", "🙂"])
def test_the_largest_metadata_are_decoded(character: str) -> None:
    text = character * (MAX_METADATA_BYTES // len(character.encode()))
    assert len(header_value(text)) <= MAX_ENCODED_CHARACTERS
    assert _read(header_value(text)) == text


def test_the_decoder_gets_no_words_without_an_end(decoded: list[str]) -> None:
    """It searches the whole rest of the line for the end of each of them."""
    endless = "=?a?q?_" * 1_000
    assert _read(endless) == endless
    assert _read("=?utf-8?q?a?= " + endless) == "a " + endless
    lines = f"=?utf-8?q?{endless}\x85?="
    assert _read(lines) == lines
    assert decoded == ["=?utf-8?q?a?= "]


def test_a_long_text_is_not_decoded(decoded: list[str]) -> None:
    word = "=?utf-8?q?{}?="
    room = MAX_ENCODED_CHARACTERS - len(word) + 2
    assert _read(word.format("a" * room)) == "a" * room
    assert _read(word.format("a" * (room + 1))).startswith("=?")
    assert len(decoded) == 1
