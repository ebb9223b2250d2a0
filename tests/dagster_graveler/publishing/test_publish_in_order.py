"""Several repositories in one job: all verdicts first, then one merge after the other, and a retry that goes on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster._core.definitions.sensor_definition import SensorExecutionData

from dagster_graveler import PublishTarget, publish_in_order
from dagster_graveler.publishing import ops
from dagster_graveler.run_tags import MarkedBranch, branch_mark
from graveler_core import connect
from graveler_core.errors import PermissionDenied, SlowDown
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.model import protection
from tests.dagster_graveler.publishing import shop
from tests.dagster_graveler.publishing.shop import PUBLISH, TABLES
from tests.dagster_graveler.publishing.small_lake import failures

ASSETS = tuple(f"all_{name}" for name in TABLES)


class Shop:
    """The pipeline of two repositories on a store and an instance of its own."""

    def __init__(self, directory: Path, instance: dg.DagsterInstance, graveler: Graveler) -> None:
        self.instance = instance
        self._graveler = graveler
        self._place = f"sqlite:///{directory / 'meta.db'}", (directory / "data").as_uri()
        self.use()

    def use(self, **options: Any) -> None:
        """Define the pipeline with other options."""
        self.definitions = shop.shop(*self._place, **options)

    def run(self, *assets: str | dg.AssetKey, tags: dict[str, str] | None = None, **delivered: str) -> Any:
        """Run everything as the job, or some assets as the UI launches them."""
        shop.DELIVERED.clear()
        shop.DELIVERED.update(delivered)
        definitions, name = self.definitions, "shop_job"
        if assets:
            name = "selected"
            chosen = dg.define_asset_job(name, dg.AssetSelection.assets(*assets))
            definitions = dg.Definitions.merge(definitions, dg.Definitions(jobs=[chosen]))
        return definitions.resolve_job_def(name).execute_in_process(
            instance=self.instance, tags=tags or {}, raise_on_error=False
        )

    def repository(self, name: str) -> Repository:
        return self._graveler.repository(name)

    def published(self) -> dict[str, str]:
        """Return what is published, by repository."""
        found = {name: self.repository(name).at("main") for name in TABLES}
        return {name: at.read(f"all_{name}/content").decode() for name, at in found.items() if list(at.list())}

    def branches(self) -> dict[str, list[str]]:
        return {name: [b.id for b in self.repository(name).branches() if b.id != "main"] for name in TABLES}

    def metadata(self, key: dg.AssetKey = PUBLISH) -> dict[str, Any]:
        event = self.instance.get_latest_materialization_event(key)
        assert event is not None
        assert event.asset_materialization is not None
        return {name: value.value for name, value in event.asset_materialization.metadata.items()}

    def tick(self, name: str) -> SensorExecutionData:
        """Run a tick of the sensor of one repository, and store its events as the daemon does."""
        sensors = {sensor.name: sensor for sensor in self.definitions.sensors or ()}
        sensor = sensors[f"{name}__main__kept_branches"]
        assert isinstance(sensor, dg.SensorDefinition)
        resources = {key: (self.definitions.resources or {})[key] for key in TABLES}
        with dg.build_sensor_context(self.instance, resources=resources) as context:
            result = sensor.evaluate_tick(context)
        for event in result.asset_events:
            assert not isinstance(event, dg.AssetCheckEvaluation)
            self.instance.report_runless_asset_event(event)
        return result


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Shop]:
    with dg.DagsterInstance.ephemeral() as instance, connect(f"sqlite:///{tmp_path / 'meta.db'}") as graveler:
        yield Shop(tmp_path, instance, graveler)
    shop.DELIVERED.clear()


def test_the_targets_are_merged_in_the_declared_order(made: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    merged, real = [], Repository.merge
    monkeypatch.setattr(
        Repository, "merge", lambda self, *args, **options: (merged.append(self.id), real(self, *args, **options))[1]
    )
    assert made.run().success
    assert merged == list(TABLES)
    assert made.published() == {"customers": "good", "orders": "good"}
    assert made.branches() == {"customers": [], "orders": []}
    shown = made.metadata()
    assert shown["graveler/state"] == "published"
    for name in TABLES:
        head = made.repository(name).commit("main")
        assert shown[f"commit of {name}/main"] == head.id
        assert head.metadata["publication"] == "shop"
        assert head.metadata["tables"] == f"all_{name}"
        assert made.metadata(dg.AssetKey([name, "main"]))["commit"] == head.id


@pytest.mark.parametrize("bad", TABLES)
def test_one_refusal_holds_all_back(made: Shop, bad: str) -> None:
    result = made.run(*ASSETS, **{bad: "bad"})
    assert not result.success
    kept = made.branches()
    assert [len(branches) for branches in kept.values()] == [1, 1]
    result = made.run(PUBLISH)
    assert not result.success
    (said,) = failures(result)
    other = next(name for name in TABLES if name != bad)
    assert f"kept: branch {kept[bad][0]!r} of repository {bad!r} is not published." in said
    assert f"check good of all_{bad}: failed" in said
    assert f"Not published, because another branch was refused: {kept[other][0]!r} of repository {other!r}." in said
    assert made.published() == {}
    assert made.branches() == kept
    assert made.run(f"all_{bad}").success  # repaired, on the branch that was kept
    assert made.branches() == kept
    assert made.run(PUBLISH).success
    assert made.published() == {"customers": "good", "orders": "good"}


def test_a_conflict_of_the_second_target_holds_the_first_back(made: Shop) -> None:
    assert made.run(*ASSETS).success
    main = made.repository("orders").branch("main")
    main.put("all_orders/content", b"by hand")
    main.commit("by hand")
    result = made.run(PUBLISH)
    assert not result.success
    (said,) = failures(result)
    assert "of repository 'orders' is not published." in said
    assert "another run published the same data meanwhile" in said
    assert made.published() == {"orders": "by hand"}


@pytest.mark.parametrize("after", [False, True], ids=["refused", "done-all-the-same"])
def test_a_retry_goes_on_where_it_stopped(made: Shop, fail_second_merge: Any, after: bool) -> None:
    merges = fail_second_merge(SlowDown("busy"), after)
    assert made.run().success
    assert merges == ["customers", "orders", "customers", "orders"]
    assert [len(list(made.repository(name).log("main", first_parent=True))) for name in TABLES] == [2, 2]
    published = made.instance.fetch_materializations(dg.AssetKey(["customers", "main"]), limit=10).records
    assert len(published) == 1


def test_what_was_published_before_a_failure_stays_and_is_told(made: Shop, fail_second_merge: Any) -> None:
    fail_second_merge(PermissionDenied("not you"), False)
    result = made.run()
    assert not result.success
    (said,) = failures(result)
    first = made.repository("customers").commit("main").id
    assert f"Already published, and not undone: customers/main as commit {first}" in said
    assert made.published() == {"customers": "good"}
    assert made.metadata(dg.AssetKey(["customers", "main"]))["commit"] == first  # the catalog says so
    assert made.run(PUBLISH).success
    assert made.published() == {"customers": "good", "orders": "good"}
    assert made.repository("customers").commit("main").id == first
    assert made.branches() == {"customers": [], "orders": []}


@pytest.fixture
def fail_second_merge(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Make the first merge of the second repository fail, before or after it was made; gives the list of merges."""

    def arrange(error: Exception, after: bool) -> list[str]:
        real, calls = Repository.merge, []

        def failing(self: Repository, *args: Any, **options: Any) -> Any:
            calls.append(self.id)
            fails = calls.count(TABLES[1]) == 1 and self.id == TABLES[1]
            if fails and not after:
                raise error
            result = real(self, *args, **options)
            if fails:
                raise error
            return result

        monkeypatch.setattr(Repository, "merge", failing)
        return calls

    return arrange


