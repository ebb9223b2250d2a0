"""Tags of tags and of trees: what they contain, where they lead, what keeps them readable, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from graveler_core.codec.records import decode, encode
from graveler_core.errors import CorruptData, InvalidInput, Kind, LimitExceeded, NotFound, PermissionDenied
from graveler_core.facade.repository import Repository
from graveler_core.gc.fsck import fsck
from graveler_core.gc.sweep import GRACE, sweep
from graveler_core.model.commit_texts import MAX_TAG_CHAIN, MAX_TEXT_BYTES
from graveler_core.model.entities import Tag
from graveler_core.model.ids import CommitId, MetarangeId, TagId
from graveler_core.model.permission import Action
from graveler_core.records import access
from graveler_core.records import layout as keys
from tests.unit.engine.interposed import Interposed
from tests.unit.engine.world import World, entry
from tests.unit.gc.lake import NOW, Lake
from tests.unit.guard.principals import Says, everything, repository

NO_HISTORY: dict[str, Callable[[Repository], object]] = {
    "commit": lambda r: r.commit("content"),
    "log": lambda r: next(r.log("content")),
    "log since": lambda r: next(r.log("main", since="content")),
    "steps": lambda r: r.at("content~1"),
    "itself": lambda r: r.at("content^0"),
    "branch": lambda r: r.create_branch("new", "content"),
    "hard reset": lambda r: r.branch("dev").hard_reset("content"),
    "merge": lambda r: r.merge("content", into="dev"),
    "check of a merge": lambda r: r.check_merge("content", into="dev"),
    "merge base": lambda r: r.merge_base("main", "content"),
    "difference since the merge base": lambda r: r.diff_summary("main", "content", since_merge_base=True),
    "scan since the merge base": lambda r: r.scan_diff("main", "content", since_merge_base=True),
    "cherry-pick": lambda r: r.cherry_pick("content", onto="dev"),
    "revert": lambda r: r.revert("content", onto="dev"),
    "transplant": lambda r: r.transplant(["content"], onto="dev"),
    "tag of a commit": lambda r: r.create_tag("v9", "content"),
    "assignment to a commit": lambda r: r.assign_tag("v1", "content", expected=r.tag("v1").commit_id),
}
"""Operations that need a commit with its history."""


@pytest.fixture
def world() -> World:
    """Two commits of five entries; `dev` at the first one; tags `v1` (commit), `of-v1` (tag), `content` (tree)."""
    made = World()
    repo = made.repository()
    repo.create_branch("dev", "main")
    for number in range(2):
        for each in range(5):
            repo.branch("main").stage(f"{each}", entry(10 * number + each))
        repo.branch("main").commit(f"commit {number}")
    repo.create_tag("v1", "main", message="first", signature="signed", tagger="ada", metadata={"k": "v"})
    repo.create_tag("of-v1", "v1", message="reviewed", target="tag")
    repo.create_tag("content", "main", target="tree")
    return made


def repo_of(world: World) -> Repository:
    return world.graveler().repository("repo")


def test_a_tag_of_a_tag_contains_it_as_it_was(world: World) -> None:
    repo = repo_of(world)
    before, tag = repo.tag("v1"), repo.tag("of-v1")
    assert (tag.target, tag.commit_id, tag.tagged, tag.message) == ("tag", before.commit_id, before, "reviewed")
    repo.assign_tag("v1", "main~1", expected=before.commit_id)
    assert repo.tag("of-v1").tagged == before
    moved = repo.create_tag("of-moved", "v1", target="tag").tagged
    assert moved is not None
    assert (moved.commit_id, moved.creation_date) == (repo.commit("main~1").id, before.creation_date)
    assert moved.past == before.past, "assignments are no part of it"
    repo.delete_tag("v1")
    assert repo.tag("of-v1") == tag
    assert repo.commit("of-v1").id == before.commit_id
    assert repo.commit("of-v1~1").id == repo.commit("main~1").id


def test_a_ref_that_names_a_tag_still_stands_for_its_commit(world: World) -> None:
    made = repo_of(world).create_tag("v2", "of-v1")
    assert (made.target, made.tagged, made.tree) == ("commit", None, "")


@pytest.mark.parametrize("named", ["main", "v1~0", "none", "main@", "dev$"])
def test_only_a_tag_can_be_named_as_a_tag(world: World, named: str) -> None:
    with pytest.raises((NotFound, InvalidInput)) as caught:
        repo_of(world).create_tag("v2", named, target="tag")
    assert caught.value.kind in (Kind.TagNotFound, Kind.InvalidName)


def test_a_tag_of_a_tree_is_read_and_compared_like_a_commit(world: World) -> None:
    repo = repo_of(world)
    tag, content, main = repo.tag("content"), repo.at("content"), repo.at("main~0")
    assert (tag.target, tag.tree, tag.commit_id) == ("tree", main.tree_id(), main.commit_id)
    assert list(content.list()) == list(main.list())
    assert (content.get("1"), content.commit_id) == (main.get("1"), main.commit_id)
    assert content.tree_id() == tag.tree
    assert sum(batch.num_rows for part in content.scan().partitions() for batch in content.scan().read(part)) == 5
    assert repo.diff_summary("content", "main").total == 0
    assert repo.diff_summary("main~1", "content") == repo.diff_summary("main~1", "main")
    assert repo.scan_diff("main~1", "content").plan == repo.scan_diff("main~1", "main~0").plan
    assert repo.scan_diff(None, "content").plan == repo.scan_diff(None, "main~0").plan


@pytest.mark.parametrize("how", NO_HISTORY)
def test_a_tag_of_a_tree_has_no_history(world: World, how: str) -> None:
    before = [*repo_of(world).branches(), *repo_of(world).tags()]
    for repo in (repo_of(world), repository(world, everything(Says("-", deny=True)))):
        with pytest.raises(InvalidInput, match=r"'content.*': is a tag of a tree, which has content but no") as caught:
            NO_HISTORY[how](repo)
        assert caught.value.kind is Kind.NotACommit
    assert [*repo_of(world).branches(), *repo_of(world).tags()] == before


def test_tags_lead_to_the_tree_of_a_tag_of_a_tree(world: World) -> None:
    repo = repo_of(world)
    named, copied = (repo.create_tag(f"v-{kind}", "content", target=kind) for kind in ("tag", "tree"))
    tree = repo.tag("content").tree
    assert (named.target, named.tree, copied.target, copied.tree) == ("tag", tree, "tree", tree)
    with pytest.raises(InvalidInput, match="tag of a tree"):
        repo.commit("v-tag")
    assert repo.assign_tag("content", "main", expected=named.commit_id).tree == ""
    assert repo.tag("v-tag").tree == tree


def test_assignments_change_the_target(world: World) -> None:
    repo = repo_of(world)
    head = repo.tag("v1").commit_id
    tag = repo.assign_tag("v1", "of-v1", expected=head, target="tag")
    assert [each.id for each in tag.chain()] == ["v1", "of-v1", "v1"]
    again = repo.assign_tag("v1", "main~1", expected=head, target="tree")
    assert (again.target, again.tree) == ("tree", repo.at("main~1").tree_id())
    events = [(event.kind, event.before, event.after) for event in repo.reflog("v1")]
    assert events[:2] == [("assigned", head, again.commit_id), ("assigned", head, head)]


def test_what_a_tag_can_contain_is_bounded(world: World) -> None:
    repo = repo_of(world)
    with pytest.raises(InvalidInput, match="target 'blob': must be commit, tag, tree"):
        repo.create_tag("v2", "main", target="blob")  # type: ignore[arg-type]
    for number in range(2, MAX_TAG_CHAIN):
        repo.create_tag(f"n{number}", "of-v1" if number == 2 else f"n{number - 1}", target="tag")
    with pytest.raises(LimitExceeded) as caught:
        repo.create_tag("n", f"n{MAX_TAG_CHAIN - 1}", target="tag")
    assert (caught.value.kind, caught.value.details["limit"]) == (Kind.TooManyItems, MAX_TAG_CHAIN)
    repo.create_tag("long", "main", message="x" * (MAX_TEXT_BYTES // 2))
    with pytest.raises(LimitExceeded) as caught:
        repo.create_tag("longer", "long", message="x" * (MAX_TEXT_BYTES // 2), target="tag")
    assert caught.value.kind is Kind.TextTooLong


def test_a_record_that_leads_to_two_commits_is_damaged() -> None:
    inner = Tag(id=TagId("v1"), commit_id=CommitId("c1"))
    for other in ({"commit_id": CommitId("c2")}, {"tree": MetarangeId("m1")}):
        outer = Tag(id=TagId("v2"), commit_id=CommitId("c1"), tagged=inner).model_copy(update=other)
        with pytest.raises(CorruptData, match="leads to another commit or tree"):
            decode(Tag, encode(outer), "the tag")


def test_the_tree_is_verified(world: World) -> None:
    graveler = world.graveler()
    repo, where = graveler.repository("repo"), keys.tag(graveler.repository("repo")._active(), TagId("content"))
    object.__setattr__(repo._stores.hooks, "verify_tag", lambda tag, commit: None)
    assert repo.verify_tag("content").tree == repo.at("main").tree_id()
    held = access.read(world.kv, where)
    assert held is not None
    access.replace(world.kv, where, held, held.value.model_copy(update={"tree": "0" * 64}))
    with pytest.raises(CorruptData, match="is not the tree of commit"):
        repo.verify_tag("content")


def test_a_target_that_changes_meanwhile_is_read_once(world: World) -> None:
    """Another process assigns the named tag before each call of the flow. The new tag is consistent in every case."""
    at, found = 0, set[CommitId]()
    calls = 1
    while at < calls:
        there = world.fork()
        kv = Interposed(there.kv)
        head = repo_of(there).tag("v1").commit_id
        kv.before[at] = lambda there=there, head=head: repo_of(there).assign_tag("v1", "main~1", expected=head)  # type: ignore[misc]
        there.graveler(kv).repository("repo").create_tag("v2", "v1", target="tag")
        made = repo_of(there).tag("v2")
        assert made.tagged is not None
        assert made.tagged.commit_id == made.commit_id
        found.add(made.commit_id)
        calls, at = len(kv.verbs), at + 1
    assert len(found) == 2


@pytest.mark.parametrize("how", ["tag", "tree", "tag of a tree"])
def test_what_only_such_a_tag_names_is_kept(tmp_path: Path, how: str) -> None:
    """Branch and first tag are deleted. Sweeps, collections and the expiry of commits leave the content alone."""
    lake = Lake(tmp_path / "lake")
    work = lake.repo.create_branch("work", "main")
    for number in range(30):
        work.put(f"{number}", b"%d" % number)
    work.commit("only here")
    lake.repo.create_tag("v1", "work", target="commit" if how == "tag" else "tree")
    lake.repo.create_tag("kept", "work" if how == "tree" else "v1", target="tree" if how == "tree" else "tag")
    lake.repo.delete_tag("v1")
    lake.repo.delete_branch("work")
    lake.repo.set_retention(1)
    for _ in range(3):
        lake.sleep(2 * GRACE + timedelta(days=3))
        sweep(lake.world.stores(), lake.record)
        lake.collect(NOW)
    kept = lake.repo.at("kept")
    assert [kept.read(found.path) for found in kept.list()] == [found.path.encode() for found in kept.list()]
    assert len(list(kept.list())) == 30
    assert list(fsck(lake.world.stores(), lake.record)) == []
    lake.repo.delete_tag("kept")
    for _ in range(3):
        lake.sleep(2 * GRACE + timedelta(days=3))
        lake.collect(NOW)
    assert lake.objects == set(), "without the tag the content is collected"


def test_dumps_contain_them(world: World) -> None:
    repo, dump, g = repo_of(world), world.namespace("dump"), world.graveler()
    repo.dump_refs(dump)
    g.create_bare_repository("copy", world.namespace("copy"))
    copy = g.repository("copy")
    copy.restore_refs(dump)
    assert list(copy.tags()) == list(repo.tags())


def test_a_restoration_that_renames_commits_renames_those_in_a_tag() -> None:
    inner = Tag(id=TagId("v1"), commit_id=CommitId("foreign"), message="m")
    renamed = Tag(id=TagId("v2"), commit_id=inner.commit_id, tagged=inner).leading_to(CommitId("c2"))
    assert [each.commit_id for each in renamed.chain()] == ["c2", "c2"]
    assert decode(Tag, encode(renamed), "the tag") == renamed


def test_the_texts_of_a_tag_are_shown_to_those_who_may_read_it(world: World) -> None:
    secret = "arn:graveler:fs:::repository/repo/tag/v1"
    repo = repository(world, everything(Says(Action.READ_TAG, secret, deny=True)))
    with pytest.raises(PermissionDenied, match="tag/v1"):
        repo.create_tag("mine", "v1", target="tag")
    with pytest.raises(PermissionDenied, match="tag/v1"):
        repo.assign_tag("content", "v1", expected=repo_of(world).tag("v1").commit_id, target="tag")
    assert repo.create_tag("mine", "of-v1", target="tag").tagged is not None
    assert repo.create_tag("commit", "v1").message == ""
