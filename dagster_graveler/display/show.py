"""Metadata that a pipeline shows of a published state. If its function fails, only this metadata is missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from logging import Logger
from threading import Thread
from typing import TYPE_CHECKING, Any

import dagster as dg

if TYPE_CHECKING:
    from graveler_core.facade.snapshot import Snapshot

Show = Callable[["Snapshot"], Mapping[str, Any]]
"""Function that returns metadata about a published state, to be shown in Dagster."""
PLOT_FAILED = "plot failed"
"""Metadata key of the error of a `Show` function."""
_LONGEST = 500


def shown_metadata(show: Show | None, at: Snapshot, log: Logger, seconds: float | None = None) -> dict[str, Any]:
    """Return what a function shows of a state.

    If the function raises an exception, takes too long, or returns something that Dagster refuses as metadata, return
    one sentence about it under `PLOT_FAILED`, and log the traceback.

    Args:
        show: The function, if there is one.
        at: The published state.
        log: Log of the run or of the tick.
        seconds: Time after which the result is not waited for. `None` waits for it.
    """
    if show is None:
        return {}
    try:
        # An event checks its metadata. Only the values are used.
        return dict(dg.AssetObservation("shown", metadata=_result(show, at, seconds)).metadata)
    except Exception as error:  # any error of the user's function
        name = getattr(show, "__name__", type(show).__name__)
        log.warning(f"The plot of {at.commit_id} is left out, because {name} failed", exc_info=True)
        message = " ".join(str(error).split())[:_LONGEST].rstrip(". ")
        told = f"{type(error).__name__}: {message}" if message else type(error).__name__
        return {PLOT_FAILED: f"There is no plot, because the function {name} failed with {told}."}


def _result(show: Show, at: Snapshot, seconds: float | None) -> Mapping[str, Any]:
    """Return the result of a function. With a limit, a thread calls it, and continues to run if it takes too long."""
    if seconds is None:
        return show(at)
    result: Future[Mapping[str, Any]] = Future()

    def call() -> None:
        try:
            result.set_result(show(at))
        except Exception as error:  # is raised where the result is taken
            result.set_exception(error)

    Thread(target=call, daemon=True).start()
    try:
        return result.result(seconds)
    except TimeoutError:
        if result.done():  # by the function
            raise
        raise TimeoutError(f"it took longer than {seconds:g} seconds") from None
