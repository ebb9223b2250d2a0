"""Storage namespaces of removed repositories for the Dagster UI: a sentence, and a table of states."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC
from typing import TYPE_CHECKING

from graveler_core.model.counting import counted

if TYPE_CHECKING:
    from graveler_core.gc.namespaces import EmptiedNamespace


def namespaces_outcome(found: Sequence[EmptiedNamespace], *, dry_run: bool) -> str:
    """Return what a run did, in one or two sentences.

    Args:
        found: State of each namespace.
        dry_run: True if nothing was changed.
    """
    if not found:
        return "No repository was removed whose content is left."
    count, size = sum(one.deleted for one in found), sum(one.deleted_size for one in found)
    objects = f"{counted(count, 'object')} ({counted(size, 'byte')})"
    of = f"in {counted(len(found), 'namespace')} of removed repositories"
    if dry_run:
        return f"Dry run: nothing was changed. There are {objects} to delete {of}."
    return f"Deleted {objects} {of}."


def namespaces_table(found: Sequence[EmptiedNamespace]) -> str:
    """Return the state of each namespace as a markdown table.

    Args:
        found: State of each namespace.
    """
    lines = [
        "| repository | storage namespace | state | next step after | objects | bytes | kept objects |",
        "|---|---|---|---|---:|---:|---:|",
    ]
    for one in found:
        due = "" if one.due is None else one.due.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
        numbers = f"{one.deleted:,} | {one.deleted_size:,} | {one.named:,}"
        lines.append(f"| {one.repository} | `{one.uri}` | {one.state.value} | {due} | {numbers} |")
    return "\n".join(lines)
