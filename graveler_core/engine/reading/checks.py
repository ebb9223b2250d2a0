"""Reports of checks on a commit, and the refusal of commits whose required checks have not passed.

A report on a tree holds for every commit with the same content. The id of a commit's tree is computed only if the
repository has reports on trees.
"""

from __future__ import annotations

from graveler_core.engine.reading.snapshot import tree_of
from graveler_core.errors import Kind, PermissionDenied
from graveler_core.model.checks import CheckReport
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.ids import MetarangeId
from graveler_core.model.protection import checks_for
from graveler_core.objects.commits import StoredCommit
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.location import Folder
from graveler_core.stores import Registers, Stores


def reports_on_commit(stores: Stores, repository: RepositoryRecord, commit: StoredCommit) -> dict[str, CheckReport]:
    """Return the reports of checks on a commit, by name in order of the names.

    If a check is reported on both the commit and its tree, the later report counts.
    """
    found = _reports(stores, keys.commit_checks(repository, commit.id))
    for name, report in reports_on_tree_of(stores, repository, commit).items():
        if name not in found or found[name].since < report.since:
            found[name] = report
    return dict(sorted(found.items()))


def reports_on_tree_of(stores: Stores, repository: RepositoryRecord, commit: StoredCommit) -> dict[str, CheckReport]:
    """Return the reports of checks on the tree of a commit, by name in order of the names."""
    if next(access.scan(stores.kv, keys.tree_checks(repository)), None) is None:
        return {}
    return reports_on_tree(stores, repository, tree_of(stores, repository, commit))


def reports_on_tree(stores: Stores, repository: RepositoryRecord, tree: MetarangeId) -> dict[str, CheckReport]:
    """Return the reports of checks on a tree, by name in order of the names."""
    return dict(sorted(_reports(stores, keys.tree_checks(repository, tree)).items()))


def require_passed(stores: Stores, registers: Registers, commit: StoredCommit) -> None:
    """Refuse to merge a commit into a branch that requires checks, unless all of them have passed.

    Raises:
        PermissionDenied: A required check failed or was not reported (`ChecksRequired`). `details` has `branch`,
            `commit`, `failed` and `missing`.
    """
    repository, branch = registers.repository, registers.branch.id
    required = checks_for(repository.required_checks, branch)
    if not required:
        return
    found = reports_on_commit(stores, repository, commit)
    failed = [name for name in required if name in found and not found[name].passed]
    missing = [name for name in required if name not in found]
    if failed or missing:
        reasons = [f"{name!r} failed" for name in failed] + [f"{name!r} was not reported" for name in missing]
        raise PermissionDenied(
            f"branch {branch!r} requires checks that commit {commit.id[:12]} has not passed: {', '.join(reasons)}",
            kind=Kind.ChecksRequired,
            branch=branch,
            commit=commit.id,
            failed=failed,
            missing=missing,
        )


def _reports(stores: Stores, folder: Folder[CheckReport]) -> dict[str, CheckReport]:
    return {held.value.name: held.value for _, held in access.scan(stores.kv, folder)}
