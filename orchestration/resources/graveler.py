"""`GravelerResource`: a connection to graveler, opened when it is first used.

Importing the definitions and starting a code server open nothing; secrets come as `dg.EnvVar`, so that they stand in no
run configuration and no log.
"""

from typing import TYPE_CHECKING

import dagster as dg
from pydantic import Field, PrivateAttr

if TYPE_CHECKING:
    from graveler_core.facade.graveler import Graveler


class GravelerResource(dg.ConfigurableResource):  # type: ignore[type-arg]
    """Where graveler keeps what changes, and how to reach it."""

    url: str = Field(
        description="The key-value store: sqlite:///path, postgresql://…, or a plug-in's. With a password in it, "
        'give dg.EnvVar("…"), not the text.'
    )
    storage_options: dict[str, str] = Field(
        default_factory=dict, description="Options of the object stores, as obstore names them; else its environment."
    )
    _graveler: "Graveler | None" = PrivateAttr(default=None)

    def graveler(self) -> "Graveler":
        """The handle. Connects at the first call; every later one gives the same handle."""
        from graveler_core import connect

        if self._graveler is None:
            self._graveler = connect(self.url, storage_options=self.storage_options or None)
        return self._graveler

    def teardown_after_execution(self, context: dg.InitResourceContext) -> None:
        """Close the handle with the run or tick that used it: what is counted and done in the background ends then."""
        opened, self._graveler = self._graveler, None
        if opened is not None:
            opened.close()
