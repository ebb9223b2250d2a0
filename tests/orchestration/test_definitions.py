"""The code location: light to import, whole, wired as promised."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import dagster as dg
import yaml

from dagster_graveler.resources.graveler import GravelerResource

ROOT = Path(__file__).resolve().parents[2]
LOADED = """
import json, sys
opened, watched = [], {"sqlite3.connect", "socket.connect", "socket.bind"}
sys.addaudithook(lambda event, args: opened.append(event) if event in watched else None)
import orchestration.definitions
from pyspark import SparkContext
print(json.dumps([opened, SparkContext._active_spark_context is not None, sorted(sys.modules)]))
"""


def test_importing_connects_to_nothing_and_stays_light() -> None:
    ran = subprocess.run([sys.executable, "-W", "error", "-c", LOADED], capture_output=True, text=True, check=True)
    opened, started, modules = json.loads(ran.stdout)
    assert opened == []
    assert not started
    assert not {
        "graveler_core.wiring",
        "graveler_core.kv.backends.sqlite.store",
        "matplotlib",
        "pandas",
        "polars",
    } & set(modules)


def test_the_definitions_can_be_loaded() -> None:
    from orchestration.definitions import defs

    dg.Definitions.validate_loadable(defs)
    job = defs.resolve_job_def("flights_pipeline")
    assert {"flights__main.commit", "raw_flights", "cleaned_flights_checks"} <= {
        str(handle).replace("/", ".") for handle in ["flights__main.commit", *(n.name for n in job.nodes)]
    }
    assert job.partitions_def is not None
    assert job.partitions_def.get_partition_keys() == [f"2013-{month:02}" for month in range(1, 13)]


def test_commit_merge_and_compaction_retry_with_backoff_and_jitter() -> None:
    from dagster_graveler.jobs.cleaning import make_cleaning_job
    from dagster_graveler.ops.collection import collect_content
    from dagster_graveler.ops.compaction import compact_branch
    from dagster_graveler.ops.hooks import deliver_hooks
    from dagster_graveler.ops.namespaces import empty_namespaces
    from dagster_graveler.ops.sweep import sweep_repository
    from dagster_graveler.ops.trimming import trim_reflog
    from dagster_graveler.publishing.groups import Publication, TableGroup
    from dagster_graveler.publishing.ops import commit_op, publish_op
    from dagster_graveler.publishing.publisher import MergeTarget, Publisher

    cleaning = make_cleaning_job(GravelerResource(url="memory://")).nodes
    assert len(cleaning) == 3
    group = TableGroup(dg.AssetKey("main"), ())
    publisher = Publisher(Publication(group.key, (group,)), (MergeTarget(group, "branch"),), "pool")
    upkeep = (compact_branch, collect_content, sweep_repository, trim_reflog, empty_namespaces, deliver_hooks)
    own = (commit_op(publisher), publish_op(publisher), *upkeep)
    for op in (*own, *(node.definition for node in cleaning)):
        policy = op.retry_policy  # type: ignore[attr-defined]
        assert policy is not None
        assert (policy.backoff, policy.jitter) == (dg.Backoff.EXPONENTIAL, dg.Jitter.FULL)


def test_every_check_of_the_pipeline_blocks() -> None:
    from orchestration.definitions import defs

    specs = [spec for checks in defs.asset_checks or () for spec in checks.check_specs]  # type: ignore[union-attr]
    upkeep = {dg.AssetKey(key) for key in (["flights", "pressure"], ["flights", "storage"], ["graveler", "leftovers"])}
    assert len(specs) == 12
    assert all(spec.blocking == (spec.asset_key not in upkeep) for spec in specs)


def test_the_pipeline_is_the_flights_alone() -> None:
    from orchestration.definitions import defs

    job = defs.resolve_job_def("flights_pipeline")
    made = {key.to_user_string() for key in job.asset_layer.executable_asset_keys}
    assert made == {"raw_flights", "raw_weather", "cleaned_flights", "daily_delays", "flights/main/publish"}


def test_sensors_and_schedules_are_on_and_content_is_not_deleted() -> None:
    from orchestration.definitions import defs

    sensors = {sensor.name: sensor for sensor in defs.sensors or ()}  # type: ignore[union-attr]
    upkeep = {"compaction", "compaction_failed", "sealed_tokens", "leftovers"}
    assert sensors.keys() == {"flights_branches_moved", "flights__main__kept_branches", *upkeep}
    assert all(sensor.default_status is dg.DefaultSensorStatus.RUNNING for sensor in sensors.values())  # type: ignore[union-attr]
    schedules = {schedule.name: schedule for schedule in defs.get_repository_def().schedule_defs}
    assert {name: schedule.cron_schedule for name, schedule in schedules.items()} == {
        "flights_pressure_schedule": "0 * * * *",
        "cleaning_schedule": "0 * * * *",
        "flights_sweep_schedule": "0 3 * * *",
        "flights_collection_schedule": "30 3 * * *",
        "flights_deliver_hooks_schedule": "0 * * * *",
        "namespaces_schedule": "0 4 * * *",
    }
    assert all(schedule.default_status is dg.DefaultScheduleStatus.RUNNING for schedule in schedules.values())
    given: Any = defs.resolve_job_def("flights_collection").run_config
    assert given["ops"]["collect"]["config"]["dry_run"]
    given = defs.resolve_job_def("namespaces_job").run_config
    assert given["ops"]["empty_namespaces"]["config"]["dry_run"]


def test_everything_in_the_ui_has_a_description() -> None:
    from orchestration.definitions import defs

    repository = defs.get_repository_def()
    graph = repository.asset_graph
    described = {
        **{f"job {each.name}": each.description for each in repository.get_all_jobs() if each.name != "__ASSET_JOB"},
        **{f"schedule {each.name}": each.description for each in repository.schedule_defs},
        **{f"sensor {each.name}": each.description for each in repository.sensor_defs},
        **{f"asset {key.to_user_string()}": graph.get(key).description for key in graph.get_all_asset_keys()},
        **{f"check {key.to_user_string()}": graph.get_check_spec(key).description for key in graph.asset_check_keys},
    }
    assert len(described) > 30
    assert [name for name, text in described.items() if not text] == []


def test_the_verbs_are_jobs_and_offer_what_the_demo_has() -> None:
    from orchestration.definitions import defs

    jobs = {name: defs.resolve_job_def(f"{name}_job") for name in ("commit", "merge", "diff", "compaction", "import")}
    offered = {name: job.run_config["ops"] for name, job in jobs.items() if job.run_config}
    assert {name: set(ops) for name, ops in offered.items()} == {"diff": {"diff"}, "import": {"import_objects"}}
    for job in jobs.values():
        (node,) = job.nodes
        assert node.definition.retry_policy is not None  # type: ignore[attr-defined]


def test_the_workspace_names_what_exists() -> None:
    module, file = yaml.safe_load((ROOT / "workspace.yaml").read_text())["load_from"]
    assert module["python_module"]["module_name"] == "orchestration.definitions"
    assert (ROOT / file["python_file"]["relative_path"]).is_file()
