"""Runs of hooks for the Dagster UI: a sentence, and a table."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC
from typing import TYPE_CHECKING

from graveler_core.model.counting import counted

if TYPE_CHECKING:
    from graveler_core.engine.repositories.hook_delivery import HookDeliveries
    from graveler_core.model.hook_runs import HookRun


def deliveries_outcome(found: HookDeliveries) -> str:
    """Return what a delivery did, in one sentence.

    Args:
        found: Numbers of runs.
    """
    called = found.passed + found.failed
    if not called and not found.uncertain:
        return "No webhook was left to call."
    failed = f", of which {found.failed:,} failed" if found.failed else ""
    uncertain = f" {counted(found.uncertain, 'change')} could not be verified any more." if found.uncertain else ""
    return f"Called {counted(called, 'webhook')}{failed}.{uncertain}"


def hook_runs_table(runs: Sequence[HookRun]) -> str:
    """Return runs of hooks as a markdown table.

    Args:
        runs: The runs, newest first.
    """
    lines = ["| time | hook | event | branch or tag | state | message |", "|---|---|---|---|---|---|"]
    for run in runs:
        request = run.request
        moment = request.event_time.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        name = request.branch_id or request.tag_id
        cells = (moment, request.hook_id, str(request.event_type), name, str(run.state), run.shown)
        lines.append("| " + " | ".join(_cell(text) for text in cells) + " |")
    return "\n".join(lines)


def _cell(text: str) -> str:
    """Return a text that cannot end the cell or begin markup: answers of receivers are shown."""
    return "".join(f"\\{mark}" if mark in "\\|`*_<>[]" else mark for mark in " ".join(text.split()))
