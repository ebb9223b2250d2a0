"""Documents about the environment: versions, settings, the key-value store, caches."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from itertools import islice

from graveler_core.blobs.open import OpenedBlobs
from graveler_core.diagnostics.budget import Budget
from graveler_core.diagnostics.plan import DiagnosticsPlan
from graveler_core.diagnostics.section import Section
from graveler_core.errors import CorruptData
from graveler_core.model.entities import FORMAT_VERSION
from graveler_core.records import layout as keys
from graveler_core.stores import Stores

_LIBRARIES = (
    "dagster",
    "obstore",
    "opentelemetry-api",
    "opentelemetry-sdk",
    "prometheus-client",
    "psycopg",
    "pyarrow",
    "pydantic",
    "pyspark",
    "sqlalchemy",
    "structlog",
    "typer",
    "xxhash",
)
_ROUNDS = 5
_ROWS = 10


def versions(stores: Stores, plan: DiagnosticsPlan, budget: Budget, section: Section) -> None:
    """Write the versions of graveler, its formats, Python, the machine and installed libraries, without importing
    them.
    """
    del stores, plan, budget
    section.content |= {
        "graveler": version("graveler"),
        "format_version": FORMAT_VERSION,
        "python": sys.version,
        "platform": platform.platform(),
        "libraries": {name: found for name in _LIBRARIES if (found := _installed(name)) is not None},
    }


def settings(stores: Stores, plan: DiagnosticsPlan, budget: Budget, section: Section) -> None:
    """Write the configuration of the process without secrets; of object-store options, only the names."""
    del budget
    section.content["settings"] = dict(plan.settings)
    section.content["objects"] = stores.blobs.describe() if isinstance(stores.blobs, OpenedBlobs) else None
    section.content["retry_budget"] = {
        "total": stores.retry_budget.total,
        "least": stores.retry_budget.least,
        "most": stores.retry_budget.most,
    }
    section.content["cluster"] = None if stores.cluster is None else type(stores.cluster).__name__
    section.content["verifies_tags"] = stores.hooks.verify_tag is not None


def store(stores: Stores, plan: DiagnosticsPlan, budget: Budget, section: Section) -> None:
    """Write the description of the key-value store, and its response times for a missing key and a page of rows."""
    del plan
    with section.trying("description"):
        section.content["store"] = stores.kv.describe()
    times: dict[str, list[float]] = {"get": [], "scan": []}
    folder = keys.REPOSITORIES
    with section.trying("round trips"):
        for _ in budget.over(range(_ROUNDS)):
            with _timed(stores, times["get"]):
                stores.kv.get(folder.partition, folder.prefix + b"!")  # no name begins like this
            with _timed(stores, times["scan"]):
                rows = list(islice(stores.kv.scan(folder.partition, prefix=folder.prefix, limit=_ROWS), _ROWS))
            _check_order([row.key for row in rows])
    section.content["milliseconds"] = {
        verb: {"least": 1e3 * min(took), "median": 1e3 * sorted(took)[len(took) // 2], "most": 1e3 * max(took)}
        for verb, took in times.items()
        if took
    }


def caches(stores: Stores, plan: DiagnosticsPlan, budget: Budget, section: Section) -> None:
    """Write the cache contents of this process. They are small if the process was started for the archive."""
    del plan, budget
    section.content |= {
        "trees_bytes": stores.ranges.held_bytes,
        "uncommitted_bytes": stores.uncommitted.held_bytes,
        "collected_bytes": stores.collected.held_bytes,
        "commits": stores.commits.held,
        "registers": stores.registers.held,
    }


Part = Callable[[Stores, DiagnosticsPlan, Budget, Section], None]


@contextmanager
def _timed(stores: Stores, times: list[float]) -> Iterator[None]:
    began = stores.clock.monotonic()
    yield
    times.append(stores.clock.monotonic() - began)


def _check_order(found: list[bytes]) -> None:
    if found != sorted(set(found)):
        raise CorruptData("the key-value store returned the rows of a scan in the wrong order")


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
