"""Opening of the ref or branch of a request, without a read of the store if this process has cached the branch.

Operations on a branch verify the records that they have used, so a cached record cannot lead to a wrong answer. But an
outdated record can let the operation fail. The branch is then opened in the usual way, and the operation is run again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from graveler_core.errors import GravelerError, Kind
from graveler_core.facade.branch import Branch
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.known_branch import KnownBranch, known_for_reading, known_for_writing
from graveler_core.facade.readable_ref import ReadableRef
from graveler_core.facade.repository import Repository

T = TypeVar("T")
Open = Callable[[str], Repository]
"""Opens a repository by its name."""


def read_at(graveler: Graveler, name: str, ref: str, work: Callable[[Repository, ReadableRef], T], open: Open) -> T:
    """Return what a function reads at a ref expression.

    Args:
        graveler: Handle that checks the permissions of the user.
        name: Name of the repository.
        ref: Ref expression.
        work: Reads at the ref. It may be called twice. When it returns, everything that can fail must be done.
        open: Opens the repository if the branch is not cached.

    Raises:
        GravelerError: As for `Repository.at`, and as the function raises.
    """
    found = _read_known(graveler, name, ref, work)
    if found is not None:
        return found[0]
    repository = open(name)
    return work(repository, repository.at(ref))


def _read_known(
    graveler: Graveler, name: str, ref: str, work: Callable[[Repository, ReadableRef], T]
) -> tuple[T] | None:
    """Return what a function reads on a branch that is cached, or `None` if its records may be outdated.

    Raises:
        NotFound: There is no entry at the path. The operation has verified this.
    """
    try:
        known = known_for_reading(graveler, name, ref)
        if known is None:
            return None
        found = work(known.repository, known.branch)
        return (found,) if known.is_current() else None
    except GravelerError as error:
        if error.kind is Kind.PathNotFound:
            raise
        return None  # an outdated record may have caused the error; if not, the second attempt raises it again


@dataclass(frozen=True, slots=True)
class OpenBranch:
    """A branch that is open for writing."""

    branch: Branch
    _open: Open
    _repository: Repository
    _known: KnownBranch | None = None

    def repository(self) -> Repository:
        """Return the repository as it was when the last operation on the branch ended."""
        if self._known is None or self._known.is_current():
            return self._repository
        return self._open(self._repository.id)


def open_branch(graveler: Graveler, name: str, branch: str, open: Open) -> OpenBranch:
    """Open a branch for writing. If a cached branch was deleted, the first operation on it raises the error.

    Args:
        graveler: Handle that checks the permissions of the user.
        name: Name of the repository.
        branch: Name of the branch.
        open: Opens the repository if the branch is not cached.

    Raises:
        GravelerError: As for `Graveler.repository` and `Repository.branch`.
    """
    known = known_for_writing(graveler, name, branch)
    if known is not None:
        return OpenBranch(known.branch, open, known.repository, known)
    repository = open(name)
    return OpenBranch(repository.branch(branch), open, repository)
