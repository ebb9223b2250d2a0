"""Options of commands that can run on a cluster: `--cluster` and its settings."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from graveler_core.cli.pairs import pairs
from graveler_core.cli.startup import let_pandas_in
from graveler_core.documents.text import visible
from graveler_core.errors import InvalidInput
from graveler_core.telemetry.secrets import without_passwords

if TYPE_CHECKING:
    from graveler_core.clusters import ClusterCommand

_PANEL = "Cluster options"


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """The cluster options as given on the command line."""

    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster",
            metavar="NAME",
            rich_help_panel=_PANEL,
            help="Run large work on this cluster: spark, or a name that a plug-in provides.",
        ),
    ] = None
    threshold: Annotated[
        int | None,
        typer.Option(
            "--threshold", metavar="ROWS", rich_help_panel=_PANEL, help="Use the cluster from this number of rows on."
        ),
    ] = None
    rows_per_task: Annotated[
        int | None,
        typer.Option("--rows-per-task", metavar="ROWS", rich_help_panel=_PANEL, help="Number of rows of one task."),
    ] = None
    start_cluster: Annotated[
        bool,
        typer.Option(
            "--start-cluster",
            rich_help_panel=_PANEL,
            help="Start the session of the cluster at once, as YARN's cluster mode requires.",
        ),
    ] = False
    storage_option: Annotated[
        list[str] | None,
        typer.Option(
            "--storage-option",
            metavar="KEY=VALUE",
            rich_help_panel=_PANEL,
            help="Option of the object stores; may be repeated."
            " Set secrets in the environment of each machine instead.",
        ),
    ] = None

    @property
    def storage_options(self) -> dict[str, str]:
        """Return the options of the object stores. Raises `InvalidInput` if one is not KEY=VALUE."""
        return pairs("storage option", self.storage_option or [])

    def open(self, verb: str) -> ClusterCommand | None:
        """Return the cluster for a command with this name; `None` without `--cluster`.

        Raises:
            InvalidInput: The cluster is unknown, or an option needs `--cluster`.
            Unavailable: The extra that the cluster needs is not installed.
        """
        if self.cluster is None:
            self._refuse_settings()
            return None
        from graveler_core.clusters import ClusterRequest, open_cluster

        let_pandas_in()  # Spark Connect needs it
        request = ClusterRequest(verb, _say, self.threshold, self.rows_per_task, self.start_cluster)
        return open_cluster(self.cluster, request)

    def _refuse_settings(self) -> None:
        given = {
            "--threshold": self.threshold is not None,
            "--rows-per-task": self.rows_per_task is not None,
            "--start-cluster": self.start_cluster,
        }
        for option in (name for name, is_given in given.items() if is_given):
            raise InvalidInput(f"{option}: needs --cluster, as in --cluster spark")


def _say(said: str) -> None:
    print(visible(without_passwords(said)), file=sys.stderr, flush=True)
