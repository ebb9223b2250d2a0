"""Transactions as a person calls them: what becomes of keys and content ids over commits. Behaviours 40, 44, 47, 48,
79 and 84. What Nessie's suites say of namespaces (80) is left out: a path needs no parent and may be a prefix of
another."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest

import graveler_core as graveler
from graveler_core.errors import Conflict, InvalidInput, NoChanges
from graveler_core.facade.branch import Branch
from graveler_core.facade.repository import Repository
from graveler_core.model.operations import (
    ConflictKind,
    Operation,
    OperationConflict,
    Put,
    Remove,
    Resolution,
    Unchanged,
)
from tests.unit.engine.world import World, entry


@pytest.fixture
def repo() -> Repository:
    """A new repository."""
    return World().repository()


@pytest.fixture
def branch(repo: Repository) -> Branch:
    """Its branch, with an entry at `a`."""
    main = repo.branch("main")
    main.transact([Put("a", entry(1))], message="begin")
    return main


def test_one_commit_with_all_that_was_said(repo: Repository, branch: Branch) -> None:
    made = branch.transact([Put("b", entry(2)), Remove("a")], message="swap", committer="ann", metadata={"ticket": "7"})
    assert (made.message, made.committer, dict(made.metadata)) == ("swap", "ann", {"ticket": "7"})
    assert made.parents == (repo.commit("main~1").id,)
    assert [item.path for item in repo.at("main@").list()] == ["b"]
    assert list(branch.uncommitted()) == []


def test_the_names_are_public() -> None:
    names = {"Put", "Remove", "Unchanged", "ConflictKind", "OperationConflict", "Resolution"}
    assert names <= set(graveler.__all__)


def test_a_removed_key_is_in_its_commit_and_does_not_exist(repo: Repository, branch: Branch) -> None:
    """44, 40: it shows as removed by that commit; an update fails, and a new entry may be put there."""
    before = branch.get("a")
    branch.transact([Remove("a", expected=before)], message="remove")
    (change,) = repo.diff("main~1", "main")
    assert (change.path, change.kind, change.before, change.after) == ("a", "removed", before, None)
    with pytest.raises(Conflict):
        branch.transact([Put("a", before, expected=before)], message="update")
    branch.transact([Put("a", entry(1))], message="again")
    assert branch.get("a").content_id not in (None, before.content_id)


def test_a_new_key_gets_a_content_id_that_its_updates_keep(branch: Branch) -> None:
    """79: unique, generated, needed by an update."""
    branch.transact([Put("b", entry(1)), Put("c", entry(1))], message="new")
    ids = {branch.get(path).content_id for path in ("a", "b", "c")}
    assert len(ids) == 3
    assert None not in ids
    held = branch.get("a")
    with pytest.raises(Conflict) as raised:
        branch.transact([Put("a", entry(5), expected=held)], message="without it")
    assert [c.kind for c in raised.value.details["conflicts"]] == [ConflictKind.CONTENT_ID_DIFFERS]
    branch.transact([Put("a", replace(entry(5), content_id=held.content_id), expected=held)], message="with it")
    assert (branch.get("a").size, branch.get("a").content_id) == (5, held.content_id)


def test_what_was_staged_without_a_content_id_is_updated_without_one(branch: Branch) -> None:
    """Staging gives none; the rule that it must stay the same holds for none, too."""
    branch.stage("s", entry(7))
    branch.commit("staged")
    held = branch.get("s")
    branch.transact([Put("s", entry(8), expected=held)], message="update")
    assert (branch.get("s").size, branch.get("s").content_id) == (8, None)


def test_a_re_add_is_new_content(repo: Repository, branch: Branch) -> None:
    """47, 84: one change in the diff, from one content id to another."""
    before = branch.get("a")
    branch.transact([Remove("a"), Put("a", replace(entry(1), payload=3))], message="re-add")
    (change,) = repo.diff("main~1", "main")
    assert change.before is not None
    assert change.after is not None
    assert (change.before.content_id, change.after.payload) == (before.content_id, 3)
    assert change.after.content_id not in (None, before.content_id)


def test_a_rename_keeps_the_content_id(repo: Repository, branch: Branch) -> None:
    """48, 84: removed at one path and added at another, with the same content id. A diff goes by paths; whoever wants
    renames pairs the ids."""
    held = branch.get("a")
    branch.transact([Remove("a", expected=held), Put("z", held, expected=held)], message="rename")
    gone, new = repo.diff("main~1", "main")
    assert (gone.path, gone.kind, new.path, new.kind) == ("a", "removed", "z", "added")
    assert gone.before is not None
    assert new.after is not None
    assert gone.before.content_id == new.after.content_id == held.content_id


def test_drop_and_create_is_another_content(repo: Repository, branch: Branch) -> None:
    """84: elsewhere, without the content id."""
    branch.transact([Remove("a"), Put("z", entry(1))], message="drop and create")
    gone, new = repo.diff("main~1", "main")
    assert gone.before is not None
    assert new.after is not None
    assert gone.before.content_id != new.after.content_id


def test_two_entries_change_places(branch: Branch) -> None:
    """47: as two re-adds, each with the other's content id."""
    branch.transact([Put("b", entry(2))], message="b")
    a, b = branch.get("a"), branch.get("b")
    branch.transact([Remove("a", a), Remove("b", b), Put("a", b), Put("b", a)], message="turn")
    assert [branch.get(path).content_id for path in ("a", "b")] == [b.content_id, a.content_id]


