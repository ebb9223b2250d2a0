"""Clusters by name: an entry point of the group `graveler.clusters` gives a cluster to the command line.

An entry point is a function `(request: ClusterRequest) -> ClusterCommand`. It is loaded when a command names its
cluster, so this package imports no cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Final, Protocol

from graveler_core.errors import InvalidInput
from graveler_core.extras import requires

if TYPE_CHECKING:
    from graveler_core.facade.branch import Branch
    from graveler_core.model.credentials import Credentials
    from graveler_core.stores import Cluster

GROUP: Final = "graveler.clusters"
_EXTRAS: Final = {"spark": "spark"}
"""Extras that install what the cluster of a name imports."""


@dataclass(frozen=True, slots=True)
class ClusterRequest:
    """Settings of one command that runs on a cluster."""

    verb: str
    """Verb of the command, for progress messages."""
    say: Callable[[str], None]
    """Is called with each line of progress."""
    threshold: int | None = None
    """Number of rows from which on work runs on the cluster; the cluster's default if None."""
    rows_per_task: int | None = None
    """Number of rows of one task; the cluster's default if None."""
    start: bool = False
    """Start the session of the cluster at once, not when there is work for it."""


@dataclass(frozen=True, slots=True)
class StoreAccess:
    """Arguments of `graveler_core.connect` that the workers of a cluster need, too."""

    url: str = field(repr=False)
    credentials: Credentials | None = None
    storage_options: Mapping[str, str] = field(default_factory=dict, repr=False)
    cache_dir: str | None = None
    cache_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class FilesOfRows:
    """Files whose rows are staged: `path`, and other columns of an entry."""

    location: str
    """Path or URI, as the cluster reads it."""
    format: str = "parquet"
    partitions: int | None = None
    """Number of partitions that the rows are sorted into; the cluster's default if None."""


class ClusterCommand(Protocol):
    """A cluster for one command of the command line."""

    def cluster(self, access: StoreAccess) -> Cluster:
        """Return the cluster. Its workers open the store as `access` describes.

        Raises:
            InvalidInput: The workers cannot open this store, or a setting of the request is invalid.
        """

    def stage_files(self, branch: Branch, files: FilesOfRows) -> dict[str, Any]:
        """Stage the rows of files on a branch in one step, and return a JSON document with what was staged.

        Raises:
            InvalidInput: The files cannot be read, or a row breaks a rule; nothing is staged.
        """

    def facts(self) -> dict[str, str | int]:
        """Return the engine that did the work, and the numbers that decided it."""

    def report(self, document: Mapping[str, Any]) -> None:
        """Send the command's JSON document, a result or an error, to the system that started the command, if any."""

    def close(self) -> None:
        """End the connection to the system that started the command."""


def open_cluster(name: str, request: ClusterRequest) -> ClusterCommand:
    """Load the entry point of a cluster, and return the cluster for one command.

    Args:
        name: Name of an entry point in the group `graveler.clusters`.
        request: Settings of the command.

    Raises:
        InvalidInput: No entry point has this name; the message names those that exist.
        Unavailable: The extra that the cluster needs is not installed; the message names it.
    """
    found = entry_points(group=GROUP, name=name)
    if not found:
        known = ", ".join(sorted(entry_points(group=GROUP).names)) or "none"
        raise InvalidInput(f"no cluster has the name {name!r}; known are: {known}")
    with requires(_EXTRAS[name]) if name in _EXTRAS else nullcontext():
        opened = next(iter(found)).load()
    command: ClusterCommand = opened(request)
    return command
