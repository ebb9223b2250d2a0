"""`GravelerBranch`: the branch on which a run works, isolated from all others until it is merged.

Assets (through the IO manager), checks and ops of a run all use this resource, so they use the same branch.
"""

import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import dagster as dg
from pydantic import ConfigDict, Field, PrivateAttr

from dagster_graveler.publishing.branch_choice import BranchChoice, Chosen, choose, marks, publications_for
from dagster_graveler.publishing.groups import Publication
from dagster_graveler.publishing.written import BRANCH, CONTENT, content_digest
from dagster_graveler.resources.branch_template import RUN_DIGITS, check_template, fields_of, filled, missing_error
from dagster_graveler.resources.graveler import GravelerResource
from dagster_graveler.resources.read_commits import commit_to_read, head, start_of_branch
from dagster_graveler.run_tags import BRANCH_TAG, MarkedBranch, created_mark, read_commit_tag
from dagster_graveler.runs import is_created_by_run, is_created_since_start, origin_run_id

if TYPE_CHECKING:
    from graveler_core.facade.branch import Branch
    from graveler_core.facade.repository import Repository
    from graveler_core.facade.snapshot import Snapshot

_CREATION_POLL = 0.05
"""Seconds between two attempts to open a repository that another process is creating."""


class GravelerBranch(dg.ConfigurableResource):  # type: ignore[type-arg]
    """Repository and branch of the current run."""

    model_config = ConfigDict(extra="forbid")  # otherwise Dagster ignores unknown fields

    graveler: dg.ResourceDependency[GravelerResource]
    repository: str = Field(description="Name of the repository. It is created at first use.")
    storage_root: str = Field(description="URI below which a new repository stores its objects.")
    into: str = Field(default="main", description="Branch from which the run starts and into which it publishes.")
    default_branch: str = Field(
        default="",
        description="Default branch of the repository. If `into` is another branch and does not exist, it is created "
        "from this one at first use. Empty means `into`.",
    )
    ephemeral: bool = Field(
        default=False,
        description="Accept a `storage_root` in memory (memory://) on a store that outlives the process, for tests. "
        "The content of a new repository is lost at the end of the process.",
    )
    branch: str = Field(
        default="run-{run}",
        description="Template for the name of the run's branch. {run} is the id of the run that began the publication; "
        "{partition} is its partition key, or first_to_last for a range; {backfill} is the id of its backfill; "
        "{deployment} is the name of its deployment. A run that lacks a field can only read. The run tag "
        "graveler/branch overrides the template. Characters that a branch name cannot have are replaced, and a digest "
        "is appended.",
    )
    _run: dg.DagsterRun | None = PrivateAttr(default=None)
    _instance: dg.DagsterInstance | None = PrivateAttr(default=None)
    _choice: BranchChoice | None = PrivateAttr(default=None)
    _is_chosen: bool = PrivateAttr(default=False)
    _publications: tuple[Publication, ...] | None = PrivateAttr(default=None)
    _marked: str | None = PrivateAttr(default=None)
    """Name of the publication in the tags of the run, once they are written; empty for none."""

    def setup_for_execution(self, context: dg.InitResourceContext) -> None:
        """Check the template for the name of a branch of the run's own, without connecting.

        Raises:
            InvalidInput: The template has an unknown field.
        """
        run, instance = context.run, context.instance
        if run is None or instance is None:
            return
        self._run, self._instance = run, instance
        if BRANCH_TAG not in run.tags:
            check_template(self.branch)

    @property
    def name(self) -> str:
        """Name of the branch; without a branch of the run, the branch to publish into."""
        choice = self.choice()
        return self.into if choice is None else choice.name

    @property
    def uid(self) -> str:
        """Uid of the branch, once the run has used it; otherwise empty."""
        choice = self.choice()
        return "" if choice is None else choice.uid

    def choice(self) -> BranchChoice | None:
        """Return the branch of the run and how it was found.

        It is `None` outside of a run, and if the run lacks a field of the template. Such a run can only read.
        """
        run, instance = self._run, self._instance
        if not self._is_chosen and run is not None and instance is not None:
            template = partial(self._own_name, instance, run)
            self._choice = choose(instance, run, self.repository, template, self.has)
            self._is_chosen = True
        return self._choice

    @property
    def run_id(self) -> str | None:
        """Id of the current run, or `None` outside of a run."""
        return None if self._run is None else self._run.run_id

    @property
    def origin_run_id(self) -> str | None:
        """Id of the run that the current run continues, directly or indirectly, or its own; `None` outside of a run."""
        run, instance = self._run, self._instance
        return None if run is None or instance is None else origin_run_id(instance, run)

    def open_repository(self) -> "Repository":
        """Return the repository. It is created if it does not exist."""
        from graveler_core.errors import NotFound

        try:
            repository = self.graveler.graveler().repository(self.repository)
        except NotFound:
            repository = self._create_repository()
        if self.default_branch not in ("", self.into):
            self._create_into(repository)
        return repository

    def open_for_writing(self, table: dg.AssetKey | None = None) -> "Branch":
        """Return the branch of the run. If it does not exist, it is created from the commit of `into` that the run has
        read, or from the head of `into`.

        Args:
            table: Key of the table that is to be written. If a run has tables of several groups, it tells the group
                that belongs to this repository.

        Raises:
            InvalidInput: The run lacks a field of the template.
            NotFound: The run continues with a branch that has been deleted.
            Failure: The branch of the run is `into`, and the run belongs to a publication.
        """
        from graveler_core.errors import NotUnique

        self._refuse_write(table)
        repository = self.open_repository()
        if self.exists():
            written = repository.branch(self.name)
            self._mark(written, table=table)
            return written
        self._refuse_lost_branch()
        try:
            start = start_of_branch(self._instance, self._run, repository, self.into)
            made, is_new = repository.create_branch(self.name, source=start), True
        except NotUnique:
            made, is_new = repository.branch(self.name), False
        self._mark(made, is_new, table)
        return made

    def open_for_reading(self) -> "Snapshot":
        """Return the state that the run sees: its branch with staged changes, or the published commit from which it
        would start. Outside of a run, it is `into` with staged changes.
        """
        return self.open_repository().at(self.name if self.exists() else self.published_commit())

    def open_after_write(self) -> "Snapshot":
        """Return the branch of the run with its staged changes, immediately after a write. IO managers measure it.

        Raises:
            NotFound: The branch was deleted during the write. What was written is deleted with it.
        """
        if not self.exists():
            self._refuse_lost_branch()
        return self.open_repository().at(self.name)

    def published_commit(self) -> str:
        """Return the commit of `into` that a run without a branch reads: for all of its steps the same one.

        If the branch of the run is published already, it is the head of `into`.
        """
        current = partial(head, self.open_repository(), self.into)
        if self._instance is None or self.uid:
            return current()
        tag = read_commit_tag(self.repository, self.into)
        return commit_to_read(self._instance, self.run_id, tag, tag, current)

    def measured(self, path: str) -> dict[str, Any]:
        """Return metadata for the result of an asset check: the branch that the run reads, and a digest of the table.

        The results of checks that are given to `write_audit_publish` have these metadata already. The digest equals
        `graveler/content` of the materialization that was checked. It is left out if the run has no branch and reads
        the published one.

        Args:
            path: Path of the table in the repository.
        """
        name = self.name if self.exists() else self.into
        return {BRANCH: name, **({} if name == self.into else {CONTENT: content_digest(self.open_for_reading(), path)})}

    def exists(self) -> bool:
        """Return true if the branch of the run exists. If it does, write its name and uid to the tags of the run."""
        choice = self.choice()
        if choice is None and self._run is not None:
            return False
        found = self._find(self.name)
        if found is None or (choice is not None and choice.uid not in ("", str(found.record().uid))):
            return False
        self._mark(found)
        return True

    def _find(self, name: str) -> "Branch | None":
        from graveler_core.errors import NotFound

        try:
            return self.open_repository().branch(name)
        except NotFound:
            return None

    def is_branch(self, name: str) -> bool:
        """Return true if the repository has a branch with this name.

        Args:
            name: Name of the branch.
        """
        return self._find(name) is not None

    def has(self, name: str, uid: str) -> bool:
        """Return true if the repository has a branch with this name and uid.

        Args:
            name: Name of the branch.
            uid: Uid of the branch.
        """
        found = self._find(name)
        return found is not None and found.record().uid == uid

    def _mark(self, branch: "Branch", is_new: bool = False, table: dg.AssetKey | None = None) -> None:
        """Write the tags of the run, once in each process, and again when a write tells the publication.

        Args:
            branch: The branch of the run.
            is_new: True if the run has just created the branch.
            table: Key of the table that is to be written, if it is known.
        """
        run, instance, choice = self._run, self._instance, self._choice
        if run is None or instance is None or choice is None or branch.name == self.into:
            return
        publication = self._publication(instance, run, table)
        told = "" if publication is None else publication.name
        if self._marked is not None and told in ("", self._marked):
            return
        record = branch.record()
        uid = str(record.uid)
        tags = marks(run, choice, self.repository, uid, publication)
        # A process that dies after it created the branch does not write the tag. The name then tells it, or
        # the time of the creation if the name is that of the template.
        is_own = is_new or origin_run_id(instance, run)[:RUN_DIGITS] in branch.name
        is_own = is_own or (choice.chosen is Chosen.TEMPLATE and is_created_since_start(instance, run, record))
        if is_own or is_created_by_run(instance, self.repository, MarkedBranch(branch.name, uid)):
            tags |= created_mark(self.repository, uid)
        instance.add_run_tags(run.run_id, tags)
        self._choice = BranchChoice(choice.name, uid, choice.chosen, choice.resumes)
        self._marked = told

    def _publication(
        self, instance: dg.DagsterInstance, run: dg.DagsterRun, table: dg.AssetKey | None
    ) -> Publication | None:
        """Return the publication of the run, or `None`. Of several ones, it is that of the table."""
        if self._publications is None:
            self._publications = publications_for(instance, run)
        found = self._publications
        return found[0] if len(found) == 1 else next((each for each in found if table in each.keys), None)

    def refuse_into(self) -> None:
        """Refuse a run that works on the branch to publish into.

        Raises:
            Failure: The branch of the run is `into`.
        """
        choice = self.choice()
        if choice is not None and choice.name == self.into:
            advice = "remove the run tag graveler/branch, or name another branch"
            if choice.chosen is not Chosen.TAG:
                advice = f"the template {self.branch!r} must give another name, as run-{{run}} does"
            raise dg.Failure(
                f"the run works on {self.into!r} itself, the branch to publish into: {advice}", allow_retries=False
            )

    def _refuse_write(self, table: dg.AssetKey | None) -> None:
        """Refuse a write without a branch of the run, and a write of unchecked tables of a publication on `into`."""
        run, instance, choice = self._run, self._instance, self.choice()
        if run is None or instance is None:
            return
        if choice is None:
            raise missing_error(self.branch, fields_of(instance, run))
        publication = self._publication(instance, run, table) if choice.name == self.into else None
        if publication is not None and (table is None or table in publication.keys):
            self.refuse_into()

    def _refuse_lost_branch(self) -> None:
        """Refuse to continue if this step, or earlier steps of the publication, wrote on a branch that is deleted."""
        from graveler_core.errors import Kind, NotFound

        choice = self.choice()
        if choice is not None and choice.uid:
            raise NotFound(
                f"branch {choice.name!r} of repository {self.repository!r}, on which this run or the run that it "
                "continues has worked, does not exist any more: it was published or deleted. Start a new run.",
                kind=Kind.BranchNotFound,
            )

    def _own_name(self, instance: dg.DagsterInstance, run: dg.DagsterRun) -> str | None:
        return filled(self.branch, fields_of(instance, run))

    def _create_into(self, repository: "Repository") -> None:
        from graveler_core.errors import NotFound, NotUnique

        try:
            repository.branch(self.into)
        except NotFound:
            with suppress(NotUnique):
                repository.create_branch(self.into, source=self.default_branch)

    def _create_repository(self) -> "Repository":
        """Create the repository, or wait for the process that is creating it.

        The steps of a run begin at the same time in processes of their own. A repository that is being created cannot
        be opened yet. If its creator dies, another process can create it as soon as the creation counts as failed.
        """
        from graveler_core.errors import Kind, NotFound, NotUnique

        graveler = self.graveler.graveler()
        namespace = f"{self.storage_root.rstrip('/')}/{self.repository}"
        while True:
            try:
                return graveler.create_repository(
                    self.repository,
                    namespace,
                    default_branch=self.default_branch or self.into,
                    ephemeral=self.ephemeral,
                )
            except NotUnique as taken:
                if taken.kind is not Kind.RepositoryExists:
                    raise
            try:
                return graveler.repository(self.repository)
            except NotFound as missing:
                if missing.kind is not Kind.RepositoryNotFound:
                    raise
            time.sleep(_CREATION_POLL)
