"""Run a job in this process, on the persistent Dagster instance, and print the progress of each step."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import dagster as dg
from rich.console import Console
from rich.markup import escape

from dagster_graveler.runs import MESSAGE_TAG, PARTITION_TAG, RANGE_END_TAG, RANGE_START_TAG

WATCH_TAG = "graveler/watch"
"""Tag of runs that `run_job` executes in its own process."""
_QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
_POLL_SECONDS = 0.3
_LOCATION = {"dagster/code_location": "graveler", ".dagster/repository": "__repository__@graveler"}
"""Tag by which the UI finds the runs of a job. The UI sets it on runs that it starts itself."""


def pipeline() -> dg.JobDefinition:
    """`flights_pipeline` under a name by which Dagster can find it in another process."""
    from orchestration.definitions import defs

    return defs.resolve_job_def("flights_pipeline")


def importing() -> dg.JobDefinition:
    """`import_job` under a name by which Dagster can find it."""
    from orchestration.definitions import defs

    return defs.resolve_job_def("import_job")


def committing() -> dg.JobDefinition:
    """`commit_job` under a name by which Dagster can find it."""
    from orchestration.definitions import defs

    return defs.resolve_job_def("commit_job")


def merging() -> dg.JobDefinition:
    """`merge_job` under a name by which Dagster can find it."""
    from orchestration.definitions import defs

    return defs.resolve_job_def("merge_job")


@dataclass(frozen=True, slots=True)
class JobRequest:
    """Run of a job: the job, its tags, and its configuration; `None` uses the default configuration."""

    job: Callable[[], dg.JobDefinition]
    tags: Mapping[str, str] = field(default_factory=dict)
    config: Mapping[str, Any] | None = None

    @property
    def message(self) -> str:
        """Message of the commit."""
        return self.tags.get(MESSAGE_TAG, "")


def publication(first: str, last: str, message: str, batch: Mapping[str, Any]) -> JobRequest:
    """Return a run of the pipeline.

    Args:
        first: First month, as `2013-01`.
        last: Last month; may equal the first.
        message: Message of the commit.
        batch: Configuration of `raw_flights`.
    """
    months = {PARTITION_TAG: first} if first == last else {RANGE_START_TAG: first, RANGE_END_TAG: last}
    config = {"ops": {"raw_flights": {"config": dict(batch)}}}
    return JobRequest(pipeline, {**months, MESSAGE_TAG: message}, config)


def run_job(instance: dg.DagsterInstance, request: JobRequest, console: Console) -> dg.DagsterRun:
    """Execute a job, print a line when a step or a check ends, and return the record of the finished run."""
    token = uuid.uuid4().hex
    config = {**_QUIET, **(request.job().run_config or {} if request.config is None else request.config)}
    with ThreadPoolExecutor(1) as pool, console.status("starting") as status:
        finished: Future[Any] = pool.submit(
            dg.execute_job,
            dg.reconstructable(request.job),
            instance,
            run_config=config,
            tags={**request.tags, **_LOCATION, WATCH_TAG: token},
        )
        lines, run_id, cursor = _Lines(console, status.update), "", None
        while True:
            ended = finished.done()
            if not run_id:
                run_id = next((run.run_id for run in instance.get_runs(dg.RunsFilter(tags={WATCH_TAG: token}))), "")
            if run_id:
                found = instance.get_records_for_run(run_id, cursor)
                cursor = found.cursor
                for record in found.records:
                    if record.event_log_entry.dagster_event:
                        lines.show(record.event_log_entry.dagster_event)
            if ended:
                finished.result()
                (run,) = instance.get_runs(dg.RunsFilter([run_id]))
                return run
            time.sleep(_POLL_SECONDS)


def failed_checks(instance: dg.DagsterInstance, run: dg.DagsterRun) -> list[dg.AssetCheckEvaluation]:
    """Return the failed checks of a run."""
    logs = instance.all_logs(run.run_id, of_type=dg.DagsterEventType.ASSET_CHECK_EVALUATION)
    evaluations = [e.dagster_event.asset_check_evaluation_data for e in logs if e.dagster_event]
    return [e for e in evaluations if not e.passed]


@dataclass(slots=True)
class _Lines:
    """Printer of a line for each step or check that ended; `say` shows current activity."""

    console: Console
    say: Callable[[str], None]
    rows: dict[str, str] = field(default_factory=dict)
    engines: dict[str, str] = field(default_factory=dict)

    def show(self, event: dg.DagsterEvent) -> None:
        kind, step = event.event_type, event.step_key or ""
        if kind is dg.DagsterEventType.STEP_START:
            self.say(f"{escape(step)} …")
        elif kind is dg.DagsterEventType.ASSET_MATERIALIZATION:
            metadata = event.step_materialization_data.materialization.metadata
            if "rows" in metadata:
                self.rows[step] = f"{metadata['rows'].value:,} rows"
        elif kind is dg.DagsterEventType.STEP_OUTPUT:
            self._tell_engine(step, event.step_output_data.metadata)
        elif kind is dg.DagsterEventType.STEP_UP_FOR_RETRY:
            self._print(False, f"{step} is retried")
        elif kind is dg.DagsterEventType.ASSET_CHECK_EVALUATION:
            check = event.asset_check_evaluation_data
            self._print(check.passed, f"check {check.check_name} of {check.asset_key.to_user_string()}")
        elif kind is dg.DagsterEventType.STEP_SUCCESS and not step.endswith("_checks"):
            seconds = event.step_success_data.duration_ms / 1000
            where = self.engines.get(step, "")
            self._print(True, f"{step:<30}{self.rows.get(step, ''):>14}{seconds:>8.1f} s{where}")
        elif kind is dg.DagsterEventType.STEP_FAILURE and not step.endswith("_checks"):
            self._print(False, f"{step} failed")

    def _tell_engine(self, step: str, told: Mapping[str, dg.MetadataValue[Any]]) -> None:
        """Note where a step did its work, if the step reports it."""
        if "engine" in told:
            self.engines[step] = "  on Spark" if told["engine"].value == "spark" else "  here"
        if "rows planned" in told:
            self.rows[step] = f"{told['rows planned'].value:,} changes"

    def _print(self, good: bool, text: str) -> None:
        self.console.print(f"  {'[green]✓[/]' if good else '[red]✗[/]'} {escape(text)}", highlight=False)
