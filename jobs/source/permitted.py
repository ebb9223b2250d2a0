"""Whether whoever reads through the data source may: what the handle asks of a call that shows the same, is asked here.

Relations are read past the handle, by many machines. So the driver makes the handle's own call beforehand: a listing
asks when it is made, and reads nothing until somebody looks at it. Workers are then given work, not credentials.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from jobs.connection import guarded
from jobs.source.options import Relation, Source

if TYPE_CHECKING:
    from graveler_core.facade.repository import Repository


def require_readable(source: Source) -> None:
    """Refuse what the caller may not read, before anything of it is read.

    Raises:
        PermissionDenied: it was said who may do what, and he shows no credentials, wrong ones, or may not.
    """
    _ASKED[source.relation](guarded(source.connection).repository(source.repository), source)


def _entries(repo: Repository, source: Source) -> None:
    repo.at(_ref(repo, source)).list(source.text("prefix"))


def _diff(repo: Repository, source: Source) -> None:
    source.require("from", "to")
    prefix, since_merge_base = source.text("prefix"), source.flag("since_merge_base")
    repo.diff(source.text("from"), source.text("to"), prefix, since_merge_base=since_merge_base)


def _log(repo: Repository, source: Source) -> None:
    repo.log(_ref(repo, source), since=source.text("since") or None, prefix=source.text("prefix"))


def _changes(repo: Repository, source: Source) -> None:
    branch, prefix = repo.branch(_ref(repo, source)), source.text("prefix")
    repo.log(branch.name)
    repo.at(branch.name).list(prefix)
    if source.text("from"):  # the first batch shows what that held, too
        repo.diff(source.text("from"), branch.name, prefix)


def _ref(repo: Repository, source: Source) -> str:
    return source.text("ref", repo.default_branch)


_ASKED: Final[Mapping[Relation, Callable[[Repository, Source], object]]] = {
    Relation.ENTRIES: _entries,
    Relation.DIFF: _diff,
    Relation.LOG: _log,
    Relation.BRANCHES: lambda repo, source: repo.branches(source.text("prefix")),
    Relation.TAGS: lambda repo, source: repo.tags(source.text("prefix")),
    Relation.CHANGES: _changes,
}
