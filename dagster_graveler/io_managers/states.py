"""State of the repository that an input is read from."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import dagster as dg

from dagster_graveler.data_version import published_commit
from dagster_graveler.publishing.branch_choice import Chosen
from dagster_graveler.publishing.groups import is_published_branch, publications_of
from dagster_graveler.resources.graveler_branch import GravelerBranch
from dagster_graveler.resources.read_commits import commit_to_read, head
from dagster_graveler.run_tags import read_commit_of_asset_tag, read_commit_tag

if TYPE_CHECKING:
    from graveler_core.facade.snapshot import Snapshot

REF = "ref"
"""Metadata of an input: ref to read from, such as a tag, a commit id or `main~2`."""


def state_to_read(context: dg.InputContext, branch: GravelerBranch) -> Snapshot:
    """Return the state of the repository that an input is read from.

    In this order: the ref in the metadata of the input; the branch of the run with its staged changes, if the branch
    exists; the commit with which the run was started; the commit that was last reported for the upstream asset; the
    head of the published branch. The run keeps the last two from the first time that it reads them.

    The asset of a published branch is read from the branch of the run only if the user has named this branch.
    Otherwise a run that also writes the tables would read them before they are complete and checked.

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
    reported = published_commit(context.instance, context.asset_key, repository)
    if branch.run_id is not None and branch.exists():
        choice = branch.choice()
        is_named = choice is not None and choice.chosen is Chosen.TAG
        if is_named or not _is_published(context.asset_key, reported):
            return repository.at(branch.name)
    return repository.at(_commit_of_run(context, branch, reported))


def _is_published(asset: dg.AssetKey, reported: str | None) -> bool:
    """Return true if an asset is a published branch. One of another code location is recognized by its report."""
    return is_published_branch(asset) or (reported is not None and not publications_of([asset]))


def _commit_of_run(context: dg.InputContext, branch: GravelerBranch, reported: str | None) -> str:
    """Return the published commit that the run reads. The steps of a run get the same one, which a run tag keeps."""
    if reported is None and not is_published_branch(context.asset_key):
        return branch.published_commit()
    of_branch = read_commit_tag(branch.repository, branch.into)
    tag = read_commit_of_asset_tag(branch.repository, context.asset_key.to_python_identifier())
    current = partial(head, branch.open_repository(), branch.into)
    return commit_to_read(context.instance, branch.run_id, of_branch, tag, lambda: reported or current())
