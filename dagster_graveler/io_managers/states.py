"""State of the repository that an input is read from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dagster as dg

from dagster_graveler.data_version import published_commit
from dagster_graveler.resources.graveler_branch import GravelerBranch
from dagster_graveler.run_tags import marked_read_commit, read_commit_mark
from dagster_graveler.runs import is_resumption

if TYPE_CHECKING:
    from graveler_core.facade.snapshot import Snapshot

REF = "ref"
"""Metadata of an input: ref to read from, such as a tag, a commit id or `main~2`."""


def state_to_read(context: dg.InputContext, branch: GravelerBranch) -> Snapshot:
    """Return the state of the repository that an input is read from.

    In this order: the ref in the metadata of the input; the branch of the run with its staged changes, if the branch
    exists; the commit that was last reported for the upstream asset; the head of the published branch when the run
    read it for the first time.

    Args:
        context: Context of the input.
        branch: Branch of the run.

    Raises:
        NotFound: The ref does not exist.
    """
    repository = branch.open_repository()
    ref = (context.definition_metadata or {}).get(REF)
    if ref is not None:
        if not isinstance(ref, str):
            raise dg.DagsterInvalidDefinitionError(
                f"asset {context.asset_key.to_user_string()}: metadata {REF!r} must be a ref, but is {ref!r}"
            )
        return repository.at(ref)
    if branch.run_id is not None and branch.exists():
        return repository.at(branch.name)
    commit = published_commit(context.instance, context.asset_key, repository)
    return repository.at(commit or _head_of_run(context, branch))


def _head_of_run(context: dg.InputContext, branch: GravelerBranch) -> str:
    """Return the head of the published branch. The steps of a run get the same one, which a run tag keeps.

    Dagster cannot write a tag on condition that there is none. If several steps are the first to read at the same
    moment, and something is published at this moment, each may get another head. A run that has the tag from its
    start excludes this.

    Dagster copies the tag into re-executions. One of all steps reads the current head, and the others that of the run
    which they continue.
    """
    run_id, repository = branch.run_id, branch.repository
    run = context.instance.get_run_by_id(run_id) if run_id is not None else None
    if run is not None:
        known, read_by = marked_read_commit(run.tags, repository, branch.into)
        if known and (read_by in ("", run.run_id) or is_resumption(context.instance, run)):
            return known
    commit = str(branch.open_repository().at(f"{branch.into}@").commit_id)
    if run is not None:
        context.instance.add_run_tags(run.run_id, read_commit_mark(repository, branch.into, commit, run.run_id))
    return commit
