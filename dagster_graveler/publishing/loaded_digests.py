"""Digests of the tables that the steps of asset checks have loaded as inputs.

Dagster loads the inputs of a check before it calls the function of the check, and a table may be written in between.
Therefore `GravelerIOManager` takes the digest before it lists the files, and the result of the check gets this digest.
It is never the digest of a write that the check has not seen.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

_LOADED: WeakKeyDictionary[object, dict[tuple[str, str], str]] = WeakKeyDictionary()
"""Digests by the context of the step, and by the repository and the path of the table."""


def add_loaded(step: object, repository: str, path: str, digest: str) -> None:
    """Keep the digest of a table as long as the attempt of the step runs.

    Args:
        step: Dagster's context of the step.
        repository: Name of the repository.
        path: Path of the table in the repository.
        digest: Digest of the table, taken before the table was loaded.
    """
    _LOADED.setdefault(step, {})[repository, path] = digest


def loaded_digest(step: object, repository: str, path: str) -> str | None:
    """Return the digest of a table that a step has loaded, or `None`.

    Args:
        step: Dagster's context of the step.
        repository: Name of the repository.
        path: Path of the table in the repository.
    """
    return _LOADED.get(step, {}).get((repository, path))
