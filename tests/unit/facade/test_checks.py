"""Reports of checks, and branches that take only commits that passed them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from graveler_core.engine.merging import merge
from graveler_core.errors import Conflict, InvalidInput, Kind, LimitExceeded, NotFound, PermissionDenied
from graveler_core.facade.repository import Repository
from graveler_core.model.protection import MAX_REQUIRED, MAX_RULES
from graveler_core.records import layout as keys
from tests.unit.engine.interposed import Interposed
from tests.unit.engine.world import World, entry


@pytest.fixture
def world() -> World:
    """Main, and dev with a commit of its own."""
    made = World()
    repo = made.repository()
    dev = repo.create_branch("dev", "main")
    dev.stage("a", entry(1))
    dev.commit("a")
    return made


@pytest.fixture
def repo(world: World) -> Repository:
    return world.graveler().repository("repo")


def refused(merge: Callable[[], object]) -> PermissionDenied:
    with pytest.raises(PermissionDenied) as caught:
        merge()
    assert caught.value.kind is Kind.ChecksRequired
    return caught.value


def test_only_a_commit_whose_checks_all_passed_is_merged(world: World, repo: Repository) -> None:
    assert repo.require_checks("main", ["rows", "keys", "rows"]) == {"main": ("keys", "rows")}
    other = world.graveler().repository("repo")  # another process
    head = repo.commit("dev").id
    error = refused(lambda: other.merge("dev", into="main"))
    assert error.details == {"branch": "main", "commit": head, "failed": [], "missing": ["keys", "rows"]}
    repo.report_check("rows", True, commit="dev")
    repo.report_check("keys", False, commit=head, url="https://ci/1", message="two rows for one key")
    error = refused(lambda: other.merge("dev", into="main"))
    assert (error.details["failed"], error.details["missing"]) == (["keys"], [])
    assert "'keys' failed" in str(error)
    assert list(repo.at("main").list()) == []
    repo.report_check("keys", True, commit="dev")
    assert other.merge("dev", into="main").parents[1] == head
    assert [found.path for found in repo.at("main").list()] == ["a"]


def test_the_newest_report_counts(repo: Repository) -> None:
    repo.require_checks("main", "rows")
    repo.report_check("rows", True, commit="dev")
    repo.report_check("rows", False, commit="dev")
    refused(lambda: repo.merge("dev", into="main"))


def test_a_report_holds_for_its_commit_alone(repo: Repository) -> None:
    repo.require_checks("main", ["rows"])
    repo.report_check("rows", True, commit="dev")
    dev = repo.branch("dev")
    dev.stage("b", entry(2))
    dev.commit("b")
    refused(lambda: repo.merge("dev", into="main"))
    assert repo.merge("dev~1", into="main").parents[1] == repo.commit("dev~1").id


def test_a_report_on_a_tree_holds_for_every_commit_of_this_content(repo: Repository) -> None:
    """Content is checked while it is staged, and committed afterwards."""
    repo.require_checks("main", ["rows"])
    dev = repo.branch("dev")
    dev.stage("b", entry(2))
    tree = repo.at("dev").tree_id()
    report = repo.report_check("rows", True, tree=tree)
    refused(lambda: repo.merge("dev@", into="main"))
    dev.commit("b")
    assert repo.checks("dev") == {"rows": report}
    repo.merge("dev", into="main")


def test_of_reports_on_a_commit_and_on_its_tree_the_later_one_counts(world: World, repo: Repository) -> None:
    tree = repo.at("dev@").tree_id()
    repo.report_check("rows", False, tree=tree)
    world.clock.sleep(1)
    repo.report_check("rows", True, commit="dev")
    assert repo.checks("dev")["rows"].passed
    world.clock.sleep(1)
    repo.report_check("rows", False, tree=tree)
    assert not repo.checks("dev")["rows"].passed


def test_a_report_on_a_commit_counts_though_the_clock_of_the_report_on_its_tree_is_ahead(
    world: World, repo: Repository
) -> None:
    tree = repo.at("dev@").tree_id()
    now = world.clock.time
    world.clock.time = now + timedelta(minutes=5)
    repo.report_check("rows", True, tree=tree)
    world.clock.time = now
    report = repo.report_check("rows", False, commit="dev")
    assert repo.checks("dev") == {"rows": report}
    assert not report.passed


def test_direct_changes_are_refused(repo: Repository) -> None:
    repo.require_checks("m*", ["rows"])
    main = repo.branch("main")
    for change in (
        lambda: main.stage("a", entry(1)),
        lambda: main.commit("a", allow_empty=True),
        lambda: repo.cherry_pick("dev", onto="main"),
        lambda: main.hard_reset("dev"),
    ):
        with pytest.raises(PermissionDenied) as caught:
            change()
        assert caught.value.kind is Kind.BranchProtected
        assert "the required checks rule 'm*' blocks" in str(caught.value)
    assert repo.protection() == {}


def test_rules_can_be_replaced_and_removed(repo: Repository) -> None:
    repo.require_checks("main", ["rows"])
    repo.require_checks("release-*", ["keys"])
    assert repo.require_checks("main", ["keys"]) == {"main": ("keys",), "release-*": ("keys",)}
    assert repo.require_checks("main", []) == {"release-*": ("keys",)}
    assert repo.required_checks() == {"release-*": ("keys",)}
    repo.merge("dev", into="main")


def test_rules_are_replaced_only_if_they_are_those_that_were_read(world: World, repo: Repository) -> None:
    assert repo.require_checks("main", ["rows"], if_rules={}) == {"main": ("rows",)}
    kv = Interposed(world.kv)
    late = world.graveler(kv).repository("repo")
    known = late.required_checks()
    kv.reset()
    kv.before[1] = lambda: repo.require_checks("other", ["keys"])  # between the read and the swap
    with pytest.raises(Conflict) as caught:
        late.require_checks("main", ["keys"], if_rules=known)
    assert caught.value.kind is Kind.LostRace
    assert late.required_checks() == {"main": ("rows",), "other": ("keys",)}
    kv.reset()
    kv.lose[1] = True
    assert late.require_checks("main", [], if_rules=late.required_checks()) == {"other": ("keys",)}


def test_a_dry_run_checks_a_rule_and_changes_nothing(world: World, repo: Repository) -> None:
    before = repo._record
    assert repo.require_checks("main", ["rows"], dry_run=True) == {"main": ("rows",)}
    with pytest.raises(LimitExceeded, match="501 names"):
        repo.require_checks("main", [f"check {number}" for number in range(MAX_REQUIRED + 1)], dry_run=True)
    with pytest.raises(Conflict):
        repo.require_checks("main", ["rows"], if_rules={"main": ("keys",)}, dry_run=True)
    assert world.graveler().repository("repo")._record == before


def test_all_rules_that_match_a_branch_apply(repo: Repository) -> None:
    repo.require_checks("main", ["rows"])
    repo.require_checks("*", ["keys"])
    repo.report_check("rows", True, commit="dev")
    assert refused(lambda: repo.merge("dev", into="main")).details["missing"] == ["keys"]


def test_a_repeated_call_gets_its_merge_whatever_was_reported_since(repo: Repository) -> None:
    repo.require_checks("main", ["rows"])
    repo.report_check("rows", True, commit="dev")
    made = repo.merge("dev", into="main", idempotency_key="k")
    repo.report_check("rows", False, commit="dev")
    assert repo.merge("dev", into="main", idempotency_key="k").id == made.id


def test_a_rule_that_is_set_while_a_merge_retries_is_obeyed(world: World, repo: Repository) -> None:
    """The first attempt loses its swap to another merge. The second one reads rules and reports again."""
    kv = Interposed(world.kv)
    late = world.graveler(kv).repository("repo")
    other = repo.create_branch("other", "main")
    other.stage("b", entry(2))
    other.commit("b")

    def others() -> None:
        repo.merge("other", into="main")
        repo.require_checks("main", ["rows"])

    rehearsal = Interposed(world.fork().kv)
    handle = world.graveler(rehearsal).repository("repo")
    rehearsal.reset()
    handle.merge("dev", into="main")
    swap = rehearsal.verbs.index("write_and_swap")
    kv.reset()
    kv.before[swap] = others
    refused(lambda: late.merge("dev", into="main"))
    assert [found.path for found in repo.at("main").list()] == ["b"]


def test_a_merge_that_asks_for_its_checks_once_is_found(
    world: World, repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A planted bug: only a first attempt reads the reports."""
    real, asked = merge.require_passed, list[object]()

    def once(*arguments: Any) -> None:
        if not asked:
            real(*arguments)
        asked.append(arguments)

    monkeypatch.setattr(merge, "require_passed", once)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        test_a_rule_that_is_set_while_a_merge_retries_is_obeyed(world, repo)
    assert len(asked) == 4


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"commit": "dev", "tree": "0" * 64},
        {"tree": "0" * 63},
        {"commit": "dev$"},
        {"commit": "dev", "url": "x" * 2_001},
        {"commit": "dev", "message": 7},
    ],
    ids=str,
)
def test_bad_reports(repo: Repository, options: dict[str, str]) -> None:
    with pytest.raises(InvalidInput):
        repo.report_check("rows", True, **options)
    assert repo.checks("dev") == {}