def test_unchanged_guards_what_was_read(branch: Branch) -> None:
    """A transaction that rests on what another path holds; nothing of it is written."""
    seen = branch.get("a")
    branch.transact([Unchanged("a", seen), Put("derived/1", entry(3))], message="derived")
    branch.transact([Put("a", replace(entry(9), content_id=seen.content_id), seen)], message="a moves on")
    with pytest.raises(Conflict):
        branch.transact([Unchanged("a", seen), Put("derived/2", entry(4))], message="too late")
    assert [item.path for item in branch.list("derived/")] == ["derived/1"]


def test_a_key_may_be_the_prefix_of_another(branch: Branch) -> None:
    """80, left out: there are no namespaces that would have to exist, be none, or be empty."""
    branch.transact([Put("a/b/c", entry(2))], message="below")
    branch.transact([Remove("a")], message="above")
    assert [item.path for item in branch.list()] == ["a/b/c"]


@pytest.mark.parametrize("nothing", ["no operations", "unchanged alone", "the same entry", "dropped"])
def test_nothing_to_do(repo: Repository, branch: Branch, nothing: str) -> None:
    held = branch.get("a")
    known: dict[str, list[Operation]] = {
        "no operations": [],
        "unchanged alone": [Unchanged("a", held)],
        "the same entry": [Put("a", held, expected=held)],
        "dropped": [Put("a", entry(2))],
    }
    with pytest.raises(NoChanges) as raised:
        branch.transact(known[nothing], message="m", on_conflict=lambda _: Resolution.DROP)
    assert raised.value.details["commit"] == repo.commit("main").id == branch.record().commit_id


def test_a_handler_applies_what_it_wants(branch: Branch) -> None:
    """38, 46: also to compare with something else than the author did."""
    held = branch.get("a")

    def newest_wins(conflict: OperationConflict) -> Resolution:
        return Resolution.APPLY if conflict.kind is ConflictKind.VALUE_DIFFERS else Resolution.CONFLICT

    changed = replace(entry(9), content_id=held.content_id)
    branch.transact([Put("a", changed, expected=changed)], message="m", on_conflict=newest_wins)
    assert branch.get("a").size == 9


def test_a_conflict_crosses_processes(branch: Branch) -> None:
    """Spark workers and Dagster's processes hand errors on by pickling."""
    with pytest.raises(Conflict) as raised:
        branch.transact([Put("a", entry(1)), Remove("x")], message="m")
    crossed = pickle.loads(pickle.dumps(raised.value))
    assert crossed.details["conflicts"] == raised.value.details["conflicts"]
    assert len(crossed.details["conflicts"]) == 2


def test_a_bad_entry_changes_nothing(repo: Repository, branch: Branch) -> None:
    with pytest.raises(InvalidInput, match="duplicate key 'n'"):
        branch.transact([Put("n", entry(1)), Put("n", entry(2))], message="m")
    with pytest.raises(InvalidInput, match="an entry must have an address or data"):
        branch.transact([Remove("a"), Put("n", graveler.Entry())], message="m")
    assert [item.path for item in repo.at("main").list()] == ["a"]
