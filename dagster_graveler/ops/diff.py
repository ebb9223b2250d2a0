"""Count and show the differences between two refs, in this process or on Spark, depending on the size."""

from typing import Any

import dagster as dg

from dagster_graveler.display.diff import summarise
from dagster_graveler.ops.failures import RETRIES, retries, told_to_dagster
from dagster_graveler.resources.graveler import GravelerResource


class DiffConfig(dg.Config):
    """Configuration of a diff."""

    repository: str
    left: str
    right: str
    prefix: str = ""
    since_merge_base: bool = False
    """Compare the right ref with the merge base of both: the changes that a merge would bring into the left."""


@dg.op(
    description="Count the paths that differ between two refs, and show the first of them.",
    out=dg.Out(dict, description="Numbers of paths that were added, changed and removed."),
    retry_policy=RETRIES,
)
def diff(context: dg.OpExecutionContext, config: DiffConfig, graveler: GravelerResource) -> dg.Output[dict[str, int]]:
    """Compare two refs. The refs are resolved once, so counts and changes are of the same two commits."""
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
