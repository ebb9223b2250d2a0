"""Erasure of content in all history. Every method only delegates to `graveler_core.erasure`."""

from __future__ import annotations

from collections.abc import Iterable

from graveler_core.erasure.flow import erase, erasures
from graveler_core.erasure.report import Erased
from graveler_core.erasure.standing import ErasurePlan
from graveler_core.facade.handle import Handle
from graveler_core.gc.stock import Progress
from graveler_core.guard import needs
from graveler_core.guard.operation import operation
from graveler_core.model.erasure import Erasure, erasure_rule, require_reason
from graveler_core.model.permission import Action


class Erasing(Handle):
    """Methods of `Repository` that erase content."""

    @operation("erase", needs.erasure, needs.committer())
    def erase(  # noqa: PLR0913 - all but two of them optional
        self,
        paths: Iterable[str] | None = None,
        *,
        prefix: str | None = None,
        why: str,
        shared: bool = False,
        dry_run: bool = False,
        committer: str = "",
        progress: Progress = lambda more: None,
    ) -> Erased:
        """Delete the content of some paths in all history, and remove the paths from all branches: see
        `graveler_core.erasure.flow`.

        Commits keep their ids and show the entries. Reading the content there raises `NotFound` (`ContentErased`).
        This cannot be undone. After an interruption, call it again: it goes on.

        Args:
            paths: The paths. Give either `paths` or `prefix`.
            prefix: Prefix of the paths. It must not be empty.
            why: Reason, which readers of the content see.
            shared: Also erase content to which entries at other paths or in other repositories refer.
            dry_run: Only report what would be erased.
            committer: Committer of the commits that remove the paths. With access control the caller's user name,
                unless the caller may set another one.
            progress: Called with the number of items examined since the last call.

        Returns:
            Numbers of the objects and commits.

        Raises:
            NotFound: (`PathNotFound`) no commit and no branch has ever had the paths.
            InvalidInput: an argument is not valid; or content is inside entries, or not in the storage namespace of
                this repository, and cannot be erased. Nothing was changed.
            Conflict: (`ContentShared`) other paths or repositories refer to the content, and `shared` is false. No
                content was deleted.
            PermissionDenied: the repository is read-only, or a branch that shows the paths is protected.
            LimitExceeded: the paths, or the texts of the commits, are too long together.
            SlowDown: the paths are written again and again.
        """
        plan = ErasurePlan(erasure_rule(paths, prefix), require_reason(why), committer, shared, dry_run)
        return erase(self._stores, self._active(), plan, progress=progress)

    @operation("list erasures", needs.repository(Action.READ_REPOSITORY), needs.all_paths(Action.LIST_OBJECTS))
    def erasures(self) -> list[Erasure]:
        """List the erasures of this repository.

        Returns:
            The erasures, oldest first. The last one may be under way.

        Raises:
            NotFound: the repository has been deleted.
        """
        return erasures(self._stores, self._active())
