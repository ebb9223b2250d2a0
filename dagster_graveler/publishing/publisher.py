"""Parts of a publish asset: the targets in their order, and the pool."""

from __future__ import annotations

from dataclasses import dataclass

import dagster as dg

from dagster_graveler.display.show import Show
from dagster_graveler.publishing.groups import Publication, TableGroup
from dagster_graveler.resources.graveler_branch import GravelerBranch


@dataclass(frozen=True, slots=True)
class MergeTarget:
    """A group, the key of its branch resource, and the function for metadata of the published state."""

    group: TableGroup
    branch_key: str
    show: Show | None = None


@dataclass(frozen=True, slots=True)
class Publisher:
    """Targets that a publish asset merges, in this order."""

    publication: Publication
    targets: tuple[MergeTarget, ...]
    pool: str

    @property
    def slug(self) -> str:
        """Name of the publication in the form of op names."""
        return self.publication.key.to_python_identifier()

    @property
    def inputs(self) -> dict[str, dg.AssetKey]:
        """Tables by the names of the inputs that wait for them."""
        keys = [table.key for target in self.targets for table in target.group.tables]
        return {key.to_python_identifier(): key for key in keys}

    @property
    def branch_keys(self) -> set[str]:
        """Keys of the branch resources."""
        return {target.branch_key for target in self.targets}

    def branches(self, resources: object) -> list[GravelerBranch]:
        """Return the branch resource of each target.

        Args:
            resources: Resources of the context.

        Raises:
            Failure: A branch resource works on the published branch itself, or two of them have equal repositories.
        """
        found: list[GravelerBranch] = [getattr(resources, target.branch_key) for target in self.targets]
        for branch in found:
            branch.refuse_into()
        names = [branch.repository for branch in found]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise dg.Failure(
                f"{self.publication.name}: each target must have a repository of another name; {twice[0]!r} is the "
                "repository of several targets",
                allow_retries=False,
            )
        return found
