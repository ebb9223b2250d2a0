"""Uploads straight to the object store. Every method only delegates to `engine`."""

from __future__ import annotations

from graveler_core.engine.staging import direct
from graveler_core.engine.staging.direct import DirectUpload
from graveler_core.facade.readable_ref import require_seconds
from graveler_core.facade.staging import Staging
from graveler_core.guard import needs
from graveler_core.guard.operation import operation
from graveler_core.model.entry import Entry
from graveler_core.model.names import new_path_key
from graveler_core.model.permission import Action


class DirectUploads(Staging):
    """Methods of `Branch` for content that other programs store, without sending it through this one."""

    @operation("begin upload", needs.path(Action.WRITE_OBJECT))
    def begin_upload(self, path: str, *, expires: int | None = None) -> DirectUpload:
        """Return an address at which a program may store the content of a path. Nothing is staged.

        Args:
            path: Path of the later entry.
            expires: Seconds for which a signed URL is valid, 1 to 604,800 (7 days). By default there is none, and the
                program needs its own access to the object store.

        Returns:
            The address and the URL. Whoever holds the URL can replace the content until it expires.

        Raises:
            InvalidInput: the store does not sign URLs (`file://` and `memory://`); the number of seconds or the path is
                not valid.
        """
        new_path_key(path)
        if expires is not None:
            require_seconds(expires)
        return direct.begin(*self._at, path, expires)

    @operation("link", needs.path(Action.WRITE_OBJECT))
    def link(self, path: str, entry: Entry, *, if_absent: bool = False) -> Entry:
        """Stage an entry for content that was stored at an address of `begin_upload`.

        Such an address is random, so knowing it is sufficient. All others are refused.

        Args:
            path: Path of the entry.
            entry: The entry, with this address (relative to the storage namespace) and the size of the content.
            if_absent: Refuse a path that has an entry. Of several concurrent calls with this option, one succeeds.

        Returns:
            The staged entry.

        Raises:
            InvalidInput: the address is not one of `begin_upload`, the object has another size, or the path is not
                valid.
            NotFound: (`ObjectNotFound`) there is no object at the address; or (`RepositoryNotFound`) the repository was
                deleted and created again during the call.
            NotUnique: (`PathExists`) with `if_absent`, the path has an entry on the branch.
            Conflict: (`ContentCollected`) the content was uploaded so long ago that a collection deletes it.
        """
        new_path_key(path)
        return direct.link(*self._at, path, entry, if_absent=if_absent)
