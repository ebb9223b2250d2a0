"""Version of the package, and its entry in Dagster's list of installed libraries."""

from __future__ import annotations

from dagster_shared.libraries import DagsterLibraryRegistry

from graveler_core.version import __version__

__all__ = ["__version__"]

# Not a package of Dagster's own: its version does not follow Dagster's.
DagsterLibraryRegistry.register("dagster-graveler", __version__, is_dagster_package=False)
