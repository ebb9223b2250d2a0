"""Transactions that say on what they are based: what others do to that meanwhile. Source: `engine.committing.basis`."""

from collections.abc import Callable

import pytest

from graveler_core.codec.entry import normalise_entry, record_table
from graveler_core.engine.committing.seal import seal
from graveler_core.engine.staging import bulk
from graveler_core.errors import Conflict, DirtyBranch, InvalidInput, Kind, NotFound
from graveler_core.facade.branch import Branch
from graveler_core.model.ids import CommitId
from graveler_core.model.operations import Basis, Operation, Put, Remove
from graveler_core.testing.counting_store import Counting
from tests.unit.engine.races import Interrupted
from tests.unit.engine.ten_keys import at_head, messages, shown, ten_keys
from tests.unit.engine.world import World, entry


@pytest.fixture
def world() -> World:
    """A branch of ten entries and a table of two files."""
    made = ten_keys()
    made.branch().transact([Put("t/1", entry(11)), Put("t/2", entry(12))], message="table")
    return made


def basis(world: World) -> Basis:
    return Basis(world.branch().record().commit_id, ("t/",))


def overwritten(world: World) -> list[Operation]:
    """What replaces the table, as an author plans it who lists the head."""
    gone = [Remove(path) for path in at_head(world) if path.startswith("t/")]
    return [*gone, Put("t/new", entry(20))]


def table(world: World) -> list[str]:
    return [path for path in at_head(world) if path.startswith("t/")]


class TestHead:
    """The whole head."""

    def test_the_head_itself(self, world: World) -> None:
        branch = world.branch()
        branch.stage("k1", entry(5))
        branch.transact([Remove("k2")], message="m", on=branch.record().commit_id)
        assert "k2" not in at_head(world)

    def test_another_head(self, world: World) -> None:
        branch = world.branch()
        before = branch.record().commit_id
        branch.transact([Remove("k1")], message="theirs")
        with pytest.raises(Conflict, match=rf"has changed since commit {before}, .* read the branch again") as raised:
            branch.transact([Remove("k2")], message="mine", on=before)
        assert raised.value.kind is Kind.LostRace
        assert raised.value.details == {"expected": before, "actual": branch.record().commit_id}
        assert "k2" in at_head(world)

    def test_a_head_that_moves_at_the_last_moment(self, world: World) -> None:
        kv = Interrupted(world.kv, lambda: world.branch().transact([Remove("k1")], message="theirs"))
        with pytest.raises(Conflict) as raised:
            world.branch(kv).transact([Remove("k2")], message="mine", on=world.branch().record().commit_id)
        assert raised.value.kind is Kind.LostRace
        assert messages(world) == ["theirs", "table", "begin"]

    def test_layers_that_come_meanwhile_are_no_hindrance(self, world: World) -> None:
        kv = Interrupted(world.kv, lambda: world.branch().remove_many(["k1"]))
        world.branch(kv).transact([Remove("k2")], message="mine", on=world.branch().record().commit_id)
        assert kv.met == 2

    def test_the_call_again_under_its_key(self, world: World) -> None:
        """It was done; that the head has moved since, by itself and by others, is no conflict."""
        branch = world.branch()
        before = branch.record().commit_id
        made = [branch.transact([Remove("k2")], message="m", on=before, idempotency_key="a") for _ in range(2)]
        branch.transact([Remove("k3")], message="theirs")
        made.append(branch.transact([Remove("k2")], message="m", on=before, idempotency_key="a"))
        assert len({commit.id for commit in made}) == 1


