"""Nessie's behaviours of differences, heads and keys (34-37, 61, 61a), as they hold here.

Left out: filters and end keys of a diff (35: a prefix, a path to go on behind and a limit serve); values that a
callback replaces (38: an arbiter of a transaction decides about conflicts, it does not rewrite); all heads and forks by
a scan of all commits (39: branches are listed as such); completing the indexes of imported commits (59: nothing
imports).
"""

from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import timedelta

import pytest

from graveler_core.errors import Conflict, GravelerError, InvalidInput, Kind
from graveler_core.facade.repository import Repository
from graveler_core.model.changes import ChangeKind
from graveler_core.model.entities import Layout
from graveler_core.model.entry import Entry
from graveler_core.model.operations import Put, Remove, operations_of
from graveler_core.objects.commits import CommitCache, prepare, read_commit
from graveler_core.records import layout as keys
from tests.old_paths import any_path
from tests.unit.engine.world import World, entry


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def repo(world: World) -> Repository:
    """`left` and `right` differ in what was added, changed, removed and identified anew; not in `same` and `moved`."""
    made = world.repository()
    main = made.branch("main")
    main.transact([Put(path, entry(1)) for path in ("changed", "removed", "same", "anew")], message="begin")
    main.stage("moved", entry(1, mtime=1))
    main.commit("one more")
    made.create_branch("left", "main")
    right = made.create_branch("right", "main")
    right.transact(
        [
            Put("added", entry(2)),
            Put("changed", replace(entry(2), content_id=main.get("changed").content_id), main.get("changed")),
            Remove("removed"),
            Remove("anew"),
            Put("anew", replace(entry(1), content_id=uuid.UUID(int=7), payload=3)),
        ],
        message="differ",
    )
    right.stage("moved", entry(1, mtime=2))
    with pytest.raises(GravelerError):
        right.commit("a time is no difference")
    return made


def listed(repo: Repository, **span: str) -> list[str]:
    return [change.path for change in repo.diff("left", "right", **span)]


def test_34_only_keys_whose_value_differs_in_order_and_both_values(repo: Repository) -> None:
    found = {change.path: change for change in repo.diff("left", "right")}
    assert list(found) == ["added", "anew", "changed", "removed"]
    assert {path: change.kind for path, change in found.items()} == {
        "added": ChangeKind.ADDED,
        "anew": ChangeKind.CHANGED,
        "changed": ChangeKind.CHANGED,
        "removed": ChangeKind.REMOVED,
    }
    assert (found["added"].before, found["removed"].after) == (None, None)
    for path, change in found.items():
        assert change.before == (repo.at("left").get(path) if change.before else None)
        assert change.after == (repo.at("right").get(path) if change.after else None)
    before, after = found["anew"].before, found["anew"].after
    assert before
    assert after
    assert (before.payload, after.payload, after.content_id) == (0, 3, uuid.UUID(int=7))
    turned = {change.path: (change.after, change.before) for change in repo.diff("right", "left")}
    assert turned == {path: (change.before, change.after) for path, change in found.items()}


def test_35_a_diff_begins_behind_a_path_keeps_to_a_prefix_and_goes_on_from_a_token(repo: Repository) -> None:
    whole = listed(repo)
    assert [listed(repo, after=path) for path in whole] == [whole[at + 1 :] for at in range(len(whole))]
    assert listed(repo, after="b") == ["changed", "removed"]
    assert [listed(repo, prefix=prefix) for prefix in ("a", "an", "anew", "x")] == [whole[:2], ["anew"], ["anew"], []]
    assert listed(repo, prefix="a", after="added") == ["anew"]
    pages = list(repo.diff("left", "right").pages(3))
    assert [[change.path for change in page.items] for page in pages] == [whole[:3], whole[3:]]
    assert listed(repo, after=pages[0].next or "") == whole[3:]


