"""`graveler import` on files and SQLite."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.integration.command_line import Cli, paths, put, refused


@pytest.fixture
def raw(here: Path) -> Path:
    """Files that are nobody's yet."""
    for name, data in {"2024/jan.csv": b"1", "2024/feb.csv": b"22", "notes": b"333"}.items():
        file = here / "raw" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    return here / "raw"


def test_a_directory_and_again(flights: Cli, raw: Path) -> None:
    put(flights, "staged", b"x")
    ran = flights("import", "raw", "graveler://flights/main/in", "-m", "Take over")
    assert ran.out.startswith("imported 3 objects, 6 B to graveler://flights/main/in as ")
    assert ran.out.endswith(" (+3 ~0 -0)\n")
    assert flights("cat", "graveler://flights/main/in/2024/feb.csv").out == "22"
    (log,) = flights("log", "graveler://flights/main", "--json").documents[:1]
    assert (log["message"], log["committer"]) == ("Take over", "ada")
    refused(flights("import", raw.as_uri(), "graveler://flights/main/in"), "already has all of")
    (raw / "notes").write_bytes(b"4444")
    (raw / "2024" / "jan.csv").unlink()
    arguments = ("import", "raw", "graveler://flights/main/in", "--mode", "replace", "--json")
    (foreseen,) = flights(*arguments, "--dry-run").documents
    (done,) = flights(*arguments, "--key", "k").documents
    assert (foreseen["id"], done["id"]) == (
        None,
        flights("log", "graveler://flights/main", "--json").documents[0]["id"],
    )
    assert [(d["added"], d["changed"], d["removed"], d["objects"], d["size"]) for d in (foreseen, done)] == [
        (0, 1, 1, 2, 6)
    ] * 2
    (again,) = flights(*arguments, "--key", "k").documents
    assert (again["id"], again["repeated"], again["added"]) == (done["id"], True, None)
    assert flights("status", "graveler://flights/main", "--json").code == 0
    assert paths(flights, "graveler://flights/main/in/") == ["in/2024/feb.csv", "in/notes"]
    assert flights("fsck", "graveler://flights", "--deep").code == 0


def test_some_of_it(flights: Cli, raw: Path, here: Path) -> None:
    ran = flights("import", "raw", "graveler://flights/main/a", "--include", "**.csv", "--exclude", "*/jan*")
    assert "imported 1 object" in ran.out
    assert ran.out.endswith("; skipped 2 unmatched\n")
    assert flights("import", "raw/notes", "graveler://flights/main/b/", "--object").code == 0
    assert flights("import", "raw/notes", "graveler://flights/main/b/renamed", "--object").code == 0
    keys = [str(raw / "2024" / "feb.csv")[1:], str(raw / "notes")[1:], "other/x"]
    pq.write_table(pa.table({"key": keys, "size": [2, 3, 9]}), here / "inventory.parquet")
    ran = flights("import", "raw/2024", "graveler://flights/main/c", "--inventory", "inventory.parquet")
    assert "imported 1 object, 2 B" in ran.out
    assert flights("cat", "graveler://flights/main/c/feb.csv").out == "22"
    assert [path for path in paths(flights, "graveler://flights/main/") if path[1] == "/"] == [
        "a/2024/feb.csv",
        "b/notes",
        "b/renamed",
        "c/feb.csv",
    ]


def test_what_is_refused(flights: Cli, raw: Path) -> None:
    refused(flights("import", "nowhere", "graveler://flights/main"), "nowhere", "there are no objects")
    refused(flights("import", "raw/notes", "graveler://flights/main"), "raw/notes", "is an object itself")
    refused(flights("import", "raw", "graveler://flights/gone"), "gone")
    refused(flights("import", ".graveler/data/flights", "graveler://flights/main"), "storage namespace")
    refused(flights("import", ".", "graveler://flights/main"), "holds", ".graveler/data/flights")
    refused(flights("import", "raw", "graveler://flights/main", "--object", "--inventory", "x"), "--object")
    put(flights, "2024/jan.csv", b"x")
    refused(flights("import", "raw", "graveler://flights/main"), "2024/jan.csv", "staged")
    assert flights("import", "raw", "graveler://flights/main", "--mode", "other").code == 2
    (raw / "back\\slash").write_bytes(b"")
    ran = flights("import", "raw", "graveler://flights/main")
    refused(ran, "1 key is no valid path", "--skip-invalid (skip_invalid=True)")
    assert "backslash" in ran.out
