"""The small lake on a store and an instance of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from graveler_core import connect
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from tests.dagster_graveler.publishing import small_lake

JANUARY = "2013-01"


class Lake:
    """The small lake: runs over all or some of its assets, and the state of its repository."""

    def __init__(self, url: str, storage: str, instance: dg.DagsterInstance, graveler: Graveler) -> None:
        self.instance = instance
        self._place = url, storage
        self._graveler = graveler
        self.use()

    def use(self, **options: Any) -> None:
        """Define the pipeline with other options."""
        self.definitions = small_lake.lake(*self._place, **options)

    def run(
        self,
        *assets: str | dg.AssetKey,
        partition: str | None = JANUARY,
        tags: Mapping[str, str] | None = None,
        checks: bool = True,
        **delivered: Sequence[str],
    ) -> dg.ExecuteInProcessResult:
        """Run the whole group as its job, or some assets as the UI launches them."""
        small_lake.DELIVERED.clear()
        small_lake.DELIVERED.update({table: list(rows) for table, rows in delivered.items()})
        selection: dg.AssetSelection | None = dg.AssetSelection.assets(*assets) if assets else None
        if not checks:
            selection = (selection or dg.AssetSelection.all()).without_checks()
        name = "lake_job" if not assets and checks else "selected"
        if name == "lake_job":
            job = self.definitions.resolve_job_def(name)
        else:
            chosen = dg.define_asset_job(name, selection, executor_def=dg.in_process_executor)
            job = dg.Definitions.merge(self.definitions, dg.Definitions(jobs=[chosen])).resolve_job_def(name)
        return job.execute_in_process(
            instance=self.instance, partition_key=partition, tags=dict(tags or {}), raise_on_error=False
        )

    @property
    def repository(self) -> Repository:
        return self._graveler.repository("lake")

    def published(self, table: str, partition: str = JANUARY) -> list[str]:
        """Return the lines of a partition on `main`."""
        at = self.repository.at("main")
        return [
            line for entry in at.list(f"{table}/{partition}/") for line in at.read(entry.path).decode().splitlines()
        ]

    def history(self) -> list[str]:
        return [commit.id for commit in self.repository.log("main", first_parent=True)]

    def branches(self) -> list[str]:
        return sorted(branch.id for branch in self.repository.branches() if branch.id != "main")

    def metadata(self) -> dict[str, Any]:
        """Return the metadata of the last materialization of the publish asset."""
        event = self.instance.get_latest_materialization_event(small_lake.PUBLISH)
        assert event is not None
        assert event.asset_materialization is not None
        return {name: value.value for name, value in event.asset_materialization.metadata.items()}


@pytest.fixture
def lake_store(tmp_path: Path) -> Iterator[Graveler]:
    with connect(f"sqlite:///{tmp_path / 'meta.db'}") as opened:
        yield opened


@pytest.fixture
def lake_instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as made:
        yield made


@pytest.fixture
def lake(tmp_path: Path, lake_instance: dg.DagsterInstance, lake_store: Graveler) -> Iterator[Lake]:
    yield Lake(f"sqlite:///{tmp_path / 'meta.db'}", (tmp_path / "data").as_uri(), lake_instance, lake_store)
    small_lake.DELIVERED.clear()