def test_a_user_names_the_branches_of_all_repositories_by_one_tag(made: Shop) -> None:
    for name in TABLES:
        assert made.run(f"all_{name}", tags={"graveler/branch": "work"}).success
    assert made.branches() == {"customers": ["work"], "orders": ["work"]}
    assert made.run(PUBLISH, tags={"graveler/branch": "work"}).success
    assert made.published() == {"customers": "good", "orders": "good"}


def test_a_target_without_changes_is_left_as_it_is(made: Shop) -> None:
    assert made.run("all_orders", PUBLISH).success
    assert made.published() == {"orders": "good"}
    assert made.metadata()["graveler/state"] == "published"
    assert made.run(PUBLISH).success
    assert made.metadata()["graveler/state"] == "nothing to publish"


def test_the_sensor_of_the_first_target_publishes_and_all_report(made: Shop) -> None:
    assert made.run("all_orders").success
    (event,) = made.tick("orders").asset_events
    assert "table all_customers was not materialized" in str(event.description)
    assert made.run("all_orders", "all_customers", orders="bad").success is False
    requests = [made.tick(name).run_requests or [] for name in TABLES]
    assert requests == [[], []]
    assert made.run("all_orders").success
    (request,) = made.tick("customers").run_requests or ()
    assert not made.tick("orders").run_requests
    assert made.run(*(request.asset_selection or ()), tags=dict(request.tags)).success
    assert made.published() == {"customers": "good", "orders": "good"}


