"""Published commits that a run reads. Tags of the run keep them, so that all of its steps read the same commits.

Dagster cannot write a tag on condition that there is none. If several steps are the first to read at the same moment,
and something is published at this moment, each may get another commit. A run that has the tag of the branch from its
start excludes this.

Dagster copies the tags into re-executions. One of all steps reads the current commit, and the others that of the run
which they continue.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import dagster as dg

from dagster_graveler.run_tags import marked_read_commit, read_commit_mark, read_commit_tag
from dagster_graveler.runs import is_resumption

if TYPE_CHECKING:
    from graveler_core.facade.repository import Repository


def commit_to_read(
    instance: dg.DagsterInstance, run_id: str | None, of_branch: str, tag: str, current: Callable[[], str]
) -> str:
    """Return a published commit that a run reads: the commit with which it was started, or the one that it has read
    before, or else the current one, which a tag then keeps.

    Args:
        instance: The instance of the run.
        run_id: Id of the run. `None` outside of a run.
        of_branch: Key of the tag for the head of the published branch. A user may have started the run with it.
        tag: Key of the tag that keeps the commit.
        current: Function that returns the current commit.
    """
    run = None if run_id is None else instance.get_run_by_id(run_id)
    if run is None:
        return current()
    given, read_by = marked_read_commit(run.tags, of_branch)
    if given and not read_by:
        return given
    known = _known(instance, run, run.tags, tag)
    if known:
        return known
    commit = current()
    instance.add_run_tags(run.run_id, read_commit_mark(tag, commit, run.run_id))
    return commit


def head(repository: Repository, into: str) -> str:
    """Return the id of the newest commit of a published branch.

    Args:
        repository: The repository.
        into: The published branch.
    """
    return str(repository.at(f"{into}@").commit_id)


def start_of_branch(
    instance: dg.DagsterInstance | None, run: dg.DagsterRun | None, repository: Repository, into: str
) -> str:
    """Return the ref from which a run creates its branch: the commit of `into` that it has read, or else `into`.

    What others publish after this commit then counts as a change since the run began, and is not overwritten unseen. A
    commit that `into` does not contain, which only a user can have given, is not published.

    Args:
        instance: The instance of the run. `None` outside of a run.
        run: The run. `None` outside of a run.
        repository: The repository.
        into: The published branch.
    """
    from graveler_core.errors import Kind, NotFound

    if instance is None or run is None:
        return into
    tags = (instance.get_run_by_id(run.run_id) or run).tags
    commit = _known(instance, run, tags, read_commit_tag(repository.id, into))
    if not commit:
        return into
    try:
        is_published = repository.merge_base(commit, into).id == commit
    except NotFound as e:
        if e.kind is not Kind.NoMergeBase:
            raise
        is_published = False
    return commit if is_published else into


def _known(instance: dg.DagsterInstance, run: dg.DagsterRun, tags: Mapping[str, str], tag: str) -> str:
    """Return the commit that the run, or the run that it continues, has read or was started with, or ""."""
    commit, read_by = marked_read_commit(tags, tag)
    return commit if commit and (read_by in ("", run.run_id) or is_resumption(instance, run)) else ""
