"""Merge a ref into a branch, in this process or on Spark, depending on the size. Idempotent, as `commit` is."""

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal

import dagster as dg
from pydantic import Field

from dagster_graveler.display.diff import summarise
from dagster_graveler.ops.commit import COMMITTER
from dagster_graveler.ops.failures import RETRIES, retries, told_to_dagster
from dagster_graveler.resources.graveler import GravelerResource
from dagster_graveler.runs import run_metadata, step_key

if TYPE_CHECKING:
    from graveler_core.facade.history import CommitRecord
    from graveler_core.facade.repository import Repository

_SQUASH = "squash: true makes one commit with one parent, as in Git; for a merge commit with two parents leave it out"
"""Logged for one release, because `squash: true` used to be the default: decision 044."""


class MergeConfig(dg.Config):
    """Configuration of a merge."""

    repository: str
    source: str
    into: str
    message: str = ""
    committer: str = COMMITTER
    strategy: Literal["none", "source", "destination"] = "none"
    """The side that wins if both changed a path; "none" makes it a conflict."""
    squash: bool | None = None
    """Make one commit with one parent, the destination's head. False is refused: it used to mean `replay`."""
    replay: bool = False
    """Repeat the commits of the source."""
    unchanged: list[str] = Field(default_factory=list)
    """Prefixes below which the destination must not have changed since the merge base."""


@dg.op(
    description="Merge a ref into a branch of the same repository.",
    out=dg.Out(str, description="Id of the merge commit, or of the branch's head if there was nothing to merge."),
    retry_policy=RETRIES,
)
def merge(context: dg.OpExecutionContext, config: MergeConfig, graveler: GravelerResource) -> dg.Output[str]:
    """Merge a ref into a branch and show the changes."""
    return merged(context, config, graveler)


def merged(
    context: dg.OpExecutionContext,
    what: MergeConfig,
    graveler: GravelerResource,
    metadata: Mapping[str, str] | None = None,
) -> dg.Output[str]:
    """Merge, and return the output of the op. For ops that determine the refs themselves.

    Args:
        context: Context of the op.
        what: The merge.
        graveler: Connection to the store.
        metadata: Metadata of the merge commit, in addition to those of the run.
    """
    report = graveler.report(context.log.info, "merge")
    if what.squash:
        context.log.warning(f"{_SQUASH}: {what.source} into {what.into}")
    with told_to_dagster(context.retry_number):
        repository = graveler.graveler().repository(what.repository)
        source = repository.commit(what.source).id
        made, brought = _merge(context, what, repository, source, metadata or {})
        diff = summarise(repository.diff(made.parents[0], made.id) if brought else ())
    shown: dict[str, Any] = {
        "commit": made.id,
        "branch": what.into,
        "merged": what.source,
        "dagster/uri": f"graveler://{what.repository}/{what.into}",
        **report.facts(),
        **retries(context),
        **diff.metadata(),
    }
    return dg.Output(made.id, metadata=shown)


def check_merge(context: dg.OpExecutionContext, what: MergeConfig, graveler: GravelerResource) -> None:
    """Raise the failure that `merged` would raise now with the same arguments. Change nothing.

    Args:
        context: Context of the op.
        what: The merge.
        graveler: Connection to the store.
    """
    from graveler_core.errors import NoChanges

    with told_to_dagster(context.retry_number), suppress(NoChanges):
        repository = graveler.graveler().repository(what.repository)
        source = repository.commit(what.source).id
        repository.check_merge(source, what.into, **_rules(what), idempotency_key=f"{step_key(context)}/{source}")


def _rules(what: MergeConfig) -> dict[str, Any]:
    return {
        "strategy": None if what.strategy == "none" else what.strategy,
        "squash": what.squash,
        "replay": what.replay,
        "unchanged": what.unchanged,
    }


def _merge(
    context: dg.OpExecutionContext,
    what: MergeConfig,
    repository: "Repository",
    source: str,
    metadata: Mapping[str, str],
) -> "tuple[CommitRecord, bool]":
    """Return the head after the merge, and true. If there was nothing to merge, return the present head, and false."""
    from graveler_core.errors import NoChanges

    try:
        made = repository.merge(
            source,
            what.into,
            message=what.message or _title(what),
            committer=what.committer,
            metadata={**run_metadata(context), **metadata},
            **_rules(what),
            idempotency_key=f"{step_key(context)}/{source}",
        )
    except NoChanges as nothing:
        return repository.commit(nothing.details["commit"]), False
    return made, True


def _title(what: MergeConfig) -> str:
    """Return the default message. Repeated commits keep their own."""
    if what.replay:
        return ""
    return f"{'Squash' if what.squash else 'Merge'} {what.source} into {what.into}"
