"""Results of collections for the Dagster UI: a sentence, a table of objects by state, and a plot over time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import dagster as dg

from dagster_graveler.display.plot import in_markdown
from graveler_core.model.counting import counted

if TYPE_CHECKING:
    from graveler_core.gc.collected import Collected


def outcome(repository: str, done: Collected | None) -> str:
    """Return what a collection did, in one or two sentences.

    Args:
        repository: Name of the repository.
        done: The collection; `None` if the repository does not exist.
    """
    if done is None:
        return f"Repository {repository} does not exist yet, so there is nothing to collect."
    deleted = _objects(done.deleted, done.deleted_size)
    condemned = _objects(done.condemned, done.condemned_size)
    if done.dry_run:
        said = f"Dry run: nothing was changed. A collection would delete {deleted} and condemn {condemned}."
    else:
        said = f"Deleted {deleted} and condemned {condemned}."
    if done.expired or done.expiring:
        said += f" Commits: {done.expired:,} expired, {counted(done.expiring, 'is', 'are')} about to expire."
    if done.unreached or done.removed:
        counts = f"{done.removed:,} removed, {done.unreached:,} announced to be removed"
        said += f" Commits that no branch or tag has reached: {counts}."
    if done.due is not None:
        waiting = _objects(done.waiting, done.waiting_size)
        until = done.due.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
        said += f" Condemned earlier or now: {waiting}. A collection from {until} on deletes those without a name."
    return said


def objects_table(done: Collected) -> str:
    """Return the objects by state as a markdown table.

    Args:
        done: The collection.
    """
    rows = [
        ("live: a branch or a tag shows them", done.named - done.history, done.named_size - done.history_size),
        ("only in older commits: kept", done.history, done.history_size),
        ("younger than the grace period: kept", done.young, done.young_size),
        ("of uploads in progress: kept", done.uploading, done.uploading_size),
        ("condemned, waiting for the end of the grace period", done.waiting, done.waiting_size),
    ]
    if done.dry_run:
        expired, expired_size = done.condemned_expired, done.condemned_expired_size
        unnamed, unnamed_size = done.condemned - expired, done.condemned_size - expired_size
        rows.append(("only in expired commits: a collection would condemn them", expired, expired_size))
        rows.append(("without a name: a collection would condemn them", unnamed, unnamed_size))
        rows.append(("condemned and due: a collection would delete them", done.deleted, done.deleted_size))
    else:
        rows.append(("deleted", done.deleted, done.deleted_size))
    lines = ["| objects | number | bytes |", "|---|---:|---:|"]
    return "\n".join([*lines, *(f"| {name} | {count:,} | {size:,} |" for name, count, size in rows)])


def storage_plot(points: Sequence[tuple[datetime, int, int]]) -> dg.MarkdownMetadataValue:
    """Plot the bytes of content and the reclaimable bytes over time.

    Args:
        points: Time, bytes of content and reclaimable bytes, in order of time.
    """
    import numpy as np
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
    from matplotlib.figure import Figure
    from matplotlib.ticker import EngFormatter

    figure = Figure(figsize=(9, 2.6), layout="constrained")
    axes = figure.add_subplot()
    times = np.array([int(at.timestamp()) for at, _, _ in points], "datetime64[s]")
    axes.plot(times, [size for _, size, _ in points], marker="o", markersize=3, linewidth=0.9, label="content")
    lost = [size for _, _, size in points]
    axes.plot(times, lost, marker="o", markersize=3, linewidth=0.9, color="tab:red", label="reclaimable")
    axes.set_ylim(bottom=0.0)
    dates = AutoDateLocator()  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(dates)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(dates))  # type: ignore[no-untyped-call]
    axes.yaxis.set_major_formatter(EngFormatter("B"))
    axes.legend(loc="upper left", fontsize="small")
    axes.grid(alpha=0.3)
    return in_markdown(figure, "bytes of content and reclaimable bytes over time")


def _objects(count: int, size: int) -> str:
    return f"{counted(count, 'object')} ({counted(size, 'byte')})"
