"""Results of checks name the branch that was measured, whatever kind of function their author wrote."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from dagster_graveler.io_managers.graveler import GravelerIOManager
from dagster_graveler.publishing.write_audit_publish import write_audit_publish
from dagster_graveler.resources.graveler import GravelerResource
from dagster_graveler.resources.graveler_branch import GravelerBranch


@dg.asset(metadata={"graveler/path": "letters"})
def letters() -> str:
    return "abc"


@dg.asset
def digits() -> str:
    return "123"


@dg.asset_check(asset=letters, blocking=True)
def returned(letters: str) -> dg.AssetCheckResult:
    return dg.AssetCheckResult(passed=letters == "abc", metadata={"length": len(letters)})


@dg.asset_check(asset=letters)
def named_by_its_author() -> dg.AssetCheckResult:
    return dg.AssetCheckResult(passed=True, metadata={"graveler/branch": "mine"})


class Limit(dg.Config):
    """Configuration of a check."""

    length: int = 3


@dg.asset_check(asset=letters)
def configured(context: dg.AssetCheckExecutionContext, config: Limit, branch: dg.ResourceParam[GravelerBranch]) -> Any:
    text = branch.open_for_reading().read("letters/content").decode()
    context.log.info("read")
    return dg.AssetCheckResult(passed=len(text) == config.length)


@dg.asset_check(asset=letters)
def in_an_op(context: dg.OpExecutionContext) -> dg.AssetCheckResult:
    context.log.info("measured")
    return dg.AssetCheckResult(passed=True)


@dg.asset_check(asset=letters)
async def awaited() -> dg.AssetCheckResult:
    return dg.AssetCheckResult(passed=True)


@dg.multi_asset_check(specs=[dg.AssetCheckSpec("first", asset=letters), dg.AssetCheckSpec("second", asset=digits)])
def yielded() -> Iterator[dg.AssetCheckResult]:
    yield dg.AssetCheckResult(passed=True, check_name="first", asset_key="letters")
    yield dg.AssetCheckResult(passed=True, check_name="second", asset_key="digits")


@dg.multi_asset_check(specs=[dg.AssetCheckSpec("third", asset=letters), dg.AssetCheckSpec("fourth", asset=digits)])
async def yielded_later():  # type: ignore[no-untyped-def]  # Dagster takes no annotation here
    yield dg.AssetCheckResult(passed=True, check_name="third", asset_key="letters")
    yield dg.AssetCheckResult(passed=True, check_name="fourth", asset_key="digits")


@dg.multi_asset_check(
    specs=[dg.AssetCheckSpec("fifth", asset=letters), dg.AssetCheckSpec("sixth", asset=digits)], can_subset=True
)
def chosen(context: dg.AssetCheckExecutionContext) -> Iterator[dg.AssetCheckResult]:
    for key in context.selected_asset_check_keys:
        yield dg.AssetCheckResult(passed=True, check_name=key.name, asset_key=key.asset_key)


CHECKS = [returned, named_by_its_author, configured, in_an_op, awaited, yielded, yielded_later, chosen]


@pytest.fixture
def branch(tmp_path: Path) -> GravelerBranch:
    graveler = GravelerResource(url=f"sqlite:///{tmp_path / 'meta.db'}")
    root = (tmp_path / "data").as_uri()
    return GravelerBranch(graveler=graveler, repository="lake", storage_root=root, branch="work")


def definitions(branch: GravelerBranch) -> dg.Definitions:
    resources = {"io_manager": GravelerIOManager(branch=branch), "branch": branch}
    published = write_audit_publish(tables=[letters, digits], checks=CHECKS, key="lake", job="publish")
    return dg.Definitions.merge(published, dg.Definitions(resources=resources, executor=dg.in_process_executor))


def test_every_kind_of_check_names_the_branch_and_the_content(branch: GravelerBranch) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        result = definitions(branch).resolve_job_def("publish").execute_in_process(instance=instance)
        assert result.success
        wanted = {}
        for name in ("letters", "digits"):
            (written,) = result.asset_materializations_for_node(name)
            wanted[name] = {key: written.metadata[key].value for key in ("graveler/branch", "graveler/content")}
    assert {values["graveler/branch"] for values in wanted.values()} == {"work"}
    shown = {
        each.check_name: (each.asset_key.to_user_string(), {key: value.value for key, value in each.metadata.items()})
        for each in result.get_asset_check_evaluations()
    }
    assert shown.pop("returned") == ("letters", {**wanted["letters"], "length": 3})
    assert shown.pop("named_by_its_author") == ("letters", {**wanted["letters"], "graveler/branch": "mine"})
    assert set(shown) == {"configured", "in_an_op", "awaited", "first", "second", "third", "fourth", "fifth", "sixth"}
    for name, (table, metadata) in shown.items():
        assert metadata == wanted[table], name


def test_the_content_is_that_before_the_check_ran(branch: GravelerBranch) -> None:
    @dg.asset_check(asset=letters)
    def meddler(branch: dg.ResourceParam[GravelerBranch]) -> dg.AssetCheckResult:
        branch.open_for_writing().put("letters/more", b"x")
        return dg.AssetCheckResult(passed=True)

    resources = {"io_manager": GravelerIOManager(branch=branch), "branch": branch}
    published = write_audit_publish(tables=[letters], checks=[meddler], key="lake", job="publish")
    defs = dg.Definitions.merge(published, dg.Definitions(resources=resources, executor=dg.in_process_executor))
    with dg.DagsterInstance.ephemeral() as instance:
        result = defs.resolve_job_def("publish").execute_in_process(instance=instance, raise_on_error=False)
    (written,) = result.asset_materializations_for_node("letters")
    (evaluation,) = result.get_asset_check_evaluations()
    assert evaluation.metadata["graveler/content"] == written.metadata["graveler/content"]


def test_the_content_is_that_before_the_input_was_loaded(
    branch: GravelerBranch, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = GravelerIOManager.load_input

    def overtaken(self: GravelerIOManager, context: dg.InputContext) -> Any:
        value = real(self, context)
        self.branch.open_for_writing().put("letters/more", b"x")
        return value

    monkeypatch.setattr(GravelerIOManager, "load_input", overtaken)
    resources = {"io_manager": GravelerIOManager(branch=branch), "branch": branch}
    published = write_audit_publish(tables=[letters], checks=[returned], key="lake", job="publish")
    defs = dg.Definitions.merge(published, dg.Definitions(resources=resources, executor=dg.in_process_executor))
    with dg.DagsterInstance.ephemeral() as instance:
        result = defs.resolve_job_def("publish").execute_in_process(instance=instance, raise_on_error=False)
    (written,) = result.asset_materializations_for_node("letters")
    (evaluation,) = result.get_asset_check_evaluations()
    assert evaluation.metadata["graveler/content"] == written.metadata["graveler/content"]


def test_some_checks_of_one_function_can_be_selected(branch: GravelerBranch) -> None:
    defs = definitions(branch)
    sixth = dg.AssetSelection.checks(dg.AssetCheckKey(dg.AssetKey("digits"), "sixth"))
    job = dg.define_asset_job("one", dg.AssetSelection.assets("digits").without_checks() | sixth)
    with dg.DagsterInstance.ephemeral() as instance:
        merged = dg.Definitions.merge(defs, dg.Definitions(jobs=[job]))
        result = merged.resolve_job_def("one").execute_in_process(instance=instance)
    assert [each.check_name for each in result.get_asset_check_evaluations()] == ["sixth"]
    (evaluation,) = result.get_asset_check_evaluations()
    assert evaluation.metadata["graveler/branch"].value == "work"


def test_definitions_of_the_author_do_not_change(branch: GravelerBranch) -> None:
    before = [(check.check_keys, check.node_def) for check in CHECKS]
    found = definitions(branch)
    assert [(check.check_keys, check.node_def) for check in CHECKS] == before
    by_key = {key: check for check in found.asset_checks or () for key in check.check_keys}
    for check in CHECKS:
        for key in check.check_keys:
            assert by_key[key].get_spec_for_check_key(key) == check.get_spec_for_check_key(key)
            assert by_key[key].op.tags == check.op.tags
            assert by_key[key].op.name == check.op.name
