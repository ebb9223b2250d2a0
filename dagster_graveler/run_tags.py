"""Tags of runs that name the branch of a run and the reason for it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import NamedTuple

REPOSITORY_TAG = "graveler/repository"
"""Repository of the branch that a run compacts."""
BRANCH_TAG = "graveler/branch"
"""Name of the branch to work on, in every repository of the run."""
MARKED_TAG = "graveler/marked-by"
"""Id of the run that wrote these tags about itself. Another id means that Dagster copied them from a parent run."""
CHOSEN_TAG = "graveler/branch-chosen"
"""Way in which the branch was found: `template`, `kept` (left by an earlier run) or `tag` (by the user)."""
PUBLISH_TAG = "graveler/publish"
"""Prefix of the tags that name the group to which a run belongs in a repository: the key of the published branch.

Runs of former versions have this tag without a repository, and do not have the tag `graveler/created`.
"""
CREATED_TAG = "graveler/created"
"""Prefix of the tags that hold the uid of the branch that a run has created, one for each repository."""
PUBLICATION_TAG = "graveler/publication"
"""State of the branch for which the sensor over kept branches requested a publication."""
UID_TAG = "graveler/uid"
"""Uid of the branch. With a limit on this tag, Dagster compacts each branch once at a time."""
COMPACTION_TAG = "graveler/compaction"
"""Layers that are compacted: the run key without its epoch."""
WHY_TAG = "graveler/why"
PRIORITY_TAG = "dagster/priority"
_KEY_LENGTH = 40
"""Characters of names in the key of a tag. Dagster allows 63 characters after the slash."""


class MarkedBranch(NamedTuple):
    """The branch of a run in one repository. The uid tells it apart from a later branch with the same name."""

    name: str
    uid: str


def branch_mark(repository: str, branch: MarkedBranch) -> dict[str, str]:
    """Return the tag that names the branch of a run in one repository. A run can have several.

    Args:
        repository: Name of the repository.
        branch: The branch.
    """
    return {_mark_key(repository): f"{branch.name}@{branch.uid}"}


def marked_branch(tags: Mapping[str, str], repository: str) -> MarkedBranch | None:
    """Return the branch that the tags of a run name in one repository, or `None`.

    Args:
        tags: The tags.
        repository: Name of the repository.
    """
    name, _, uid = tags.get(_mark_key(repository), "").rpartition("@")
    return MarkedBranch(name, uid) if name else None


def publish_tag(repository: str) -> str:
    """Return the key of the tag that names the group to which a run belongs in one repository.

    Args:
        repository: Name of the repository.
    """
    return f"{PUBLISH_TAG}.{_shortened(repository)}"


def created_mark(repository: str, uid: str) -> dict[str, str]:
    """Return the tag by which a run tells that it has created a branch. It stays true if Dagster copies it.

    Args:
        repository: Name of the repository.
        uid: Uid of the branch.
    """
    return {f"{CREATED_TAG}.{_shortened(repository)}": uid}


def read_commit_tag(repository: str, branch: str) -> str:
    """Return the key of the tag that keeps the head of a published branch when the run read it for the first time.

    A user who starts a run with this tag gives the commit that it reads.

    Args:
        repository: Name of the repository.
        branch: Name of the published branch.
    """
    return f"graveler/read_commit.{_shortened(f'{repository}.{branch}')}"


def read_commit_of_asset_tag(repository: str, asset: str) -> str:
    """Return the key of the tag that keeps the commit reported for an asset when the run read it for the first time.

    Args:
        repository: Name of the repository.
        asset: Key of the asset, as a Python identifier.
    """
    return f"graveler/read_asset.{_shortened(f'{repository}.{asset}')}"


def read_commit_mark(tag: str, commit: str, run_id: str) -> dict[str, str]:
    """Return the tag by which a run keeps a published commit. It names the run that has read the commit.

    Args:
        tag: Key of the tag.
        commit: Id of the commit.
        run_id: Id of the run.
    """
    return {tag: f"{commit}@{run_id}"}


def marked_read_commit(tags: Mapping[str, str], tag: str) -> tuple[str, str]:
    """Return the commit that the tags of a run name, and the id of the run that has read it.

    Both are "" without the tag. The id is "" if the user has given the commit.

    Args:
        tags: The tags.
        tag: Key of the tag.
    """
    commit, _, run_id = tags.get(tag, "").partition("@")
    return commit, run_id


def _mark_key(repository: str) -> str:
    return f"{BRANCH_TAG}.{_shortened(repository)}"


def _shortened(name: str) -> str:
    if len(name) <= _KEY_LENGTH:
        return name
    return f"{name[:_KEY_LENGTH]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
