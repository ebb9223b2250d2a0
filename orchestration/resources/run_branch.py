"""`RunBranch`: the branch that a run works on, isolated from everybody else until it is merged.

Assets (through the IO manager), checks and ops of a run all ask this resource, so they agree on the branch.
"""

from typing import TYPE_CHECKING

import dagster as dg
from pydantic import ConfigDict, Field, PrivateAttr

from orchestration.resources.graveler import GravelerResource
from orchestration.runs import origin_run_id, partition_label
from sensors.run_tags import BRANCH_TAG

if TYPE_CHECKING:
    from graveler_core.facade.branch import Branch
    from graveler_core.facade.repository import Repository
    from graveler_core.facade.snapshot import Snapshot

_RUN_DIGITS = 13
"""Of a run's id, in a branch name: 48 bits, one hyphen."""


class RunBranch(dg.ConfigurableResource):  # type: ignore[type-arg]
    """One repository, and in it the branch of the run at hand."""

    model_config = ConfigDict(extra="forbid")  # else Dagster ignores a field that is none

    graveler: dg.ResourceDependency[GravelerResource]
    repository: str = Field(description="The repository; created at first use.")
    storage_root: str = Field(description="A repository that does not exist yet keeps its objects below this URI.")
    into: str = Field(default="main", description="The branch to begin from and to publish into.")
    branch: str = Field(
        default="run-{run}",
        description="The branch to work on: {run} stands for the run that began the publication, {partition} for its "
        "partition key, or first_to_last of a range. The run tag graveler/branch wins over this.",
    )
    _name: str | None = PrivateAttr(default=None)

    def setup_for_execution(self, context: dg.InitResourceContext) -> None:
        """Settle the branch's name for the run at hand. Connects to nothing.

        Raises:
            InvalidInput: the name asks for what the run does not have.
        """
        run, instance = context.run, context.instance
        if run is None or instance is None:
            return
        self._name = run.tags.get(BRANCH_TAG) or self._filled(instance, run)

    @property
    def name(self) -> str:
        """The branch's name; outside of a run, the branch to publish into."""
        return self.into if self._name is None else self._name

    def open_repository(self) -> "Repository":
        """The repository, created if it does not exist."""
        from graveler_core.errors import NotFound

        try:
            return self.graveler.graveler().repository(self.repository)
        except NotFound:
            return self._create_repository()

    def open_for_writing(self) -> "Branch":
        """The run's branch, created from `into` if it does not exist."""
        from graveler_core.errors import NotUnique

        repository = self.open_repository()
        if self.exists():
            return repository.branch(self.name)
        try:
            return repository.create_branch(self.name, source=self.into)
        except NotUnique:
            return repository.branch(self.name)

    def open_for_reading(self) -> "Snapshot":
        """What the run sees: its branch with what is staged there, else the branch it would begin from."""
        return self.open_repository().at(self.name if self.exists() else self.into)

    def exists(self) -> bool:
        """Whether the run's branch is there."""
        from graveler_core.errors import NotFound

        try:
            self.open_repository().branch(self.name)
        except NotFound:
            return False
        return True

    def _filled(self, instance: dg.DagsterInstance, run: dg.DagsterRun) -> str:
        from graveler_core.errors import InvalidInput, Kind

        given = {"run": origin_run_id(instance, run)[:_RUN_DIGITS]}
        if partition := partition_label(run, to="_to_"):
            given["partition"] = partition
        try:
            return self.branch.format_map(given)
        except (AttributeError, LookupError, ValueError) as e:
            fields = " and ".join(f"{{{name}}}" for name in given)
            raise InvalidInput(
                f"branch {self.branch!r}: of this run, {fields} may stand in it", kind=Kind.InvalidName
            ) from e

    def _create_repository(self) -> "Repository":
        from graveler_core.errors import Kind, NotUnique

        graveler = self.graveler.graveler()
        namespace = f"{self.storage_root.rstrip('/')}/{self.repository}"
        try:
            return graveler.create_repository(self.repository, namespace, default_branch=self.into)
        except NotUnique as e:
            if e.kind is not Kind.RepositoryExists:
                raise
            return graveler.repository(self.repository)  # another run was faster