class TestPrefix:
    """What lies under a prefix."""

    def race(self, world: World, *others: Callable[[Branch], object]) -> None:
        kv = Interrupted(world.kv, *[lambda other=other: other(world.branch()) for other in others])
        operations, on = overwritten(world), basis(world)
        world.branch(kv).transact(operations, message="mine", on=on)

    def test_others_elsewhere_are_no_hindrance(self, world: World) -> None:
        self.race(
            world,
            lambda b: b.transact([Remove("k1"), Put("t", entry(1)), Put("t0", entry(1))], message="theirs"),
            lambda b: (b.stage("k2", entry(3)), b.commit("theirs too")),
            lambda b: b.remove_many(["k3"]),
        )
        assert messages(world) == ["mine", "theirs too", "theirs", "table", "begin"]
        assert table(world) == ["t/new"]
        assert "k3" not in shown(world.branch())

    @pytest.mark.parametrize(
        "theirs",
        [
            lambda b: b.transact([Put("t/3", entry(13))], message="theirs"),
            lambda b: (b.stage("t/3", entry(13)), b.commit("theirs")),
            lambda b: (b.stage("t/3", entry(13)), b.compact(), b.commit("theirs")),
            lambda b: (b.stage("t/1", entry(14)), b.commit("theirs")),
            lambda b: (b.remove_prefix("t/1"), b.commit("theirs")),
        ],
    )
    def test_what_is_committed_there_meanwhile(self, world: World, theirs: Callable[[Branch], object]) -> None:
        with pytest.raises(Conflict, match="has changed under 't/' since commit") as raised:
            self.race(world, theirs)
        assert raised.value.kind is Kind.LostRace
        assert messages(world) == ["theirs", "table", "begin"]

    def test_what_is_merged_there_meanwhile(self, world: World) -> None:
        repo = world.graveler().repository("repo")
        repo.create_branch("dev", "main").transact([Put("t/3", entry(13))], message="dev")
        with pytest.raises(Conflict):
            self.race(world, lambda _: repo.merge("dev", "main"))
        assert table(world) == ["t/1", "t/2", "t/3"]

    def test_a_change_that_was_taken_back(self, world: World) -> None:
        def there_and_back(branch: Branch) -> None:
            branch.transact([Put("t/3", entry(13))], message="there")
            branch.transact([Remove("t/3")], message="and back")

        self.race(world, there_and_back)
        assert table(world) == ["t/new"]

    @pytest.mark.parametrize(
        "theirs",
        [
            lambda b: b.remove_many(["t/1"]),
            lambda b: b.stage_many(record_table([(b"t/3", normalise_entry("t/3", entry(13)))]).drop(["tombstone"])),
            lambda b: b.remove_prefix("t/3"),
            lambda b: (b.stage("t/3", entry(13)), b.compact()),
        ],
    )
    def test_what_is_staged_there_by_a_swap_meanwhile(self, world: World, theirs: Callable[[Branch], object]) -> None:
        with pytest.raises(DirtyBranch):
            self.race(world, theirs)
        assert messages(world) == ["table", "begin"]

    def test_a_write_after_the_look_stays_on_top(self, world: World) -> None:
        self.race(world, lambda b: b.stage("t/3", entry(13)))
        assert table(world) == ["t/new"]
        assert [path for path in shown(world.branch()) if path.startswith("t/")] == ["t/3", "t/new"]

    def test_a_write_between_plan_and_look(self, world: World) -> None:
        operations, on = overwritten(world), basis(world)
        world.branch().stage("t/3", entry(13))
        with pytest.raises(
            DirtyBranch, match="'t/3' is staged on branch 'main', under 't/'; commit or reset"
        ) as raised:
            world.branch().transact(operations, message="mine", on=on)
        assert raised.value.details["paths"] == ["t/3"]
        assert shown(world.branch())["t/3"] == 13

    def test_what_is_committed_while_it_looks_at_the_layers(self, world: World) -> None:
        """Staged when the record was read, gone when the layers are: the refusal is of what stands."""
        operations, on = overwritten(world), basis(world)
        world.branch().stage("t/3", entry(13))
        met = iter([True])
        kv = Interrupted(
            world.kv,
            lambda: world.branch().commit("theirs"),
            before=lambda call: call.verb == "scan" and next(met, False),
        )
        with pytest.raises(Conflict) as raised:
            world.branch(kv).transact(operations, message="mine", on=on)
        assert raised.value.kind is Kind.LostRace


