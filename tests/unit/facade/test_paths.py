"""Paths that no new entry may have: refused by all writes, and still usable where a repository holds them."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graveler_core.errors import InvalidInput, Kind
from graveler_core.facade.branch import Branch
from graveler_core.model.operations import Put, Remove
from graveler_core.testing.counting_store import Counting
from tests.old_paths import any_path
from tests.unit.engine.flows import table
from tests.unit.engine.sorted_rows import PartedRows, parted
from tests.unit.engine.world import World, entry

REFUSED = ("/a", "a//", "a//b", "a/../b", "./a", "a\\b", "a\nb", "\x7f")


def sorted_rows(world: World, rows: pa.Table) -> PartedRows:
    return PartedRows(world.stores, parted(rows, []))


@pytest.mark.parametrize("path", REFUSED)
@pytest.mark.parametrize(
    "write",
    [
        lambda world, main, path: main.put(path, b"x"),
        lambda world, main, path: main.put(path, b"x", if_absent=True),
        lambda world, main, path: main.put_many({"good": b"x", path: b"x"}),
        lambda world, main, path: main.upload(path, b"x"),
        lambda world, main, path: main.stage(path, entry(1)),
        lambda world, main, path: main.stage_many(table({"good": 1, path: 1})),
        lambda world, main, path: main.stage_sorted(sorted_rows(world, table({path: 1}))),
        lambda world, main, path: main.transact([Put("good", entry(1)), Put(path, entry(1))], message="m"),
    ],
)
def test_every_write_refuses_them(path: str, write: Callable[[World, Branch, str], object]) -> None:
    world = World()
    main = world.repository().branch("main")
    before = main.record()
    with pytest.raises(InvalidInput, match="must") as refused:
        write(world, main, path)
    assert refused.value.kind is Kind.InvalidPath
    assert repr(path) in refused.value.message
    assert main.record() == before
    assert list(main.uncommitted()) == []


def test_a_path_that_ends_in_a_slash_marks_a_directory_and_is_no_file_of_a_table() -> None:
    main = World().repository().branch("main")
    content = BytesIO()
    pq.write_table(pa.table({"a": [1, 2]}), content)
    main.put("t/part", content.getvalue())
    main.put("t/", b"", metadata={"permissions": "0755"})
    main.put("t/empty/", b"")
    main.commit("directories")
    assert [item.path for item in main.list("t/")] == ["t/", "t/empty/", "t/part"]
    assert [item.path for item in main.list("t/", delimiter="/")] == ["t/", "t/empty/", "t/part"]
    assert [item.path for item in main.list(delimiter="/")] == ["t/"]
    assert main.get("t/").metadata == {"permissions": "0755"}
    assert main.dataset("t/").to_table().column("a").to_pylist() == [1, 2]
    main.remove("t/")
    assert [item.path for item in main.list("t/")] == ["t/empty/", "t/part"]


def test_nothing_is_read_or_written_for_the_check() -> None:
    counting = Counting(World().kv)
    world = World(kv=counting)
    main = world.repository().branch("main")
    before = counting.counts.copy()
    with pytest.raises(InvalidInput):
        main.stage_many(table({"a//b": 1}))
    assert counting.counts == before


def test_what_a_repository_holds_stays_usable() -> None:
    repo = World().repository()
    main = repo.branch("main")
    with any_path():
        for path in REFUSED:
            main.put(path, path.encode())
    main.commit("old paths")
    assert [item.path for item in main.list()] == sorted(REFUSED, key=str.encode)
    assert {path: main.read(path) for path in REFUSED} == {path: path.encode() for path in REFUSED}
    dev = repo.create_branch("dev", "main")
    dev.remove(REFUSED[0])
    dev.remove_many(REFUSED[1:3])
    dev.stage_many(pa.table({"key": [REFUSED[3]], "removed": [True]}))
    dev.put_many({}, remove=[REFUSED[4]])
    dev.commit("fewer")
    dev.transact([Remove(REFUSED[5])], message="fewer")
    assert [item.path for item in dev.list()] == sorted(REFUSED[6:], key=str.encode)
    main.remove_prefix("a")
    main.reset("a")
    main.reset()
    repo.merge("dev", into="main")
    assert [item.path for item in main.list()] == sorted(REFUSED[6:], key=str.encode)
    main.hard_reset("main~1")
    assert main.get(REFUSED[0]).path == REFUSED[0]