def test_published_branches_that_a_run_used_at_the_end_are_deleted_by_the_sensors(
    made: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert made.run(*ASSETS).success
    (request,) = made.tick("customers").run_requests or ()
    with monkeypatch.context() as used:
        used.setattr(ops, "is_in_use", lambda *_, **besides: True)
        assert made.run(*(request.asset_selection or ()), tags=dict(request.tags)).success
    assert all(made.branches().values())
    for name in TABLES:
        assert not made.tick(name).asset_events
    assert made.branches() == {"customers": [], "orders": []}


def test_a_rule_that_one_repository_cannot_store_holds_all_merges_back(
    made: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    made.use(require=True)
    assert made.run(*ASSETS).success
    made.repository("orders").require_checks("release-*", ["other"])
    with monkeypatch.context() as limited:
        limited.setattr(protection, "MAX_REQUIRED", 1)
        (said,) = failures(made.run(PUBLISH))
    assert "its checks cannot be required of branch 'main': required checks: has 2 names" in said
    assert made.published() == {}
    assert made.run(PUBLISH).success
    assert made.repository("customers").required_checks() == {"main": ("all_customers/good",)}


def test_a_rule_that_cannot_be_stored_after_a_merge_does_not_hold_the_other_merges_back(
    made: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    made.use(require=True)
    real = Repository.require_checks

    def require_checks(self: Repository, *args: Any, **options: Any) -> Any:
        if self.id == "customers" and not options["dry_run"]:
            raise PermissionDenied("the permission was taken away")
        return real(self, *args, **options)

    monkeypatch.setattr(Repository, "require_checks", require_checks)
    assert made.run().success
    assert made.published() == {"customers": "good", "orders": "good"}
    assert "the permission was taken away" in made.metadata()["required checks of customers/main"]
    assert "required checks of orders/main" not in made.metadata()


def test_a_branch_of_a_user_in_another_repository_is_a_reason_to_keep(made: Shop) -> None:
    assert made.run().success
    made.repository("orders").create_branch("work", source="main")
    assert made.run(*ASSETS, tags={"graveler/branch": "work"}, orders="new").success
    result = made.tick("customers")
    assert not result.run_requests
    (event,) = result.asset_events
    assert "repository orders: branch work was not created by a run" in str(event.description)
    assert not made.tick("orders").asset_events
    assert made.run(PUBLISH, tags={"graveler/branch": "work"}).success
    assert made.branches() == {"customers": [], "orders": ["work"]}


def test_a_refusal_of_another_repository_is_a_reason_to_keep(made: Shop) -> None:
    assert not made.run(orders="bad").success
    (event,) = made.tick("customers").asset_events
    assert "repository orders: check good of all_orders: failed" in str(event.description)
    assert not made.tick("customers").asset_events  # it is reported once


def test_a_branch_that_a_run_uses_in_another_repository_holds_the_decision_back(made: Shop) -> None:
    assert made.run(*ASSETS).success
    (branch,) = made.branches()["orders"]
    tags = branch_mark("orders", MarkedBranch(branch, str(made.repository("orders").branch(branch).record().uid)))
    job = made.definitions.resolve_job_def("shop_job")
    working = made.instance.create_run_for_job(job, tags=tags, status=dg.DagsterRunStatus.STARTED)
    for name in TABLES:
        result = made.tick(name)
        assert (result.run_requests or [], result.asset_events) == ([], [])
    made.instance.report_run_failed(working)
    assert made.tick("customers").run_requests


def test_targets_that_cannot_be_told_apart_are_refused() -> None:
    one = shop.target("customers")
    cases: list[tuple[dict[str, Any], str]] = [
        ({"targets": []}, "targets must not be empty"),
        ({"targets": [one, shop.target("orders")]}, "several targets need a key"),
        ({"targets": [one], "key": "shop"}, "key must be omitted or equal to the key of the target"),
        ({"targets": [one, one], "key": "shop"}, "'customers/main' is given twice"),
        (
            {"targets": [one, PublishTarget(key="x", tables=[_table("x")], branch="customers")], "key": "shop"},
            "'customers' is given twice",
        ),
    ]
    for arguments, said in cases:
        with pytest.raises(dg.DagsterInvalidDefinitionError, match=said):
            publish_in_order(**arguments)


def test_two_targets_in_one_repository_are_refused(made: Shop) -> None:
    resources = dict(made.definitions.resources or {})
    resources["orders"] = resources["customers"]
    definitions = dg.Definitions(
        assets=made.definitions.assets, asset_checks=made.definitions.asset_checks, jobs=made.definitions.jobs,
        resources=resources,
    )  # fmt: skip
    result = definitions.resolve_job_def("shop_job").execute_in_process(instance=made.instance, raise_on_error=False)
    assert not result.success
    assert "'customers' is the repository of several targets" in next(failures(result))


def _table(name: str) -> dg.AssetsDefinition:
    @dg.asset(name=name)
    def made() -> str:
        return name

    return made
