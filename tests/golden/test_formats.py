"""Format version 1 is frozen: what it wrote is read for ever, and what is written today is what it wrote."""

from __future__ import annotations

import pytest

from tests.golden.formats import FOLDER, FORMATS, golden

ONE_ENCODING = [name for name, format in FORMATS.items() if format.one_encoding]


def test_every_format_has_its_file() -> None:
    assert {path.stem for path in FOLDER.glob("*.bin")} == FORMATS.keys()


@pytest.mark.parametrize("name", FORMATS)
def test_old_bytes_are_read(name: str) -> None:
    assert FORMATS[name].decode(golden(name)) == FORMATS[name].sample


@pytest.mark.parametrize("name", ONE_ENCODING)
def test_equal_values_have_equal_bytes(name: str) -> None:
    assert FORMATS[name].encode(FORMATS[name].sample) == golden(name)
