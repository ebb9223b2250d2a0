"""Compact one branch, and show what that changed. Idempotent: what was compacted is not staged any more."""

import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import dagster as dg
from pydantic import Field

from orchestration.ops.failures import RETRIES, retries, told_to_dagster
from orchestration.pressure import measured, pressure_key, surveyed
from orchestration.resources.graveler import GravelerResource
from sensors.compaction_requests import OP

if TYPE_CHECKING:
    from graveler_core.engine.pressure import BranchPressure
    from graveler_core.facade.branch import Branch

POOL = "graveler_compaction"
"""Dagster's pool for all compactions: its limit, if one is set, is how many are at work together."""
COMPACTED = "compacted"


class Compaction(dg.Config):
    """Which branch to compact."""

    repository: str
    branch: str
    every_minutes: float = Field(default=5.0, ge=0.0)
    """Give way to a compaction that began less than this long ago."""


@dg.op(
    name=OP,
    description="Fold what is staged on a branch into one tree, uncommitted as before.",
    out=dg.Out(dg.Nothing),
    retry_policy=RETRIES,
    pool=POOL,
)
def compact_branch(context: dg.OpExecutionContext, config: Compaction, graveler: GravelerResource) -> None:
    """Compact; nothing to do, or another compaction at work, is success too."""
    # A start that stands there at a second attempt is the first one's own.
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
    """Compact a branch; gives what came of it as metadata."""
    from graveler_core.errors import Kind, NoChanges, SlowDown

    try:
        made = branch.compact(every=every)
    except NoChanges:
        # The counters were wrong: counted anew, no sensor asks for this again.
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
    """A branch before and after, as numbers and as a table."""
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
