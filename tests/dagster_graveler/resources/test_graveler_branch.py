"""Tests of the branch of a run: its name, and the moment at which it is created."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import dagster as dg
import pytest
from pydantic import ValidationError

from dagster_graveler.resources import graveler_branch
from dagster_graveler.resources.graveler import GravelerResource
from dagster_graveler.resources.graveler_branch import GravelerBranch
from dagster_graveler.run_tags import BRANCH_TAG, MarkedBranch
from dagster_graveler.runs import RANGE_END_TAG, RANGE_START_TAG, is_created_by_run
from graveler_core.engine.repositories import creation
from graveler_core.errors import InvalidInput, Kind, NotUnique
from graveler_core.facade.graveler import Graveler
from orchestration.local import Installation

JANUARY_TO_MARCH = {RANGE_START_TAG: "2013-01", RANGE_END_TAG: "2013-03"}


def target(installation: Installation, branch: str = "run-{run}") -> GravelerBranch:
    graveler = GravelerResource(url=installation.store)
    return GravelerBranch(graveler=graveler, repository="lake", storage_root=installation.data, branch=branch)


def run(
    instance: dg.DagsterInstance, branch: GravelerBranch, tags: dict[str, str] | None = None
) -> tuple[str, str, str]:
    """What a run sees: its id, its branch, and the ref that it reads before it writes."""
    seen = []

    @dg.op
    def look(branch: GravelerBranch) -> None:
        before = branch.open_for_reading().ref
        branch.open_for_writing().put("a", b"1")
        seen.append((branch.name, before, branch.open_for_reading().ref))

    @dg.job(resource_defs={"branch": branch})
    def looking() -> None:
        look()

    result = looking.execute_in_process(instance=instance, tags=tags)
    ((name, before, after),) = seen
    assert after == name
    return result.run_id, name, before


def test_each_run_has_a_branch_of_its_own(
    installation: Installation, instance: dg.DagsterInstance, graveler: Graveler
) -> None:
    first, name, before = run(instance, target(installation))
    assert name == f"run-{first[:13]}"
    assert before == target(installation).open_repository().commit("main").id
    second, other, _ = run(instance, target(installation))
    assert other == f"run-{second[:13]}" != name
    repository = graveler.repository("lake")
    assert {branch.id for branch in repository.branches()} == {"main", name, other}
    assert list(repository.at("main").list()) == []
    assert repository.storage_namespace == f"{installation.data}/lake"


@pytest.mark.parametrize(
    ("template", "tags", "expected"),
    [
        ("dev", {}, "dev"),
        ("month-{partition}", JANUARY_TO_MARCH, "month-2013-01_to_2013-03"),
        ("month-{partition}", {"dagster/partition": "2013-01"}, "month-2013-01"),
        ("{partition}", {"dagster/partition": "v1.0"}, "v1.0"),
        ("at-{partition}", {"dagster/partition": "2013-01-01-05:00"}, "at-2013-01-01-05-00-b92c42fc"),
        ("{partition}", {"dagster/partition": "2013-01|a"}, "2013-01-a-7a7c36a9"),
        ("all-{backfill}", {"dagster/backfill": "abcdef"}, "all-abcdef"),
        ("to-{deployment}", {"dagster/deployment-name": "prod"}, "to-prod"),
        ("to-{deployment}", {"dagster/deployment-name": "a/b"}, "to-a-b-c14cddc0"),
        ("dev", {"graveler/branch": "mine"}, "mine"),
        ("run-{run}", {"graveler/branch": "mine"}, "mine"),
    ],
)
def test_the_branch_can_be_named(
    installation: Installation, instance: dg.DagsterInstance, template: str, tags: dict[str, str], expected: str
) -> None:
    assert run(instance, target(installation, template), tags)[1] == expected
    _, name, before = run(instance, target(installation, template), tags)
    assert (name, before) == (expected, expected)


@pytest.mark.parametrize(
    ("template", "tags", "is_created"),
    [("run-{run}", {}, True), ("develop", {}, True), ("run-{run}", {BRANCH_TAG: "develop"}, False)],
)
def test_a_run_tells_that_it_has_created_its_branch_although_a_process_died_after_it(
    installation: Installation, instance: dg.DagsterInstance, template: str, tags: dict[str, str], is_created: bool
) -> None:
    made_branches = []

    @dg.op
    def write(branch: GravelerBranch) -> None:
        made = branch.open_repository().create_branch(branch.name, source="main")
        made_branches.append(MarkedBranch(branch.name, str(made.record().uid)))
        branch.open_for_writing().put("a", b"1")

    @dg.job(resource_defs={"branch": target(installation, template)})
    def writing() -> None:
        write()

    assert writing.execute_in_process(instance=instance, tags=tags).success
    assert is_created_by_run(instance, "lake", made_branches[0]) is is_created


def test_a_run_has_not_created_a_branch_that_was_there_before_it(
    installation: Installation, instance: dg.DagsterInstance
) -> None:
    made = target(installation).open_repository().create_branch("develop", source="main")
    assert run(instance, target(installation, "develop"))[1] == "develop"
    assert not is_created_by_run(instance, "lake", MarkedBranch("develop", str(made.record().uid)))


def test_outside_of_a_run_it_is_the_published_branch(installation: Installation) -> None:
    assert target(installation).name == "main"
    assert target(installation).open_for_reading().ref == "main"


def test_a_branch_name_that_breaks_the_rules_is_refused(
    installation: Installation, instance: dg.DagsterInstance
) -> None:
    with pytest.raises(InvalidInput, match="a/b"):
        run(instance, target(installation), {"graveler/branch": "a/b"})


@pytest.mark.parametrize("template", ["{runs}", "{}", "run-{run", "{run.id}"])
def test_a_template_that_no_run_can_fill_is_refused(
    installation: Installation, instance: dg.DagsterInstance, graveler: Graveler, template: str
) -> None:
    with pytest.raises(dg.DagsterResourceFunctionError) as caught:
        run(instance, target(installation, template))
    assert str(caught.value.__cause__) == (
        f"branch {template!r}: the template may use only {{run}}, {{partition}}, {{backfill}} and {{deployment}}"
    )
    assert list(graveler.list_repositories()) == []


@pytest.mark.parametrize(
    ("template", "missing"),
    [("{partition}", "{partition}"), ("all-{backfill}-{run}", "{backfill}"), ("{deployment}", "{deployment}")],
)
def test_a_run_that_lacks_a_field_of_the_template_can_only_read(
    installation: Installation, instance: dg.DagsterInstance, graveler: Graveler, template: str, missing: str
) -> None:
    seen = []

    @dg.op
    def look(branch: GravelerBranch) -> None:
        seen.append((branch.name, branch.open_for_reading().ref, branch.measured("a")))
        branch.open_for_writing()

    @dg.job(resource_defs={"branch": target(installation, template)})
    def looking() -> None:
        look()

    with pytest.raises(InvalidInput) as caught:
        looking.execute_in_process(instance=instance)
    assert f"branch {template!r}: the template uses {missing}, which this run does not have" in str(caught.value)
    head = graveler.repository("lake").commit("main").id
    assert seen == [("main", head, {"graveler/branch": "main"})]
    assert [branch.id for branch in graveler.repository("lake").branches()] == ["main"]


def test_a_field_that_is_none_is_refused(installation: Installation) -> None:
    graveler = GravelerResource(url=installation.store)
    with pytest.raises(ValidationError, match="brunch"):
        GravelerBranch(graveler=graveler, repository="lake", storage_root=installation.data, brunch="dev")


def test_an_empty_name_does_not_stand_for_the_published_branch(
    installation: Installation, instance: dg.DagsterInstance
) -> None:
    with pytest.raises(InvalidInput, match="branch name ''"):
        run(instance, target(installation, ""))


def test_a_repository_that_another_process_is_creating_is_waited_for(
    installation: Installation, graveler: Graveler, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Waiting(Exception):
        """The resource waits."""

    def wait(seconds: float) -> None:
        raise Waiting

    def interrupted(*args: Any) -> None:
        with pytest.raises(Waiting):
            target(installation).open_repository()
        finish(*args)

    finish = creation._first_commit
    monkeypatch.setattr(creation, "_first_commit", interrupted)
    monkeypatch.setattr(graveler_branch, "time", SimpleNamespace(sleep=wait))
    made = graveler.create_repository("lake", f"{installation.data}/lake")
    assert target(installation).open_repository().uid == made.uid


def test_a_namespace_in_use_is_said_so(installation: Installation, graveler: Graveler) -> None:
    graveler.create_repository("other", f"{installation.data}/lake")
    with pytest.raises(NotUnique) as caught:
        target(installation).open_repository()
    assert caught.value.kind is Kind.NamespaceInUse


def test_content_in_memory_is_refused_unless_asked_for(installation: Installation) -> None:
    graveler = GravelerResource(url=installation.store)
    place = {"graveler": graveler, "repository": "passing", "storage_root": "memory://passing"}
    with pytest.raises(InvalidInput, match="ephemeral"):
        GravelerBranch(**place).open_repository()
    assert GravelerBranch(**place, ephemeral=True).open_repository().id == "passing"
