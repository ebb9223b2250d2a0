"""`GravelerResource`: a connection to graveler, opened when it is first used.

Importing the definitions and starting a code server open nothing; secrets come as `dg.EnvVar`, so that they stand in no
run configuration and no log.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import dagster as dg
from pydantic import Field, PrivateAttr

from jobs.report import Report

if TYPE_CHECKING:
    from graveler_core.facade.graveler import Graveler
    from graveler_core.stores import Cluster


class GravelerResource(dg.ConfigurableResource):  # type: ignore[type-arg]
    """Where graveler keeps what changes, and how to reach it."""

    # What may hold a secret shows in no repr, which is what ends up in logs.
    url: str = Field(
        repr=False,
        description="The key-value store: sqlite:///path, postgresql://…, or a plug-in's. With a password in it, "
        'give dg.EnvVar("…"), not the text.',
    )
    storage_options: dict[str, str] = Field(
        default_factory=dict,
        repr=False,
        description="Options of the object stores, as obstore names them; else its environment.",
    )
    access_key_id: str = Field(default="", description="Who opens it, where it was said who may do what.")
    secret_access_key: str = Field(
        default="", repr=False, description='Of that key: give dg.EnvVar("…"), not the text.'
    )
    _graveler: "Graveler | None" = PrivateAttr(default=None)
    _report: Report = PrivateAttr(default_factory=Report)

    def graveler(self) -> "Graveler":
        """The handle. Connects at the first call; every later one gives the same handle."""
        from graveler_core import connect
        from graveler_core.model.credentials import credentials

        if self._graveler is None:
            options = self.storage_options or None
            shown = credentials(self.access_key_id, self.secret_access_key)
            self._graveler = connect(self.url, credentials=shown, storage_options=options, cluster=self._cluster())
        return self._graveler

    def place(self, repository: str) -> dict[str, str]:
        """Options that name a repository to Spark's `format("graveler")`."""
        storage = {f"storage.{name}": value for name, value in self.storage_options.items()}
        key = {"access_key_id": self.access_key_id, "secret_access_key": self.secret_access_key}
        shown = {name: value for name, value in key.items() if value}
        return {"store": self.url, "repository": repository, **shown, **storage}

    def report(self, say: Callable[[str], None], flow: str) -> Report:
        """Where a flow's work is done from now on, here or on Spark; told to `say` as it is decided, and how far."""
        return self._report.begin(say, flow)

    def _cluster(self) -> "Cluster | None":
        """What does the work that outgrows this process; here nothing does."""
        return None

    def teardown_after_execution(self, context: dg.InitResourceContext) -> None:
        """Close the handle with the run or tick that used it: what is counted and done in the background ends then."""
        opened, self._graveler = self._graveler, None
        if opened is not None:
            opened.close()
