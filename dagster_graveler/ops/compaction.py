"""Compact one branch and show the effect. Idempotent: compacted changes are no longer staged."""

import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import dagster as dg
from pydantic import Field

from dagster_graveler.ops.failures import RETRIES, retries, told_to_dagster
from dagster_graveler.pressure import measured, pressure_key, surveyed
from dagster_graveler.resources.graveler import GravelerResource
from dagster_graveler.sensors.compaction_requests import OP

if TYPE_CHECKING:
    from graveler_core.engine.staging.pressure import BranchPressure
    from graveler_core.facade.branch import Branch

POOL = "graveler_compaction"
"""Dagster pool of all compactions. Its limit, if set, bounds the number of concurrent compactions."""
COMPACTED = "compacted"


class CompactionConfig(dg.Config):
    """Configuration of a compaction."""

    repository: str
    branch: str
    every_minutes: float = Field(default=5.0, ge=0.0)
    """Skip if another compaction started less than this many minutes ago."""


@dg.op(
    name=OP,
    description="Compact the staged changes of a branch into one tree. They stay uncommitted.",
    out=dg.Out(dg.Nothing),
    retry_policy=RETRIES,
    pool=POOL,
)
def compact_branch(context: dg.OpExecutionContext, config: CompactionConfig, graveler: GravelerResource) -> None:
    """Compact a branch. Succeeds if nothing is staged, or if another compaction is running."""
    # At a second attempt, the recorded start may be that of the first attempt.
    every = timedelta(minutes=config.every_minutes if context.retry_number == 0 else 0)
    report = graveler.report(context.log.info, "compaction")
    with told_to_dagster(context.retry_number):
        opened = graveler.graveler()
        branch = opened.repository(config.repository).branch(config.branch)
        before, start = branch.pressure(), time.monotonic()
        outcome = _compacted(branch, every)
        seconds, after = time.monotonic() - start, branch.pressure()
        branches = surveyed(opened, config.repository)
    facts = {**report.facts(), **retries(context)}
    context.add_output_metadata({**outcome, "seconds": seconds, **facts, **_compared(before, after)})
    if outcome["outcome"] == COMPACTED:
        metadata = measured(context.instance, config.repository, branches, before.pressure.value)
        said = f"{config.branch} was compacted"
        context.log_event(dg.AssetMaterialization(pressure_key(config.repository), said, metadata))


def _compacted(branch: "Branch", every: timedelta) -> dict[str, Any]:
    """Compact a branch and return the result as metadata."""
    from graveler_core.errors import Kind, NoChanges, SlowDown

    try:
        made = branch.compact(every=every)
    except NoChanges:
        # The counters were wrong. After a recount, no sensor requests this compaction again.
        branch.pressure(exact=True)
        return {"outcome": "nothing to do"}
    except SlowDown as busy:
        if busy.kind is not Kind.CompactionUnderWay:
            raise
        return {"outcome": "skipped", "why": busy.message}
    return {
        "outcome": COMPACTED,
        "layers compacted": made.layers,
        "records compacted": made.records,
        "tombstones compacted": made.tombstones,
        "entries": made.entries,
        "bytes of the entries": made.size,
        "added": made.added,
        "changed": made.changed,
        "removed": made.removed,
        "metarange": made.metarange_id,
    }


def _compared(before: "BranchPressure", after: "BranchPressure") -> dict[str, Any]:
    """Return the numbers of a branch before and after, with a table."""
    rows = {
        "layers": (before.load.layers, after.load.layers),
        "tombstones": (before.load.tombstones, after.load.tombstones),
        "staged records": (before.load.staged, after.load.staged),
    }
    lines = ["| | before | after |", "|---|---:|---:|"]
    lines += [f"| {name} | {was:,} | {now:,} |" for name, (was, now) in rows.items()]
    lines.append(f"| pressure | {before.pressure.value:.0%} | {after.pressure.value:.0%} |")
    numbers = {f"{name} before": was for name, (was, _) in rows.items()}
    numbers |= {f"{name} after": now for name, (_, now) in rows.items()}
    return {**numbers, "before and after": dg.MetadataValue.md("\n".join(lines))}
