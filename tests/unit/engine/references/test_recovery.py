"""Nessie's behaviours 76-78: what can be done when commits, or the log of references, are lost. And tags that a hook
verifies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from graveler_core.diagnostics.doctor.diagnosis import Ailment
from graveler_core.diagnostics.doctor.examining import examine
from graveler_core.engine.references import reflog
from graveler_core.engine.references.events import fold
from graveler_core.errors import CorruptData, DirtyBranch, InvalidInput, NotFound, NotUnique, PermissionDenied
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.gc.findings import Thing
from graveler_core.model.entities import Commit, Tag
from graveler_core.model.ids import CommitId
from graveler_core.model.references import EventKind
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.location import Location
from graveler_core.stores import Hooks
from tests.unit.engine.flows import table
from tests.unit.engine.world import World, entry


@pytest.fixture
def repo(world: World) -> Repository:
    return world.graveler().repository("repo")


def anew(world: World) -> Repository:
    """The repository, seen by a process that remembers nothing."""
    return world.graveler().repository("repo")


def lose(world: World, where: Location[Commit]) -> None:
    world.kv.delete(where.partition, where.key)


def log_head(world: World, repo: Repository) -> CommitId:
    held = access.read(world.kv, keys.reference_log(repo._record))
    assert held is not None
    return held.value.commit_id


class TestLostCommits:
    def test_76_heads_and_former_heads_are_judged(self, world: World, repo: Repository) -> None:
        """Values are entries in ranges here; whether users' objects are there is not graveler's to know."""
        main = repo.branch("main")
        made = []
        for number in range(3):
            main.stage_many(table({f"{number}/{n:03}": n for n in range(40)}))
            made.append(main.commit(str(number)).id)
        repo.create_branch("dev", "main")
        fold(world.stores(), repo._record)
        found = [(check.branch, check.commit, check.left is None, check.state) for check in repo.check_references()]
        start = repo.commit("main~3").id
        assert found == [
            ("dev", made[2], True, "consistent"),
            ("main", made[2], True, "consistent"),
            *(("main", commit, False, "consistent") for commit in (made[1], made[0], start)),
            ("", log_head(world, repo), True, "consistent"),
        ]
        lose(world, keys.commit(repo._record, made[1]))
        blobs = world.blobs.at(repo.storage_namespace)
        states = {check.commit: check.state for check in anew(world).check_references()}
        assert states[made[1]] == "inconsistent"
        assert states[made[2]] == "consistent"
        for blob in list(blobs.list("_graveler/")):
            if blobs.read_range(blob.address, 0, 4) == b"PAR1":
                blobs.delete(blob.address)
        states = {check.commit: check.state for check in anew(world).check_references()}
        assert states == {
            made[2]: "content inconsistent",
            made[1]: "inconsistent",
            made[0]: "content inconsistent",
            start: "consistent",
            log_head(world, repo): states[log_head(world, repo)],
        }

    def test_77_a_branch_whose_head_is_lost_is_reset_or_deleted(self, world: World, repo: Repository) -> None:
        for name in ("dev", "other"):
            repo.create_branch(name, "main")
            repo.branch(name).stage("a", entry(1))
            repo.branch(name).commit("1")
            repo.branch(name).stage("a", entry(2))
            lose(world, keys.commit(repo._record, repo.branch(name).commit("2").id))
        again = anew(world)
        with pytest.raises(NotFound):
            again.branch("dev").get("a")
        before = next(again.reflog("dev")).before
        assert before is not None
        again.branch("dev").hard_reset(before)
        assert again.branch("dev").get("a").size == 1
        again.delete_branch("other")
        with pytest.raises(NotFound) as caught:
            again.undelete_branch("other")
        assert caught.value.details["commit"] not in (None, before)
        assert [branch.id for branch in again.branches()] == ["dev", "main"]

    def test_77_what_is_staged_over_a_lost_head_is_reset_first(self, world: World, repo: Repository) -> None:
        main = repo.branch("main")
        main.stage("a", entry(1))
        main.commit("1")
        before = repo.commit("main~1").id
        main.stage("a", entry(2))
        lose(world, keys.commit(repo._record, repo.commit("main").id))
        again = anew(world).branch("main")
        with pytest.raises(DirtyBranch, match="head is lost"):
            again.hard_reset(before)
        again.reset()
        again.hard_reset(before)
        assert list(again.list()) == []

    def test_78_a_damaged_log_fails_loudly_and_is_mended(self, world: World, repo: Repository) -> None:
        """Names are listed from their records, so they need no log, and nothing has to be created again to be listed;
        what a record remembers is logged again when something happens to it.
        """
        for name in ("early", "late"):
            repo.create_branch(name, "main")
            fold(world.stores(), repo._record)
        broken = log_head(world, repo)
        lose(world, keys.internal_history(repo._record).headers.at(broken))
        again = anew(world)
        calls: list[Callable[[], object]] = [
            lambda: list(again.reflog()),
            lambda: list(again.reflog("late")),
            lambda: again.undelete_branch("x"),
        ]
        for call in calls:
            with pytest.raises(CorruptData) as caught:
                call()
            assert caught.value.details["commit"] == broken
            assert "mend_reflog" in caught.value.message
        found = [finding for finding in again.fsck() if finding.damage]
        assert [(finding.thing, finding.id) for finding in found] == [(Thing.COMMIT, broken)]
        assert found[0].named_by == "the log of references"
        again.create_branch("new", "main")
        again.delete_branch("new")
        with pytest.raises(NotUnique):
            again.create_branch("late", "main")
        assert [branch.id for branch in again.branches()] == ["early", "late", "main"]
        assert again.mend_reflog()
        assert not again.mend_reflog()
        told = [(event.kind, event.name) for event in again.reflog()]
        assert told == [("deleted", "new"), ("created", "new"), ("created", "early")]
        assert again.undelete_branch("new").record()
        again.delete_branch("late")
        assert ("created", "late") in [(event.kind, event.name) for event in again.reflog()]
        assert not [finding for finding in again.fsck(deep=True) if finding.damage]

    def test_a_log_of_which_nothing_is_left_begins_anew(self, world: World, repo: Repository) -> None:
        repo.create_branch("dev", "main")
        fold(world.stores(), repo._record)
        lose(world, keys.internal_history(repo._record).headers.at(log_head(world, repo)))
        assert repo.mend_reflog()
        assert list(repo.reflog()) == []
        repo.delete_branch("dev")
        assert fold(world.stores(), repo._record) == 2
        assert [event.kind for event in repo.reflog()] == ["deleted", "created"]

    @pytest.mark.parametrize("crowded", [False, True])
    def test_a_damaged_pending_event_is_left_out_and_removed(
        self, world: World, repo: Repository, monkeypatch: pytest.MonkeyPatch, crowded: bool
    ) -> None:
        if crowded:
            monkeypatch.setattr(reflog, "MANY", 1)  # the events are folded first
        for name in ("kept", "gone"):
            repo.create_branch(name, "main")
        repo.delete_branch("gone")
        folder = keys.pending_events(repo._record)
        world.kv.set(folder.partition, folder.prefix + b"x", b"damaged")
        assert [event.name for event in repo.reflog()] == ["gone", "gone", "kept"]
        assert [event.kind for event in repo.reflog("kept")] == ["created"]
        mend = r"pending/x: .*`graveler reflog --mend` \(mend_reflog\) removes this event"
        with pytest.raises(CorruptData, match=mend):  # the event may be the last deletion of the branch
            repo.undelete_branch("gone")
        with pytest.raises(CorruptData, match=mend):
            repo.dump_refs(f"memory://{world.name}-dumps/dump")
        assert [each.thing for each in repo.fsck() if each.damage] == [Thing.REFERENCE_LOG]
        found = [each for each in examine(world.stores()).found if each.ailment is Ailment.REFERENCE_LOG_DAMAGED]
        assert ["events that wait for the log" in each.what for each in found] == [True]
        assert repo.mend_reflog()
        assert not repo.mend_reflog()
        assert repo.undelete_branch("gone").record()
        assert repo.dump_refs(f"memory://{world.name}-dumps/dump").branches == 3
        assert [event.name for event in repo.reflog()] == ["gone", "gone", "gone", "kept"]
        assert not [each for each in repo.fsck() if each.damage]

    def test_an_event_with_a_damaged_history_is_removed(self, world: World, repo: Repository) -> None:
        repo.create_branch("gone", "main")
        repo.delete_branch("gone")
        folder = keys.pending_events(repo._record)
        for name, held in list(access.scan(world.kv, folder)):
            if held.value.kind is EventKind.DELETED:
                access.write(world.kv, folder.at(name), held.value.model_copy(update={"past": "1>z"}))
        with pytest.raises(CorruptData, match="mend_reflog"):
            list(repo.reflog())
        assert repo.mend_reflog()
        assert [event.kind for event in repo.reflog("gone")] == ["created"]


class TestVerifiedTags:
    def checked(self, world: World) -> tuple[Repository, list[str]]:
        asked: list[str] = []

        def verify(tag: Tag, commit: Commit) -> None:
            asked.append(f"{tag.id} of {commit.message}")
            if tag.signature != f"signed {tag.commit_id}":
                raise PermissionDenied(f"tag {tag.id!r}: its signature is not good")

        stores = replace(world.stores(), hooks=Hooks(verify))
        return Graveler(stores).repository("repo"), asked

    def test_a_hook_refuses_a_tag(self, world: World) -> None:
        repo, asked = self.checked(world)
        with pytest.raises(PermissionDenied, match="not good"):
            repo.create_tag("v1", "main", signature="forged")
        assert list(repo.tags()) == []
        good = repo.create_tag("v1", "main", message="first", signature=f"signed {repo.commit('main').id}")
        assert repo.verify_tag("v1") == good
        assert asked == ["v1 of Repository created"] * 3

    def test_a_tag_that_stands_is_verified_anew(self, world: World) -> None:
        """It was created where nothing verified it."""
        world.graveler().repository("repo").create_tag("v1", "main", signature="forged")
        repo, _ = self.checked(world)
        with pytest.raises(PermissionDenied):
            repo.verify_tag("v1")

    def test_without_a_hook_nothing_is_verified(self, repo: Repository) -> None:
        repo.create_tag("v1", "main")
        with pytest.raises(InvalidInput, match="verify_tag"):
            repo.verify_tag("v1")
        with pytest.raises(NotFound):
            repo.verify_tag("v2")

    def test_a_tag_of_a_tag_names_the_commit(self, repo: Repository) -> None:
        first = repo.create_tag("v1", "main", message="first")
        second = repo.create_tag("v2", "v1", message="second")
        repo.delete_tag("v1")
        assert second.commit_id == first.commit_id == repo.commit("v2").id
