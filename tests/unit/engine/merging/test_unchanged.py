"""Merges that depend on prefixes of the destination: what others do below them meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from graveler_core.errors import Conflict, InvalidInput, Kind, NoChanges, PermissionDenied
from graveler_core.facade.repository import Repository
from graveler_core.testing.faulty_store import LoseAnswer
from tests.unit.engine.races import Interrupted, failing_swap
from tests.unit.engine.world import World, entry
from tests.unit.guard.principals import Says, everything, repository

JANUARY, FEBRUARY = "t/month=2013-01/", "t/month=2013-02/"


@pytest.fixture
def world() -> World:
    """Two partitions with a file each on main; two runs that replaced the first partition."""
    made = World()
    repo = made.repository()
    main = repo.branch("main")
    for partition in (JANUARY, FEBRUARY):
        main.stage(f"{partition}old", entry(0))
    main.commit("begin")
    for run in ("one", "two"):
        work = repo.create_branch(run, "main")
        work.remove_prefix(JANUARY)
        work.stage(f"{JANUARY}{run}", entry(1))
        work.commit(f"run {run}")
    return made


@pytest.fixture
def repo(world: World) -> Repository:
    return world.graveler().repository("repo")


def files(repo: Repository) -> list[str]:
    return [found.path for found in repo.at("main").list(prefix="t/")]


def changed(merge: Callable[[], object]) -> Conflict:
    with pytest.raises(Conflict) as caught:
        merge()
    assert caught.value.kind is Kind.PrefixChanged
    return caught.value


def change(repo: Repository, path: str, number: int = 7) -> str:
    main = repo.branch("main")
    main.stage(path, entry(number))
    return main.commit("another publication").id


@pytest.mark.parametrize("replay", [False, True])
def test_two_replacements_of_a_partition_are_not_mixed(repo: Repository, replay: bool) -> None:
    base = repo.commit("main").id
    head = repo.merge("one", into="main", unchanged=[JANUARY], replay=replay).id
    for request in ([JANUARY], (FEBRUARY, JANUARY), ["t/"], [""]):
        error = changed(lambda given=request: repo.merge("two", into="main", unchanged=given, replay=replay))
        prefix = request[-1]
        assert error.details["prefixes"] == [prefix]
        assert error.details["paths"] == {prefix: [f"{JANUARY}old", f"{JANUARY}one"]}
        assert (error.details["expected"], error.details["actual"]) == (base, head)
        assert repr(prefix) in str(error)
        assert f"{JANUARY}old" in str(error)
    assert repo.commit("main").id == head
    assert files(repo) == [f"{JANUARY}one", f"{FEBRUARY}old"]


def test_the_error_says_what_to_do(repo: Repository) -> None:
    base = repo.commit("main").id[:12]
    head = repo.merge("one", into="main").id[:12]
    error = changed(lambda: repo.merge("two", into="main", unchanged=[JANUARY]))
    assert str(error) == (
        f"merge: another commit changed {JANUARY!r} on branch 'main' since the merge base {base}: the head {head} "
        f"differs at '{JANUARY}old', '{JANUARY}one'; nothing was merged; repeat the work on a new branch from 'main'"
    )


def test_all_prefixes_are_named_with_their_first_paths(repo: Repository) -> None:
    main = repo.branch("main")
    for number in range(30):
        main.stage(f"{FEBRUARY}{number:02}", entry(number))
    main.stage(f"{JANUARY}more", entry(1))
    main.commit("another publication")
    error = changed(lambda: repo.merge("two", into="main", unchanged=[FEBRUARY, "other/", JANUARY]))
    assert error.details["prefixes"] == [FEBRUARY, JANUARY]
    ten = [f"{FEBRUARY}{number:02}" for number in range(10)]
    assert error.details["paths"] == {FEBRUARY: ten, JANUARY: [f"{JANUARY}more"]}


def test_changes_elsewhere_do_not_matter(repo: Repository) -> None:
    change(repo, f"{FEBRUARY}new")
    change(repo, "t/month=2013-01")  # before the prefix
    change(repo, "t/month=2013-010")  # after it
    repo.merge("two", into="main", unchanged=[JANUARY, "absent/"])
    assert f"{JANUARY}two" in files(repo)


def test_the_content_is_compared_and_not_the_history(repo: Repository) -> None:
    main = repo.branch("main")
    change(repo, f"{JANUARY}old", 7)
    change(repo, f"{JANUARY}old", 0)
    main.stage(f"{JANUARY}more", entry(5))
    main.commit("more")
    main.remove(f"{JANUARY}more")
    main.stage(f"{JANUARY}old", entry(0, mtime=9))
    main.commit("back")
    repo.merge("two", into="main", unchanged=[JANUARY])
    assert files(repo) == [f"{JANUARY}two", f"{FEBRUARY}old"]


def test_changes_that_the_source_has_taken_over_are_part_of_the_merge_base(repo: Repository) -> None:
    change(repo, f"{JANUARY}more")
    repo.merge("main", into="two")
    repo.merge("two", into="main", unchanged=[JANUARY])
    assert files(repo) == [f"{JANUARY}more", f"{JANUARY}two", f"{FEBRUARY}old"]


@pytest.mark.parametrize("replay", [False, True])
def test_each_attempt_checks_the_head_that_it_replaces(world: World, repo: Repository, replay: bool) -> None:
    others = world.graveler().repository("repo")
    kv = Interrupted(world.kv, lambda: others.merge("one", into="main"))
    mine = world.graveler(kv).repository("repo")
    changed(lambda: mine.merge("two", into="main", unchanged=[JANUARY], replay=replay))
    assert files(repo) == [f"{JANUARY}one", f"{FEBRUARY}old"]
    kv = Interrupted(world.kv, lambda: change(others, f"{FEBRUARY}new"))
    world.graveler(kv).repository("repo").merge("two", into="main", unchanged=["elsewhere/"], replay=replay)
    assert kv.met == 2


def test_a_call_that_is_repeated_finds_its_commit(repo: Repository) -> None:
    made = repo.merge("one", into="main", unchanged=[JANUARY], idempotency_key="run one")
    change(repo, f"{JANUARY}later")
    again = repo.merge("one", into="main", unchanged=[JANUARY], idempotency_key="run one")
    assert again.id == made.id
    with pytest.raises(NoChanges):  # as without `unchanged`: the branch has the source already
        repo.merge("one", into="main", unchanged=[JANUARY])


def test_a_merge_whose_answer_was_lost_is_no_conflict_with_itself(world: World) -> None:
    kv = failing_swap(world.kv, LoseAnswer())
    made = world.graveler(kv).repository("repo").merge("one", into="main", unchanged=[""])
    assert world.branch().record().commit_id == made.id


def test_the_conflicts_of_the_merge_come_second(repo: Repository) -> None:
    change(repo, f"{JANUARY}two")
    changed(lambda: repo.merge("two", into="main", unchanged=[JANUARY]))
    with pytest.raises(Conflict) as caught:
        repo.merge("two", into="main", unchanged=[FEBRUARY])
    assert caught.value.kind is Kind.MergeConflict
    changed(lambda: repo.merge("two", into="main", unchanged=[JANUARY], strategy="source"))


@pytest.mark.parametrize("given", ["t/", 5, [5], ["t/\ud800"], [b"t/"], None])
def test_bad_prefixes_are_refused(repo: Repository, given: Sequence[str]) -> None:
    head = repo.commit("main").id
    for call in (repo.merge, repo.check_merge):
        with pytest.raises(InvalidInput):
            call("two", into="main", unchanged=given)
    assert repo.commit("main").id == head


def test_an_iterator_of_prefixes_is_read_once(world: World) -> None:
    principal = everything()
    repository(world, principal).merge("one", into="main", unchanged=iter([JANUARY]))  # type: ignore[arg-type]
    changed(lambda: repository(world, principal).merge("two", into="main", unchanged=iter([JANUARY])))  # type: ignore[arg-type]


def test_who_may_not_list_a_prefix_learns_nothing_about_it(world: World) -> None:
    arn = f"arn:graveler:fs:::repository/repo/object/{JANUARY}*"
    principal = everything(Says("fs:ListObjects", arn, deny=True))
    mine = repository(world, principal)
    for moved in (False, True):
        if moved:
            change(world.graveler().repository("repo"), f"{JANUARY}more")
        for call in (mine.merge, mine.check_merge):
            for prefix in (JANUARY, "t/", ""):
                with pytest.raises(PermissionDenied) as denied:
                    call("two", into="main", unchanged=[FEBRUARY, prefix])
                assert "more" not in repr((str(denied.value), denied.value.details))
    mine.merge("two", into="main", unchanged=[FEBRUARY])