def test_36_a_diff_becomes_a_transaction_of_adds_updates_removals_and_re_adds(repo: Repository) -> None:
    found = list(operations_of(repo.diff("left", "right")))
    assert [type(operation).__name__ for operation in found] == ["Put", "Remove", "Put", "Put", "Remove"]
    repo.branch("left").transact(found, message="follow")
    assert list(repo.diff("left", "right")) == []
    assert repo.at("left").get("added") == repo.at("right").get("added")
    again = list(operations_of(repo.diff("main", "right")))
    with pytest.raises(Conflict) as caught:
        repo.branch("left").transact(again, message="follow again")
    assert caught.value.kind is Kind.TransactionConflict


def test_37_a_branch_whose_head_is_lost_says_so(world: World, repo: Repository) -> None:
    head = repo.branch("left").record().commit_id
    where = keys.commit(repo._record, head)
    world.kv.delete(where.partition, where.key)
    again = world.graveler().repository("repo")
    assert again.branch("left").record().commit_id == head
    for look in (lambda: again.commit("left"), lambda: list(again.branch("left").list())):
        with pytest.raises(GravelerError) as caught:
            look()
        assert (caught.value.kind, caught.value.details["commit"]) == (Kind.CommitNotFound, head)


ODD = [
    "a",
    "a/",
    "a/b",
    "a0",
    "ä",
    "Z",
    "~",
    "\x01",
    "\uffff",
    "\U00010000",
    "\U0010ffff",
    "é",
    "e\u0301",
    " ",
    "߿",
    "ࠀ",
]


def test_61_paths_are_ordered_by_their_bytes_and_come_back_as_they_were(world: World) -> None:
    """By code points, then, which UTF-8 keeps; so a path stands before those that begin with it."""
    main = world.repository().branch("main")
    with any_path():
        for number, path in enumerate(ODD):
            main.stage(path, entry(number))
    main.commit("odd names")
    found = [item.path for item in main.list()]
    assert found == sorted(ODD, key=str.encode) == sorted(ODD)
    assert {item.path: item.size for item in main.list() if isinstance(item, Entry)} == {
        p: n for n, p in enumerate(ODD)
    }


@pytest.mark.parametrize("path", ["", "\ud800", "a\udfff", "a\0b", "x" * 1_025])
def test_61_what_is_no_text_or_too_long_is_no_path(world: World, path: str) -> None:
    main = world.repository().branch("main")
    for act in (lambda: main.stage(path, entry(1)), lambda: main.get(path), lambda: main.remove(path)):
        with pytest.raises(InvalidInput):
            act()


def test_61a_an_id_covers_what_a_commit_says_and_not_where_its_content_is(repo: Repository) -> None:
    """Other than there, date and all parents too: a commit is one event, not one content."""
    stored = read_commit(repo._stores.kv, CommitCache(), repo._record, repo.commit("right").id)
    header = stored.header
    says = {
        "parents": (stored.id,),
        "message": "other",
        "committer": "other",
        "metadata": {"a": "b"},
        "operations": "0" * 64,
        "creation_date": header.creation_date + timedelta(microseconds=1),
        "nonce": "other",
    }
    ids = [
        prepare(repo._record, header.model_copy(update={name: said}), stored.layout)[0].id
        for name, said in says.items()
    ]
    assert len({stored.id, *ids}) == len(says) + 1
    elsewhere = Layout(
        index=read_commit(repo._stores.kv, CommitCache(), repo._record, repo.commit("left").id).layout.index
    )
    assert prepare(repo._record, header, elsewhere)[0].id == stored.id


def test_61a_storing_a_commit_again_is_success(repo: Repository) -> None:
    stored = read_commit(repo._stores.kv, CommitCache(), repo._record, repo.commit("right").id)
    again, writes = prepare(repo._record, stored.header, stored.layout)
    for write in writes:
        repo._stores.kv.set(*write)
    assert read_commit(repo._stores.kv, CommitCache(), repo._record, again.id) == stored
