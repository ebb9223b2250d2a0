"""Ephemeral lake: a store in a directory, a Dagster instance in memory, and the resources that connect them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dagster as dg

from dagster_graveler.io_managers.graveler import GravelerIOManager
from dagster_graveler.resources.graveler import GravelerResource
from dagster_graveler.resources.graveler_branch import GravelerBranch

if TYPE_CHECKING:
    from graveler_core.facade.graveler import Graveler
    from graveler_core.facade.repository import Repository

REPOSITORY = "lake"


@dataclass(frozen=True)
class EphemeralLake:
    """Lake for one test."""

    instance: dg.DagsterInstance
    graveler: GravelerResource
    branch: GravelerBranch
    handle: Graveler
    """Handle of the store, for preparing and examining it."""

    @property
    def repository(self) -> Repository:
        """The repository of the branch. It is created at first use."""
        return self.branch.open_repository()

    @property
    def resources(self) -> dict[str, Any]:
        """Resources by their usual keys: `graveler`, `branch` and `io_manager`."""
        return {
            "graveler": self.graveler,
            "branch": self.branch,
            "io_manager": GravelerIOManager(branch=self.branch),
        }

    def materialize(
        self, assets: Sequence[Any], *, resources: Mapping[str, Any] | None = None, **arguments: Any
    ) -> dg.ExecuteInProcessResult:
        """Materialize assets in this process.

        Args:
            assets: Assets, checks and specs.
            resources: Resources in addition to those of the lake, or in their place.
            arguments: Other arguments of `dagster.materialize`, such as `partition_key`, `tags` and `raise_on_error`.

        Returns:
            The result of the run.
        """
        given = {**self.resources, **(resources or {})}
        return dg.materialize(assets, instance=self.instance, resources=given, **arguments)


@contextmanager
def ephemeral_lake(directory: Path, repository: str = REPOSITORY) -> Iterator[EphemeralLake]:
    """Open a lake in an empty directory.

    Args:
        directory: Directory for the store and its objects.
        repository: Name of the repository.

    Yields:
        The lake. It is closed afterwards, and its files stay.
    """
    graveler = GravelerResource(url=f"sqlite:///{directory / 'meta.db'}?durability=process")
    branch = GravelerBranch(graveler=graveler, repository=repository, storage_root=(directory / "data").as_uri())
    with dg.DagsterInstance.ephemeral() as instance:
        handle = graveler.graveler()
        try:
            yield EphemeralLake(instance, graveler, branch, handle)
        finally:
            handle.close()
