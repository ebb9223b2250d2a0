"""Version of the package, and its entry in Dagster's list of installed libraries."""

from __future__ import annotations

from importlib.metadata import version

from dagster_shared.libraries import DagsterLibraryRegistry

__version__ = version("graveler")

# Not a package of Dagster's own: its version does not follow Dagster's.
DagsterLibraryRegistry.register("dagster-graveler", __version__, is_dagster_package=False)
