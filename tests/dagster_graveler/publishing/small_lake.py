"""A small pipeline of two tables and a publish asset, without Spark: raw → cleaned, and weather beside them.

The data of a run is configured by `delivered`: rows by table. A row "bad" fails the check of its table, and a row
"away" fails the table itself.
"""

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import dagster as dg

from dagster_graveler.beta import beta_accepted
from dagster_graveler.publishing.write_audit_publish import write_audit_publish
from dagster_graveler.publishing.written import written
from dagster_graveler.resources.graveler import GravelerResource
from dagster_graveler.resources.graveler_branch import GravelerBranch

MONTHS = dg.StaticPartitionsDefinition(["2013-01", "2013-02", "2013-03"])
PUBLISHED = dg.AssetKey(["lake", "main"])
PUBLISH = dg.AssetKey(["lake", "main", "publish"])
TABLES = ("raw", "cleaned", "weather")
DELIVERED: dict[str, list[str]] = {}
"""Rows that the tables deliver in the next run; by default one good row."""
SEVERITY = {"cleaned": dg.AssetCheckSeverity.ERROR}


class LinesIOManager(dg.ConfigurableIOManager):
    """Stores a list of lines as one file in each partition."""

    branch: dg.ResourceDependency[GravelerBranch]

    def handle_output(self, context: dg.OutputContext, obj: list[str]) -> None:
        """Replace the files of the written partitions."""
        table, branch = "/".join(context.asset_key.path), self.branch.open_for_writing()
        prefixes = [f"{table}/{key}/" for key in self._keys(context)]
        for prefix in prefixes:
            branch.remove_prefix(prefix)
            branch.put(f"{prefix}{context.run_id[:8]}.txt", "\n".join(obj).encode())
        context.add_output_metadata(written(self.branch.open_after_write(), table, prefixes))

    def load_input(self, context: dg.InputContext) -> list[str]:
        """Return the lines of the partitions."""
        keys = self._keys(context)
        return [line for key in keys for line in self.lines(f"{'/'.join(context.asset_key.path)}/{key}/")]

    def lines(self, prefix: str) -> list[str]:
        """Return the lines of all files below a prefix, as the run sees them."""
        at = self.branch.open_for_reading()
        return [line for entry in at.list(prefix) for line in at.read(entry.path).decode().splitlines()]

    def _keys(self, context: Any) -> Sequence[str]:
        return context.asset_partition_keys if context.has_asset_partitions else ["all"]


def rows(table: str) -> list[str]:
    """Return what a table delivers. Processes of others read it from the file that a variable names."""
    file = os.environ.get("LAKE_DELIVERED")
    delivered = json.loads(Path(file).read_text()) if file else DELIVERED
    found: list[str] = delivered.get(table, [f"{table} row"])
    if "away" in found:
        raise ConnectionError(f"the source of {table} is away")
    return found


def lake(
    url: Any, storage: Any, *, partitioned: bool = True, template: str = "run-{run}", **options: Any
) -> dg.Definitions:
    """Return the pipeline on a store."""
    policy = dg.BackfillPolicy.single_run() if partitioned else None
    partitions = MONTHS if partitioned else None

    def table(function: Any) -> dg.AssetsDefinition:
        with beta_accepted():
            made: dg.AssetsDefinition = dg.asset(partitions_def=partitions, backfill_policy=policy, group_name="lake")(
                function
            )
        return made

    @table
    def raw() -> list[str]:
        return rows("raw")

    @table
    def weather() -> list[str]:
        return rows("weather")

    @table
    def cleaned(raw: list[str]) -> list[str]:
        return [*raw, *rows("cleaned")]

    def check(name: str) -> dg.AssetChecksDefinition:
        @dg.asset_check(asset=name, name="good", blocking=True)
        def good(io_manager: dg.ResourceParam[LinesIOManager]) -> dg.AssetCheckResult:
            severity = SEVERITY.get(name, dg.AssetCheckSeverity.ERROR)
            return dg.AssetCheckResult(passed="bad" not in io_manager.lines(f"{name}/"), severity=severity)

        return good

    graveler = GravelerResource(url=url)
    branch = GravelerBranch(graveler=graveler, repository="lake", storage_root=storage, branch=template)
    own = write_audit_publish(
        tables=[raw, cleaned, weather],
        checks=[check(name) for name in TABLES],
        key=PUBLISHED,
        job="lake_job",
        **options,
    )
    resources = {"branch": branch, "io_manager": LinesIOManager(branch=branch)}
    return dg.Definitions.merge(own, dg.Definitions(resources=resources, executor=dg.in_process_executor))


def failures(result: dg.ExecuteInProcessResult | dg.JobExecutionResult) -> Iterator[str]:
    """Return the descriptions of failed steps."""
    for event in result.filter_events(lambda e: e.is_step_failure):
        data = event.step_failure_data
        yield (data.user_failure_data.description if data.user_failure_data else None) or str(data.error)
