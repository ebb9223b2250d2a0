"""Reporting of checks.

✓ One unconditional write of the report. It replaces the earlier report of the same check on the same commit or tree,
so of two concurrent reports the one that is written last counts. A merge that has read the earlier report may still
complete, as if it had run before. A report that is written while its repository is deleted has no effect.

Of reports on a commit and on its tree, the one with the later time counts, and the times are from clocks of different
processes. A report on a commit therefore gets at least the time of the report on the tree, so that it replaces every
report that was made before. A report on a tree is compared with that on a commit by the clocks alone, because nothing
leads from a tree to its commits.
"""

from __future__ import annotations

from graveler_core.engine.reading.checks import reports_on_tree_of
from graveler_core.engine.reading.resolve import resolve_commit
from graveler_core.model.checks import CheckReport
from graveler_core.model.ids import MetarangeId, RepositoryId
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.refs import repositories
from graveler_core.stores import Stores


def report_on_commit(stores: Stores, repo: RepositoryId, ref: str, report: CheckReport) -> CheckReport:
    """Store a report on the commit that a ref names, and return it.

    Raises:
        NotFound, InvalidInput: The ref names no commit.
    """
    repository = repositories.get(stores.kv, stores.clock, stores.ids, repo)
    repositories.require_changeable(repository)
    commit = resolve_commit(stores, repository, ref)
    on_tree = reports_on_tree_of(stores, repository, commit).get(report.name)
    if on_tree is not None and on_tree.since > report.since:
        report = report.model_copy(update={"since": on_tree.since})
    access.write(stores.kv, keys.commit_checks(repository, commit.id).at(report.name), report)
    return report


def report_on_tree(stores: Stores, repo: RepositoryId, tree: MetarangeId, report: CheckReport) -> None:
    """Store a report on a tree."""
    repository = repositories.get(stores.kv, stores.clock, stores.ids, repo)
    repositories.require_changeable(repository)
    access.write(stores.kv, keys.tree_checks(repository, tree).at(report.name), report)