@pytest.mark.parametrize("name", ["", " rows", "x" * 256, "a\nb", None])
def test_bad_names(repo: Repository, name: str) -> None:
    with pytest.raises(InvalidInput):
        repo.report_check(name, True, commit="dev")
    with pytest.raises(InvalidInput):
        repo.require_checks("main", [name])
    assert repo.required_checks() == {}


def test_bad_arguments(repo: Repository) -> None:
    with pytest.raises(InvalidInput):
        repo.report_check("rows", "yes", commit="dev")  # type: ignore[arg-type]
    with pytest.raises(NotFound):
        repo.report_check("rows", True, commit="nothing")
    with pytest.raises(InvalidInput):
        repo.require_checks("a b", ["rows"])
    for number in range(MAX_RULES):
        repo.require_checks(f"b{number}", ["rows"])
    with pytest.raises(InvalidInput):
        repo.require_checks("one-more", ["rows"])


def test_names_may_hold_any_printable_character(repo: Repository) -> None:
    name = "lake/flights: keys are unique, é"
    repo.require_checks("main", [name])
    repo.report_check(name, True, commit="dev")
    assert [*repo.checks("dev")] == [name]
    repo.merge("dev", into="main")


def test_reports_go_with_their_repository(world: World, repo: Repository) -> None:
    tree = repo.at("dev@").tree_id()
    repo.report_check("rows", True, commit="dev")
    repo.report_check("keys", True, tree=tree)
    partition = keys.partition(repo._record)
    graveler = world.graveler()
    graveler.delete_repository("repo")
    graveler.undelete_repository("repo")
    assert list(world.graveler().repository("repo").checks("dev")) == ["keys", "rows"]
    graveler.delete_repository("repo")
    assert [row.key for row in world.kv.scan(partition, prefix=b"checks/")]
    graveler.clean(undelete_within=timedelta(0), late=timedelta(0))
    assert not list(world.kv.scan(partition))
