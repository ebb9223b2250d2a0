"""`GravelerLakeComponent`: what `defs.yaml` becomes, and that it publishes and refuses."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl
import pytest
from dagster.components.testing.utils import component_defs

from dagster_graveler.components import GravelerLakeComponent
from dagster_graveler.components.lake import LakeTable
from dagster_graveler.storage import CHECK, storage_key
from graveler_core import connect
from graveler_core.facade.graveler import Graveler
from tests.dagster_graveler.components import lake_functions

HERE = "tests.dagster_graveler.components.lake_functions"
ORDERS: dict[str, Any] = {
    "asset": {"key": "orders", "owners": ["team:shop"]},
    "function": f"{HERE}.orders",
    "checks": [{"type": "unique", "columns": ["id"]}, {"type": "function", "function": f"{HERE}.few"}],
}
TOTALS: dict[str, Any] = {
    "asset": {"key": "shop/totals", "group_name": "numbers"},
    "function": f"{HERE}.totals",
    "inputs": {"rows": "orders"},
}


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Graveler]:
    monkeypatch.setenv("LAKE_STORE", f"sqlite:///{tmp_path / 'meta.db'}")
    lake_functions.ROWS.clear()
    with connect(f"sqlite:///{tmp_path / 'meta.db'}") as opened:
        yield opened


def lake(path: Path, *tables: Mapping[str, Any], **more: Any) -> dg.Definitions:
    """Return the definitions of a lake."""
    return component_defs(component=component(path, *tables, **more))


def component(path: Path, *tables: Mapping[str, Any], **more: Any) -> GravelerLakeComponent:
    attributes = {"store_env": "LAKE_STORE", "storage_root": (path / "data").as_uri(), "repository": "shop", **more}
    made: GravelerLakeComponent = GravelerLakeComponent.from_attributes_dict(
        attributes={**attributes, "tables": [dict(table) for table in tables or (ORDERS, TOTALS)]}
    )
    return made


def publish(defs: dg.Definitions, **options: Any) -> dg.ExecuteInProcessResult:
    job = defs.resolve_job_def("shop__main__job")
    return job.execute_in_process(raise_on_error=False, **options)


@pytest.mark.ci
def test_the_tables_are_published_after_their_checks(tmp_path: Path, store: Graveler) -> None:
    defs = lake(tmp_path)
    with dg.DagsterInstance.ephemeral() as instance:
        assert publish(defs, instance=instance).success
        main = store.repository("shop").at("main")
        assert [entry.path for entry in main.list()] == ["orders/part-00000.parquet", "shop/totals/part-00000.parquet"]
        assert pl.read_parquet(main.read("shop/totals/part-00000.parquet"))["total"].to_list() == [3]
        lake_functions.ROWS["orders"] = [7, 7]
        result = publish(defs, instance=instance)
        assert not result.success
        failed = [each.check_name for each in result.get_asset_check_evaluations() if not each.passed]
        assert failed == ["unique"]
        head = store.repository("shop").commit("main").id
        assert [commit.id for commit in store.repository("shop").log("main", limit=1)] == [head]
        assert pl.read_parquet(store.repository("shop").at("main").read("orders/part-00000.parquet")).height == 2


def test_the_path_of_a_table_may_begin_and_end_with_a_slash(tmp_path: Path, store: Graveler) -> None:
    orders = {**ORDERS, "asset": {"key": "orders", "metadata": {"graveler/path": "/raw/orders/"}}}
    with dg.DagsterInstance.ephemeral() as instance:
        assert publish(lake(tmp_path, orders), instance=instance).success
    main = store.repository("shop").at("main")
    assert [entry.path for entry in main.list()] == ["raw/orders/part-00000.parquet"]


def test_the_assets_have_what_the_file_says(tmp_path: Path) -> None:
    graph = lake(tmp_path).resolve_asset_graph()
    orders, totals = graph.get(dg.AssetKey("orders")), graph.get(dg.AssetKey(["shop", "totals"]))
    assert (orders.group_name, totals.group_name) == ("shop", "numbers")
    assert orders.owners == ["team:shop"]
    assert orders.description == "Orders, as they were delivered."
    assert totals.parent_keys == {orders.key}
    publication = graph.get(dg.AssetKey(["shop", "main", "publish"]))
    assert publication.parent_keys == {orders.key, totals.key}
    assert {key.name for key in graph.asset_check_keys if key.asset_key == orders.key} == {"unique", "few"}


def test_maintenance_is_on_unless_it_is_turned_off(tmp_path: Path) -> None:
    upkeep = {"compaction", "compaction_failed", "sealed_tokens", "leftovers", "shop_branches_moved"}
    kept = {"shop__main__kept_branches"}

    def names(defs: dg.Definitions) -> set[str]:
        return {sensor.name for sensor in defs.sensors or ()}

    assert names(lake(tmp_path)) == upkeep | kept
    assert names(lake(tmp_path, maintenance=False)) == kept
    assert names(lake(tmp_path, maintenance={"store": False})) == {"shop_branches_moved"} | kept


def collection_config(defs: dg.Definitions) -> dict[str, Any]:
    """Return the configuration of the collections that the schedule starts."""
    given: Any = defs.resolve_job_def("shop_collection").run_config
    config: dict[str, Any] = given["ops"]["collect"]["config"]
    return config


def test_schedules_are_on_and_content_is_deleted_only_if_asked_for(tmp_path: Path) -> None:
    defs = lake(tmp_path)
    schedules = {schedule.name: schedule for schedule in defs.get_repository_def().schedule_defs}
    own = {f"shop_{name}_schedule" for name in ("pressure", "sweep", "collection", "deliver_hooks")}
    assert schedules.keys() == {"cleaning_schedule", "namespaces_schedule", *own}
    assert all(each.default_status is dg.DefaultScheduleStatus.RUNNING for each in schedules.values())
    assert collection_config(defs) == {
        "repository": "shop",
        "dry_run": True,
        "grace_hours": 168.0,
        "allowed_share": 0.2,
    }
    opted_in = lake(tmp_path, maintenance={"delete_content": True, "grace_days": 30})
    assert collection_config(opted_in) == {
        "repository": "shop",
        "dry_run": False,
        "grace_hours": 720.0,
        "allowed_share": 0.2,
    }
    for given, dry_run, hours in ((defs, True, 168.0), (opted_in, False, 720.0)):
        config: Any = given.resolve_job_def("namespaces_job").run_config
        assert config["ops"]["empty_namespaces"]["config"] == {"dry_run": dry_run, "grace_hours": hours}
    check = opted_in.resolve_asset_graph().get_check_spec(dg.AssetCheckKey(storage_key("shop"), CHECK))
    assert check.description == "At most 20% of the bytes of content are no longer needed."
    with pytest.raises(Exception, match="grace_days"):
        lake(tmp_path, maintenance={"grace_days": 0.5})


@pytest.mark.parametrize("executor", ["in_process", "multiprocess"])
def test_the_executor_of_the_job_is_an_option(tmp_path: Path, executor: str) -> None:
    job = lake(tmp_path, executor=executor).resolve_job_def("shop__main__job")
    assert job.executor_def.name == executor
    with pytest.raises(Exception, match="executor"):
        lake(tmp_path, executor="threads")


def test_the_executor_is_that_of_the_project_by_default(tmp_path: Path) -> None:
    project = dg.Definitions.merge(lake(tmp_path), dg.Definitions(executor=dg.in_process_executor))
    assert project.resolve_job_def("shop__main__job").executor_def is dg.in_process_executor


def test_the_store_is_named_by_a_variable(tmp_path: Path) -> None:
    found = (lake(tmp_path).resources or {})["graveler"]
    assert found.process_config_and_initialize is not None
    assert repr(found.url) == repr(dg.EnvVar("LAKE_STORE"))


def test_two_lakes_share_a_store(tmp_path: Path) -> None:
    one = lake(tmp_path, ORDERS)
    maintained = {"store": False}
    other = lake(tmp_path, {**TOTALS, "inputs": {"rows": "orders"}}, repository="other", maintenance=maintained)
    merged = dg.Definitions.merge(one, other)
    assert {"graveler", "shop_branch", "other_branch"} <= (merged.resources or {}).keys()
    dg.Definitions.validate_loadable(merged)


@pytest.mark.ci
def test_names_may_have_hyphens_and_dots(tmp_path: Path, store: Graveler) -> None:
    orders = {**ORDERS, "asset": {"key": "daily-orders"}, "checks": ORDERS["checks"][:1]}
    totals = {**TOTALS, "inputs": {"rows": "daily-orders"}}
    defs = lake(tmp_path, orders, totals, repository="my-shop", into="release-1.0")
    dg.Definitions.validate_loadable(defs)
    assert {"my_shop_branch", "my_shop_io_manager"} <= (defs.resources or {}).keys()
    assert "my_shop__release_1_0__kept_branches" in {sensor.name for sensor in defs.sensors or ()}
    job = defs.resolve_job_def("my_shop__release_1_0__job")
    with dg.DagsterInstance.ephemeral() as instance:
        assert job.execute_in_process(instance=instance).success
    main = store.repository("my-shop").at("release-1.0")
    assert [e.path for e in main.list()] == ["daily-orders/part-00000.parquet", "shop/totals/part-00000.parquet"]


@pytest.mark.ci
def test_partitions_and_the_publication_are_options(tmp_path: Path, store: Graveler) -> None:
    table = {"asset": {"key": "months"}, "function": f"{HERE}.months"}
    partitions = {"type": "monthly", "start": "2013-01", "end": "2013-04", "format": "%Y-%m"}
    publication = {"asset": "lake/published", "mode": "asset", "warn": "allow", "keep_days": 3}
    defs = lake(tmp_path, table, partitions=partitions, publish=publication, branch="load-{partition}", into="trunk")
    node = defs.resolve_asset_graph().get(dg.AssetKey("months"))
    assert node.partitions_def == dg.MonthlyPartitionsDefinition("2013-01", end_date="2013-04", fmt="%Y-%m")
    assert node.backfill_policy == dg.BackfillPolicy.single_run()
    job = defs.resolve_job_def("lake__published__job")
    with dg.DagsterInstance.ephemeral() as instance:
        assert job.execute_in_process(partition_key="2013-02", instance=instance).success
        (run,) = instance.get_runs()
    assert run.tags["graveler/branch"] == "load-2013-02"
    at = store.repository("shop").at("trunk")
    assert [entry.path for entry in at.list()] == ["months/month=2013-02/part-00000.parquet"]
    assert timedelta(days=component(tmp_path, table, publish=publication).publish.keep_days) == timedelta(days=3)


@pytest.mark.ci
def test_a_subclass_changes_assets_and_execution(tmp_path: Path, store: Graveler) -> None:
    executed: list[str] = []

    class Audited(GravelerLakeComponent):
        def get_asset_spec(self, table: LakeTable) -> dg.AssetSpec:
            return super().get_asset_spec(table).merge_attributes(tags={"audited": "yes"})

        def execute(self, table: LakeTable, *args: Any, **kwargs: Any) -> Any:
            executed.append(table.asset.key.to_user_string())
            return super().execute(table, *args, **kwargs)

    attributes = {"store_env": "LAKE_STORE", "storage_root": (tmp_path / "data").as_uri(), "repository": "shop"}
    defs = component_defs(component=Audited.from_attributes_dict(attributes={**attributes, "tables": [ORDERS, TOTALS]}))
    assert defs.resolve_asset_graph().get(dg.AssetKey("orders")).tags["audited"] == "yes"
    with dg.DagsterInstance.ephemeral() as instance:
        assert publish(defs, instance=instance).success
    assert executed == ["orders", "shop/totals"]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("nowhere.orders", "function 'nowhere.orders': No module named 'nowhere'"),
        (f"{HERE}.absent", f"module '{HERE}' has no function 'absent'"),
        (f"{HERE}.NOT_A_FUNCTION", f"module '{HERE}' has no function 'NOT_A_FUNCTION'"),
        ("orders", "function 'orders': must be a path such as my_project.tables.orders, or .tables.orders"),
    ],
)
def test_a_wrong_function_is_named(tmp_path: Path, function: str, message: str) -> None:
    with pytest.raises(Exception, match="function") as raised:
        lake(tmp_path, {**ORDERS, "function": function})
    assert message in str(raised.value)


def test_an_unknown_field_is_named(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="colour"):
        lake(tmp_path, {**ORDERS, "colour": "red"})
