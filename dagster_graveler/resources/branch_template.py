"""Template for the name of a run's branch, and the values of its fields."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import dagster as dg

from dagster_graveler.runs import origin_run_id, partition_label

if TYPE_CHECKING:
    from graveler_core.errors import InvalidInput

_FIELDS = ("run", "partition", "backfill", "deployment")
RUN_DIGITS = 13
"""Number of characters of the run id in a branch name: 12 hexadecimal digits (48 bits) and one hyphen."""
_BACKFILL_TAG = "dagster/backfill"
_DEPLOYMENT_TAG = "dagster/deployment-name"


def check_template(template: str) -> None:
    """Refuse a template that no run can fill.

    Args:
        template: The template.

    Raises:
        InvalidInput: The template has an unknown field, or is malformed.
    """
    from graveler_core.errors import InvalidInput, Kind

    try:
        template.format_map(dict.fromkeys(_FIELDS, "0" * RUN_DIGITS))
    except (AttributeError, LookupError, ValueError) as e:
        *others, last = (f"{{{name}}}" for name in _FIELDS)
        raise InvalidInput(
            f"branch {template!r}: the template may use only {', '.join(others)} and {last}", kind=Kind.InvalidName
        ) from e


def fields_of(instance: dg.DagsterInstance, run: dg.DagsterRun) -> dict[str, str]:
    """Return the values of the fields that a run has, in the characters of branch names.

    Args:
        instance: The instance of the run.
        run: The run.
    """
    from graveler_core.model.names import is_ref_name

    given = {"run": origin_run_id(instance, run)[:RUN_DIGITS]}
    if partition := partition_label(run, to="_to_"):
        given["partition"] = partition if is_ref_name(partition) else _slug(partition)
    for field, tag in {"backfill": _BACKFILL_TAG, "deployment": _DEPLOYMENT_TAG}.items():
        if tag in run.tags:
            given[field] = _slug(run.tags[tag])
    return given


def filled(template: str, given: Mapping[str, str]) -> str | None:
    """Return the name of a branch, or `None` if the template uses a field that the run does not have.

    Args:
        template: A template that `check_template` accepts.
        given: Values of the fields that the run has.
    """
    try:
        return template.format_map(given)
    except KeyError:
        return None


def missing_error(template: str, given: Mapping[str, str]) -> InvalidInput:
    """Return the error for a write of a run that does not have all fields of the template.

    Args:
        template: The template.
        given: Values of the fields that the run has.
    """
    from graveler_core.errors import InvalidInput, Kind

    missing = " and ".join(f"{{{name}}}" for name in _FIELDS if name not in given and f"{{{name}" in template)
    return InvalidInput(
        f"branch {template!r}: the template uses {missing}, which this run does not have, so the run can only read. To "
        "write, name its branch by the run tag graveler/branch",
        kind=Kind.InvalidName,
    )


def _slug(text: str) -> str:
    """Return text in the characters of branch names. A text that had to be changed gets a hash, so that different texts
    have different results.
    """
    slug = re.sub(r"[^A-Za-z0-9_-]+", "-", text)
    return slug if slug == text else f"{slug}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
