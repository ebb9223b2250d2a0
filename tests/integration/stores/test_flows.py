"""The operations of the library on each store that is a server: a small history from creation to deletion."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from graveler_core.errors import Conflict, NoChanges, NotFound, NotUnique
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.model.operations import Put, Remove

Handles = tuple[Graveler, Graveler]
DAY = {f"day/{number:03}": b"%d" % number for number in range(150)}
"""More entries than one batch of any store holds."""


@pytest.fixture
def lake(handles: Handles, namespace: str) -> Repository:
    return handles[0].create_repository("lake", storage_namespace=namespace)


def content(repo: Repository, ref: str) -> dict[str, bytes]:
    snapshot = repo.at(ref)
    return {entry.path: snapshot.read(entry.path) for entry in snapshot.list()}


def test_a_history(handles: Handles, lake: Repository) -> None:
    other = handles[1].repository("lake")
    main = lake.branch("main")
    main.put_many(DAY)
    main.remove("day/007")
    assert len(content(other, "main")) == len(DAY) - 1
    first = main.commit("Load a day", committer="ada")
    with pytest.raises(NoChanges):
        other.branch("main").commit("Nothing")

    dev = other.create_branch("dev", "main")
    with pytest.raises(NotUnique):
        lake.create_branch("dev", "main")
    dev.put("day/000", b"mended")
    entries = {name: dev.upload(name, name.encode()) for name in ("a", "b")}
    dev.commit("Mend a day")
    dev.transact([*(Put(name, entry) for name, entry in entries.items()), Remove("day/001")], message="Two files")
    assert main.read("day/000") == b"0"
    lake.merge("dev", into="main", message="Merge dev")
    expected = {**DAY, "a": b"a", "b": b"b", "day/000": b"mended"}
    del expected["day/007"], expected["day/001"]
    assert content(other, "main") == expected
    assert [commit.message for commit in lake.log("main", first_parent=True)][:2] == ["Merge dev", "Load a day"]
    assert lake.merge_base("dev", "main").id == lake.commit("dev").id
    assert lake.commit("main~1").id == first.id


def test_conflicts(lake: Repository, handles: Handles) -> None:
    main = lake.branch("main")
    main.put("a", b"1")
    main.commit("one")
    handles[1].repository("lake").create_branch("dev", "main").put("a", b"2")
    lake.branch("dev").commit("two")
    main.put("a", b"3")
    main.commit("three")
    with pytest.raises(Conflict):
        lake.merge("dev", into="main")
    lake.merge("dev", into="main", strategy="source")
    assert main.read("a") == b"2"


def test_compaction_and_reset(lake: Repository, handles: Handles) -> None:
    main = lake.branch("main")
    for number in range(3):
        main.put_many({f"{number}/{each}": b"x" for each in range(40)})
        main.compact()
    assert len(list(handles[1].repository("lake").branch("main").list())) == 120
    assert len(list(main.list())) == 120
    main.commit("all")
    main.put("b", b"x")
    main.reset()
    with pytest.raises(NotFound):
        main.read("b")
    assert len(list(main.list())) == 120


def test_a_deletion_leaves_nothing(handles: Handles, lake: Repository, tmp_path: Path) -> None:
    first, second = handles
    main = lake.branch("main")
    main.put_many(DAY)
    main.commit("one")
    main.put("b", b"x")
    lake.create_branch("dev", "main").put("c", b"x")
    second.delete_repository("lake")
    with pytest.raises(NotFound):
        first.repository("lake")
    first.clean(undelete_within=timedelta(0), late=timedelta(0))
    assert [repo.id for repo in second.list_repositories()] == []
    again = first.create_repository("lake", storage_namespace=(tmp_path / "anew").as_uri())
    assert content(again, "main") == {}
    assert second.doctor().unseen == ()


def test_a_healthy_store(handles: Handles, lake: Repository, scheme: str) -> None:
    lake.branch("main").put("a", b"1")
    lake.branch("main").commit("one")
    found = [diagnosis.ailment.value for diagnosis in handles[1].doctor(deep=True).found]
    assert found == (["store-not-durable"] if scheme in ("dynamodb", "bigtable") else [])
