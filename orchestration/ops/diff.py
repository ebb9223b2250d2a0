"""Count and show what differs between two refs, wherever the size of it asks for: in this process or on Spark."""

from typing import Any

import dagster as dg

from orchestration.display.diff import summarise
from orchestration.ops.failures import RETRIES, retries, told_to_dagster
from orchestration.resources.graveler import GravelerResource


class Diff(dg.Config):
    """What to compare."""

    repository: str
    left: str
    right: str
    prefix: str = ""
    since_merge_base: bool = False
    """Compare the right with the merge base of both: what it would bring into the left."""


@dg.op(
    description="Count what differs between two refs, and show the first paths.",
    out=dg.Out(dict, description="How many paths were added, changed and removed."),
    retry_policy=RETRIES,
)
def diff(context: dg.OpExecutionContext, config: Diff, graveler: GravelerResource) -> dg.Output[dict[str, int]]:
    """Refs are resolved once: both answers are of the same two commits."""
    report = graveler.report(context.log.info, "diff")
    with told_to_dagster(context.retry_number):
        repository = graveler.graveler().repository(config.repository)
        left, right = (repository.commit(ref).id for ref in (config.left, config.right))
        merge_base = config.since_merge_base
        counted = repository.diff_summary(left, right, config.prefix, since_merge_base=merge_base)
        shown = summarise(
            repository.diff(left, right, config.prefix, since_merge_base=merge_base) if counted.total else ()
        )
    counts = {"added": counted.added, "changed": counted.changed, "removed": counted.removed}
    metadata: dict[str, Any] = {"left": left, "right": right, **counts, **report.facts(), **retries(context)}
    tables: dict[str, Any] = {"diff summary": dg.MetadataValue.md(shown.markdown()), "diff": shown.table()}
    return dg.Output(counts, metadata={**metadata, **tables})
