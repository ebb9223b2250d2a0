"""Content of an upload in a form: the headers of a part are held in memory, so their size is limited."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from graveler.server.form_content import FormContent
from graveler_core.errors import InvalidInput

LONG = b"h: " + b"x" * 4_000 + b"\r\n"
NAMED = b'Content-Disposition: form-data; name="content"\r\n'


def form(*headers: bytes) -> Iterator[bytes]:
    """A form with two parts with the same headers, in small pieces."""
    part = b"--line\r\n" + b"".join(headers) + NAMED + b"\r\ntext\r\n"
    whole = part + part + b"--line--\r\n"
    return (whole[at : at + 100] for at in range(0, len(whole), 100))


def test_the_headers_of_each_part_may_be_long() -> None:
    _, content = FormContent(b"line").read(form(LONG, LONG, LONG))
    assert b"".join(content) == b"text"


def test_headers_beyond_the_limit_are_refused() -> None:
    with pytest.raises(InvalidInput, match="the headers of a part must have at most 16,384 bytes"):
        FormContent(b"line").read(form(*[LONG] * 5))


def test_a_header_without_an_end_is_refused_at_once() -> None:
    taken = []

    def endless() -> Iterator[bytes]:
        yield b"--line\r\nh: "
        while True:
            taken.append(1_000)
            yield b"x" * 1_000

    with pytest.raises(InvalidInput):
        FormContent(b"line").read(endless())
    assert sum(taken) < 20_000
