"""Treatment of graveler's errors in ops: retry, or fail at once.

The classes in `graveler_core.errors` tell what a caller can do about an error. This module translates them for Dagster.
All other errors (Unavailable, OutcomeUnknown, unexpected errors) are left to the retry policy of the op, which is safe
because each op is idempotent.
"""

import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

import dagster as dg

from dagster_graveler.display.diff import SHOWN
from dagster_graveler.runs import step_name

if TYPE_CHECKING:
    from graveler_core.model.changes import MergeConflict

MAX_RETRIES = 5
DELAY_SECONDS = 1.0
T = TypeVar("T")
_DAGSTERS = ("RetryRequested", "RetryRequestedFromPolicy")
"""Errors in which Dagster wraps the error of an op."""
RETRIES = dg.RetryPolicy(
    max_retries=MAX_RETRIES, delay=DELAY_SECONDS, backoff=dg.Backoff.EXPONENTIAL, jitter=dg.Jitter.FULL
)


@contextmanager
def told_to_dagster(retry_number: int) -> Iterator[None]:
    """Raise `RetryRequested` for lost races and busy stores, and `Failure` without retries for errors that a retry
    cannot fix.
    """
    from graveler_core import errors

    hopeless = (
        errors.CorruptData,
        errors.DirtyBranch,
        errors.InvalidInput,
        errors.NotFound,
        errors.NotUnique,
        errors.PermissionDenied,
    )
    try:
        yield
    except hopeless as e:
        raise _failure(e) from e
    except errors.Conflict as e:
        if e.kind in (errors.Kind.MergeConflict, errors.Kind.PrefixChanged):
            raise _failure(e) from e
        raise _retry(retry_number) from e
    except errors.SlowDown as e:
        raise _retry(retry_number) from e


def unless_missing(call: Callable[[], T]) -> T | None:
    """Return the result of a call; `None` if its repository does not exist."""
    from graveler_core.errors import Kind, NotFound

    try:
        return call()
    except NotFound as missing:
        if missing.kind is not Kind.RepositoryNotFound:
            raise
        return None


def missing_checks(failure: dg.Failure) -> list[str]:
    """Return the names of the required checks for which there was no report, if no other one has failed.

    Args:
        failure: Failure of a merge.
    """
    from graveler_core.errors import Kind, PermissionDenied

    error = failure.__cause__
    if not isinstance(error, PermissionDenied) or error.kind is not Kind.ChecksRequired or error.details["failed"]:
        return []
    return list(error.details["missing"])


def retries(context: dg.OpExecutionContext) -> dict[str, Any]:
    """Return metadata of the retries of a step: their number and the error of each attempt; empty without retries."""
    if context.retry_number == 0:
        return {}
    events = context.instance.all_logs(context.run_id, of_type=dg.DagsterEventType.STEP_UP_FOR_RETRY)
    step = step_name(context)
    errors = [e.dagster_event.step_retry_data.error for e in events if e.dagster_event and e.step_key == step]
    reasons = "; ".join(_reason(error) for error in errors if error is not None)
    return {"retries": context.retry_number, "tried again after": reasons}


def _reason(error: Any) -> str:
    """Return the first error below Dagster's own, in one line and without its module."""
    while error.cause and error.cls_name in _DAGSTERS:
        error = error.cause
    told = error.message.splitlines()[0]
    return f"{error.cls_name}: {told.partition(': ')[2]}" if error.cls_name else told


def _retry(retry_number: int) -> dg.RetryRequested:
    # Like the policy: exponential with full jitter. The numbers of a request override those of the policy.
    seconds = random.uniform(0, DELAY_SECONDS * 2**retry_number)  # noqa: S311 (jitter, not a secret)
    return dg.RetryRequested(max_retries=MAX_RETRIES, seconds_to_wait=seconds)


def _failure(error: Exception) -> dg.Failure:
    from graveler_core.errors import GravelerError, Kind

    metadata: dict[str, Any] = {"error": type(error).__name__}
    if isinstance(error, GravelerError):
        metadata["kind"] = str(error.kind)
        if error.kind is Kind.MergeConflict:
            metadata["conflicts"] = _conflicts(error.details.get("conflicts", ()))
    return dg.Failure(description=str(error), metadata=metadata, allow_retries=False)


def _conflicts(conflicts: Iterable["MergeConflict"]) -> dg.TableMetadataValue:
    """Return a table of the first conflicting paths of a merge."""
    records = [dg.TableRecord({"path": c.path, "conflict": str(c.kind)}) for c in islice(conflicts, SHOWN)]
    return dg.MetadataValue.table(records, dg.TableSchema([dg.TableColumn("path"), dg.TableColumn("conflict")]))
