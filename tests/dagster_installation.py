"""A local installation with Dagster and graveler, in a directory of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from graveler_core import connect
from graveler_core.facade.graveler import Graveler
from orchestration.local import Installation

FailOnce = Callable[..., list[str]]


@pytest.fixture
def installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installation:
    """`.graveler/` in a directory of its own; the environment is the former one afterwards."""
    for name in ("DAGSTER_HOME", "GRAVELER_STORE", "GRAVELER_DATA", "GRAVELER_INCOMING", "GRAVELER_SPARK_FROM"):
        monkeypatch.setenv(name, "")
    made = Installation(tmp_path / ".graveler")
    made.enter()
    return made


@pytest.fixture
def instance(installation: Installation) -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.get() as found:
        yield found


@pytest.fixture
def graveler(installation: Installation) -> Iterator[Graveler]:
    with connect(installation.store) as opened:
        yield opened


@pytest.fixture
def fail_once(monkeypatch: pytest.MonkeyPatch) -> FailOnce:
    """Make a method fail at its first call, before or after doing its work; gives the list of calls."""

    def arrange(owner: type, method: str, error: Exception, *, after: bool = False) -> list[str]:
        real, calls = getattr(owner, method), []

        def failing(*args: Any, **kwargs: Any) -> Any:
            calls.append(method)
            if len(calls) == 1 and not after:
                raise error
            result = real(*args, **kwargs)
            if len(calls) == 1:
                raise error
            return result

        monkeypatch.setattr(owner, method, failing)
        return calls

    return arrange
