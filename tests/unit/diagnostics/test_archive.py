"""The archive as a file: new, whole or not at all."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from graveler_core.diagnostics.archive import archive
from graveler_core.diagnostics.collecting import _PARTS
from graveler_core.diagnostics.section import Section
from graveler_core.errors import Kind, NotUnique


def test_a_document_for_each_section(tmp_path: Path) -> None:
    done, broken = Section("versions", {"a": 1}), Section("repositories/x")
    broken.failed("branch", "CorruptRecord", "bad \udcff")
    written = archive([done, broken], tmp_path / "a.zip")
    assert (written.sections, written.errors, written.incomplete) == (2, 1, ("repositories/x",))
    with zipfile.ZipFile(written.path) as found:
        assert found.namelist() == ["README.txt", "versions.json", "repositories/x.json"]
        assert found.read("versions.json").decode().replace("\n", "") == (
            '{ "section": "versions", "complete": true, "seconds": 0.0, "errors": [], "a": 1}'
        )


def test_the_page_has_a_line_for_each_document(tmp_path: Path) -> None:
    with zipfile.ZipFile(archive([], tmp_path / "a.zip").path) as found:
        lines = found.read("README.txt").decode().splitlines()
    table = [line for line in lines if ".json " in line]
    assert {line.split()[0] for line in table} == {f"{name}.json" for name in (*_PARTS, "repositories/*")}
    assert all(line[21] == " " and line[22] != " " for line in table)
    assert all(line.count(".json") <= 1 and len(line) <= 120 for line in lines)


def test_a_file_that_is_there_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(b"mine")
    with pytest.raises(NotUnique, match=r"a\.zip") as raised:
        archive([], path)
    assert raised.value.kind is Kind.BlobExists
    assert path.read_bytes() == b"mine"


def test_what_breaks_off_leaves_no_file(tmp_path: Path) -> None:
    def sections() -> Iterator[Section]:
        yield Section("versions")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        archive(sections(), tmp_path / "a.zip")
    assert list(tmp_path.iterdir()) == []
