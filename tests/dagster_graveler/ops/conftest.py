"""Retries without pauses, an instance in memory, an empty repository."""

from __future__ import annotations

from collections.abc import Iterator

import dagster as dg
import pytest

from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from orchestration.local import Installation


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dagster_graveler.ops.failures.DELAY_SECONDS", 0.0)


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    """In memory: what these tests ask of it is little."""
    with dg.DagsterInstance.ephemeral() as instance:
        yield instance


@pytest.fixture
def lake(installation: Installation, graveler: Graveler) -> Repository:
    return graveler.create_repository("lake", f"{installation.data}/lake")
