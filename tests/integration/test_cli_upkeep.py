"""`graveler fsck` on files and SQLite: what it prints, and the codes it ends with."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from graveler_core.gc import layout_removal
from graveler_core.model.ids import CommitId
from graveler_core.records import layout as keys
from tests.integration.command_line import Cli, Ran, put, refused
from tests.integration.doctoring import MAIN, forget_marks, head, opened, record, records


def files(here: Path) -> list[Path]:
    found = (here / ".graveler" / "data" / "flights" / "_graveler").iterdir()
    return sorted(path for path in found if path.is_file())


def test_a_whole_repository(flights: Cli) -> None:
    assert flights("fsck", "graveler://flights") == Ran(0, "", "")
    assert flights("fsck", "graveler://flights", "--deep", "--json") == Ran(0, "", "")


def test_a_file_that_is_gone(flights: Cli, here: Path) -> None:
    (file,) = files(here)
    file.unlink()
    ran = flights("fsck", "graveler://flights")
    assert (ran.code, ran.err) == (1, "")
    (line,) = ran.lines
    assert line[:4] == ["missing", "node", "", file.name]
    (document,) = flights("fsck", "graveler://flights", "--json").documents
    assert (document["trouble"], document["id"]) == ("missing", file.name)
    assert document["named_by"].startswith("commit ")


def test_what_is_left_over_is_no_damage(flights: Cli, here: Path) -> None:
    (files(here)[0].parent / ("0" * 64)).write_bytes(b"left over")
    ran = flights("fsck", "graveler://flights", "--deep")
    assert (ran.code, ran.err) == (0, "")
    assert [line[:4] for line in ran.lines] == [["unreachable", "blob", "9", "_graveler/" + "0" * 64]]
    flights("branch", "create", "graveler://flights/dev", "--source", "graveler://flights/main")
    put(flights, "x", b"x", branch="dev")
    flights("commit", "graveler://flights/dev", "-m", "alone")
    flights("branch", "delete", "graveler://flights/dev", "--yes")
    found = flights("fsck", "graveler://flights", "--json")
    assert found.code == 0
    assert [row["thing"] for row in found.documents] == ["commit", "blob"]


def test_what_is_no_repository(cli: Cli) -> None:
    refused(cli("fsck", "graveler://nothing"), "nothing")
    assert cli("fsck", "graveler://a/b").code != 0


def test_content(flights: Cli, here: Path) -> None:
    uri = "graveler://flights"
    assert flights("fsck", uri, "--data") == flights("fsck", uri, "--checksums", "--json") == Ran(0, "", "")
    content = {file.read_bytes(): file for file in (here / ".graveler" / "data" / "flights" / "data").iterdir()}
    content[b"january"].write_bytes(b"JANUARY")
    assert flights("fsck", uri, "--data") == Ran(0, "", "")
    ran = flights("fsck", uri, "--checksums", "--json")
    (document,) = ran.documents
    assert ran.code == 1
    assert document.pop("named_by").startswith("commit ")
    assert document == {
        "type": "finding",
        "trouble": "corrupt",
        "thing": "content",
        "id": f"data/{content[b'january'].name}",
        "why": "differs from the checksum that was stored with the entry",
        "size": 7,
        "path": "raw/jan.csv",
    }
    checked = flights("doctor", "--json").documents[-1]
    assert checked["sizes"] == checked["checksums"]
    assert (checked["type"], checked["checksums"]["problems"], checked["unfinished"]) == ("data check", 1, None)
    assert flights("fsck", uri, "--checksums", "--resume").code == 1
    refused(flights("fsck", uri, "--data", "--resume"), "--checksums")
    content[b"hello"].unlink()
    put(flights, "staged", b"staged")
    content[b"february"].write_bytes(b"feb")
    ran = flights("fsck", uri, "--data")
    assert ran.code == 1
    assert sorted((line[0], line[2], line[4].partition(": ")[2]) for line in ran.lines) == [
        ("corrupt", "3", "raw/feb.csv"),
        ("missing", "", "readme"),
    ]


def test_a_removal_of_damaged_layouts(flights: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout_removal, "PAUSE", 0.0)
    uri, option, lost, named = "graveler://flights", "--remove-damaged-layouts", CommitId("5" * 64), CommitId(head())
    assert flights("fsck", uri, option) == Ran(0, "removed 0 damaged layouts\n", "")
    with records() as kv:
        where = keys.commit_layout(record(kv), lost)
        kv.set(where.partition, where.key, b"garbage")
    (line,) = flights("fsck", uri).lines
    assert line[:2] == ["corrupt", "layout"]
    assert option in line[-1]
    refused(flights("fsck", uri, option, "--deep"), option, "--deep")
    refused(flights("fsck", uri, option, "--repair-indexes"), option, "--repair-indexes")
    assert flights("fsck", uri, option, "--json").documents == [{"removed": [lost], "named": [], "released": []}]
    assert flights("fsck", uri) == Ran(0, "", "")
    with records() as kv:
        for where in (keys.commit_layout(record(kv), lost), keys.commit_layout(record(kv), named)):
            kv.set(where.partition, where.key, b"garbage")
        header = keys.commit(record(kv), named)
        kv.delete(header.partition, header.key)
    ran = flights("fsck", uri, option, "--json")
    assert (ran.code, ran.documents) == (1, [{"removed": [lost], "named": [named], "released": []}])


def test_a_repair_of_indexes(flights: Cli) -> None:
    for path in ("a", "b"):
        put(flights, path, b"x")
        assert flights("commit", MAIN, "-m", path).code == 0
    uri, commit = "graveler://flights", head()
    assert flights("fsck", uri, "--repair-indexes") == Ran(0, "repaired 0 of 4 commits\n", "")
    forget_marks(commit)
    (found,) = flights("fsck", uri, "--json").documents
    assert (found["trouble"], found["thing"], found["id"]) == ("inconsistent", "index", commit)
    assert flights("fsck", uri).code == 1
    refused(flights("fsck", uri, "--repair-indexes", "--deep"), "--repair-indexes", "--deep")
    refused(flights("fsck", uri, "--repair-indexes", "--data"), "--repair-indexes", "--data")
    refused(flights("fsck", uri, "--repair-indexes", "--checksums"), "--repair-indexes", "--checksums")
    assert flights("fsck", uri, "--repair-indexes", "--json").documents == [
        {"examined": 4, "repaired": [commit], "unrepaired": []}
    ]
    assert flights("fsck", uri, "--deep") == Ran(0, "", "")
    forget_marks(commit)
    ran = flights("fsck", uri, "--repair-indexes")
    assert ran == Ran(0, f"repaired 1 of 4 commits\nrepaired {commit}\n", "")


def test_an_index_that_cannot_be_repaired(flights: Cli) -> None:
    for path in ("a", "b"):
        put(flights, path, b"x")
        assert flights("commit", MAIN, "-m", path).code == 0
    forget_marks(head())
    with opened() as graveler, records() as kv:
        where = keys.commit_layout(record(kv), graveler.repository("flights").commit("main~1").id)
        kv.delete(where.partition, where.key)
    why = "the layout of its first parent is missing"
    ran = flights("fsck", "graveler://flights", "--repair-indexes")
    assert ran == Ran(1, f"repaired 0 of 3 commits\nnot repaired: {head()}: {why}\n", "")
    (document,) = flights("fsck", "graveler://flights", "--repair-indexes", "--json").documents
    assert document == {"examined": 3, "repaired": [], "unrepaired": [{"commit": head(), "why": why}]}


def test_a_collection(flights: Cli, here: Path) -> None:
    left = files(here)[0].parent / ("0" * 64)
    left.write_bytes(b"left over")
    os.utime(left, (0, 0))
    ran = flights("gc", "graveler://flights", "--dry-run")
    assert ran == Ran(0, "would delete 1 file and 0 objects, 9 B\n", "")
    assert left.exists()
    (document,) = flights("gc", "--yes", "graveler://flights", "--grace", "36h", "--uploads", "--json").documents
    assert document == {
        "dry_run": False,
        "objects": 0,
        "blobs": 1,
        "size": 9,
        "young": 0,
        "renewed": 0,
        "rest": 0,
        "unreadable": 0,
        "uploads": 0,
    }
    assert not left.exists()
    assert flights("fsck", "graveler://flights", "--deep") == Ran(0, "", "")


def test_a_collection_that_is_refused(flights: Cli, here: Path) -> None:
    refused(flights("gc", "--yes", "graveler://flights", "--grace", "soon"), "--grace", "7d")
    refused(flights("gc", "--yes", "graveler://flights", "--grace", "90m"), "1 day")
    assert flights("gc", "--yes", "graveler://flights", "--grace", "90m", "--alone").code == 0
    (file,) = files(here)
    file.unlink()
    refused(flights("gc", "--yes", "graveler://flights"), file.name, "nothing was deleted")


def test_a_collection_of_content(flights: Cli, here: Path) -> None:
    data = here / ".graveler" / "data" / "flights" / "data"
    before = len(list(data.iterdir()))
    for content in (b"lost", b"kept"):
        put(flights, "x", content)
    assert flights("commit", MAIN, "-m", "the second").code == 0
    collected = partial(flights, "gc", "--yes", "graveler://flights", "--data")
    kept = f"kept 0 objects that are named, 0 B; {before + 2} that are too young; 0 of uploads in progress\n"
    assert collected() == Ran(0, "deleted 0 objects, 0 B\ncondemned 0 objects, 0 B\n" + kept, "")
    now = ("--grace", "0s", "--alone")
    would = collected(*now, "--dry-run")
    assert would.out.startswith("would delete 0 objects, 0 B\nwould condemn 1 object, 4 B\n")
    (document,) = collected(*now, "--json").documents
    assert (document["condemned"], document["deleted"], document["deleted_size"], document["due"]) == (1, 1, 4, None)
    (uri,) = document["files"]
    assert [row["size"] for row in pq.read_table(uri).to_pylist()] == [4]
    assert document["waiting_files"] == []
    assert len(list(data.iterdir())) == before + 1
    assert flights("cat", f"{MAIN}/x").out == "kept"


def test_content_that_waits(flights: Cli, here: Path) -> None:
    for content in (b"lost", b"kept"):
        put(flights, "x", content)
    for file in (here / ".graveler" / "data" / "flights" / "data").iterdir():
        os.utime(file, (0, 0))
    ran = flights("gc", "--yes", "graveler://flights", "--data")
    assert ran.out.startswith("deleted 0 objects, 0 B\ncondemned 1 object, 4 B\nwaiting until ")
    (document,) = flights("gc", "--yes", "graveler://flights", "--data", "--json").documents
    assert (document["waiting"], document["waiting_size"], document["condemned"]) == (1, 4, 0)
    assert f"waiting objects are listed in {document['waiting_files'][0]}\n" in ran.out
    assert datetime.fromisoformat(document["due"]) > datetime.now(UTC) + timedelta(days=6)


def test_a_collection_of_content_that_is_refused(flights: Cli) -> None:
    for option in ("--limit 5", "--uploads"):
        refused(flights("gc", "--yes", "graveler://flights", "--data", *option.split()), option.split()[0])
    refused(flights("gc", "--yes", "graveler://flights", "--foreign"), "--data")
    refused(flights("gc", "--yes", "graveler://flights", "--data", "--grace", "90m"), "1 day")