class TestStaged:
    """What counts as staged under the prefix: records, not effects."""

    @pytest.mark.parametrize(
        "staged",
        [
            lambda b: b.stage("t/3", entry(13)),
            lambda b: b.remove_many(["t/none"]),
            lambda b: b.stage("t/1", b.get("t/1")),
            lambda b: b.remove_prefix("t/1"),
            lambda b: b.remove_prefix("t/none"),
            lambda b: b.remove_prefix(""),
            lambda b: (b.stage("t/3", entry(13)), b.compact()),
            lambda b: (b.stage("t/3", entry(13)), b.compact(), b.remove_prefix("k")),
            lambda b: (b.stage("t/3", entry(13)), seal(*b._at, allow_empty=False)),
            lambda b: (b.reset("t/"), b.stage("t/3", entry(13))),
            lambda b: (b.stage("t/3", entry(13)), b.compact(), b.reset("t/3/")),
        ],
    )
    def test_staged(self, world: World, staged: Callable[[Branch], object]) -> None:
        staged(world.branch())
        before = shown(world.branch())
        with pytest.raises(DirtyBranch):
            world.branch().transact([Put("t/new", entry(20))], message="m", on=basis(world))
        assert shown(world.branch()) == before

    @pytest.mark.parametrize(
        "staged",
        [
            lambda b: b.stage("t", entry(13)),
            lambda b: b.stage("t0", entry(13)),
            lambda b: (b.remove_prefix("k"), b.remove_prefix("t0")),
            lambda b: (b.stage("k1", entry(1)), b.compact()),
            lambda b: (b.stage("t/3", entry(13)), b.reset("t/")),
            lambda b: (b.remove_prefix("t/1"), b.reset("t")),
            lambda b: (b.stage("t/3", entry(13)), b.compact(), b.reset("t/")),
        ],
    )
    def test_not_staged_there(self, world: World, staged: Callable[[Branch], object]) -> None:
        staged(world.branch())
        world.branch().transact([Put("t/new", entry(20))], message="m", on=basis(world))
        assert table(world) == ["t/1", "t/2", "t/new"]
        world.branch().commit("the rest", allow_empty=True)
        assert shown(world.branch()) == at_head(world)
        assert table(world) == ["t/1", "t/2", "t/new"]

    def test_a_segment(self, world: World) -> None:
        rows = [(f"t/{n:05}".encode(), normalise_entry(f"t/{n:05}", entry(n))) for n in range(bulk.SEGMENT_ROWS)]
        bulk.stage_records(*world.branch()._at, record_table(rows))
        with pytest.raises(DirtyBranch):
            world.branch().transact([Put("t/new", entry(20))], message="m", on=basis(world))

    def test_the_whole_branch(self, world: World) -> None:
        branch = world.branch()
        on = Basis(branch.record().commit_id, ("",))
        branch.transact([Remove("k1")], message="m", on=on)
        with pytest.raises(Conflict):
            branch.transact([Remove("k2")], message="m", on=on)
        branch.stage("k3", entry(3))
        with pytest.raises(DirtyBranch):
            branch.transact([Remove("k2")], message="m", on=Basis(branch.record().commit_id, ("",)))


def test_no_such_commit(world: World) -> None:
    with pytest.raises(NotFound) as raised:
        world.branch().transact([Remove("k1")], message="m", on=Basis(CommitId("00" * 32), ("t/",)))
    assert raised.value.kind is Kind.CommitNotFound


def test_what_it_costs_where_nobody_came_in_between(world: World) -> None:
    """Nothing, and with a prefix a scan of the open token."""

    def calls(number: int, on: Basis | str | None) -> dict[str, int]:
        counted = Counting(world.kv)
        branch = world.branch(counted)
        counted.reset()
        branch.transact([Put(f"t/{number}", entry(number))], message="m", on=on)
        return dict(counted.counts)

    without = calls(3, None)
    assert calls(4, world.branch().record().commit_id) == without
    assert calls(5, basis(world)) == {**without, "scan": without.get("scan", 0) + 1}


def test_prefixes_are_a_tuple() -> None:
    with pytest.raises(InvalidInput, match="must be a tuple of prefixes, not 't/'"):
        Basis(CommitId("00" * 32), "t/")  # type: ignore[arg-type]


def test_only_what_lies_under_the_prefixes_decides(world: World) -> None:
    branch = world.branch()
    branch.transact([Put("t/a", entry(1)), Put("t/b/1", entry(2)), Put("t/c/1", entry(3))], message="table")
    on = Basis(branch.record().commit_id, ("t/b/", "t/c/"))
    branch.transact([Remove("t/a")], message="elsewhere")
    branch.stage("t/d/1", entry(5))
    branch.transact([Remove("t/b/1")], message="based", on=on)
    with pytest.raises(Conflict, match="under 't/b/'"):
        branch.transact([Remove("t/c/1")], message="late", on=on)
