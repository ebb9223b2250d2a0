"""`GravelerResource`: a connection to graveler that is opened at first use.

Importing definitions and starting a code server open nothing. Pass secrets as `dg.EnvVar`, so that they appear in no
run configuration and no log. Fields that may contain a secret are left out of `repr`, because people log resources.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import dagster as dg
from pydantic import ConfigDict, Field, PrivateAttr

from graveler.spark.report import Report

if TYPE_CHECKING:
    from graveler_core.facade.graveler import Graveler
    from graveler_core.stores import Cluster


class GravelerResource(dg.ConfigurableResource):  # type: ignore[type-arg]
    """Connection to a key-value store and its object stores."""

    # Refuse unknown fields instead of ignoring them. Errors name fields and show no values, which may be secrets.
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    url: str = Field(
        repr=False,
        description="URL of the key-value store: sqlite:///path, postgresql://…, or a scheme of a plug-in. "
        'If it contains a password, pass dg.EnvVar("…") instead of the text.',
    )
    storage_options: dict[str, str] = Field(
        default_factory=dict,
        repr=False,
        description="Options of the object stores, with the names of obstore. Default: its environment variables.",
    )
    access_key_id: str = Field(default="", description="Id of an access key, required if access control is set up.")
    secret_access_key: str = Field(
        default="", repr=False, description='Secret of the access key. Pass dg.EnvVar("…") instead of the text.'
    )
    cache_dir: str | None = Field(
        default=None,
        description="Local directory that caches data of commits in remote object stores. Processes may share it.",
    )
    cache_bytes: int | None = Field(default=None, description="Approximate maximum size of it. Default: 10 GiB.")
    memory_cache_bytes: int | None = Field(
        default=None, description="Approximate maximum size of decoded commits in memory. Default: 256 MiB."
    )
    _graveler: "Graveler | None" = PrivateAttr(default=None)
    _report: Report = PrivateAttr(default_factory=Report)

    def graveler(self) -> "Graveler":
        """Return the handle. The first call connects, and later calls return the same handle."""
        from graveler_core import connect
        from graveler_core.model.credentials import credentials

        if self._graveler is None:
            self._graveler = connect(
                self.url,
                credentials=credentials(self.access_key_id, self.secret_access_key),
                storage_options=self.storage_options or None,
                cache_dir=self.cache_dir,
                cache_bytes=self.cache_bytes,
                memory_cache_bytes=self.memory_cache_bytes,
                cluster=self._cluster(),
            )
        return self._graveler

    def place(self, repository: str) -> dict[str, str]:
        """Return the options that name a repository for Spark's `format("graveler")`.

        Args:
            repository: Name of the repository.

        Returns:
            The options, which contain the credentials of the resource.
        """
        storage = {f"storage.{name}": value for name, value in self.storage_options.items()}
        key = {"access_key_id": self.access_key_id, "secret_access_key": self.secret_access_key}
        shown = {name: value for name, value in key.items() if value}
        return {"store": self.url, "repository": repository, **shown, **storage}

    def report(self, say: Callable[[str], None], flow: str) -> Report:
        """Return a report that passes the decisions and the progress of a flow to `say`: the place where its work runs,
        and the work that is done.

        Args:
            say: Function of one line of text, such as the method `info` of a run's log.
            flow: Name of the flow, for example `commit`.

        Returns:
            The report.
        """
        return self._report.begin(say, flow)

    def _cluster(self) -> "Cluster | None":
        """Return the cluster for work that outgrows this process; here `None`."""
        return None

    def teardown_after_execution(self, context: dg.InitResourceContext) -> None:
        """Close the handle at the end of the run or tick, which also finishes counters and background work.

        Args:
            context: Dagster's context of the resource.
        """
        opened, self._graveler = self._graveler, None
        if opened is not None:
            opened.close()
