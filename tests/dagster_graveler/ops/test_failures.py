"""Every error is tried again, given up, or left to the policy."""

from __future__ import annotations

import dagster as dg
import pytest

from dagster_graveler.ops.failures import DELAY_SECONDS, MAX_RETRIES, RETRIES, told_to_dagster
from graveler_core import errors
from graveler_core.errors import GravelerError, Kind

HOPELESS = [
    errors.CorruptData("a range is broken"),
    errors.DirtyBranch("main has staged changes"),
    errors.InvalidInput("no such name"),
    errors.LimitExceeded("too large"),
    errors.NotFound("no such branch"),
    errors.NotUnique("taken"),
    errors.PermissionDenied("not you"),
    errors.Conflict("both changed a/b", kind=Kind.MergeConflict),
]
LATER = [
    errors.Conflict("lost a race", kind=Kind.LostRace),
    errors.PredicateFailed("another value"),
    errors.SlowDown("busy"),
]
THE_POLICYS = [errors.OutcomeUnknown("no answer"), errors.Unavailable("no store"), ValueError("a bug")]


@pytest.mark.parametrize("error", HOPELESS, ids=lambda e: type(e).__name__)
def test_the_hopeless_fail_at_once_and_say_why(error: GravelerError) -> None:
    with pytest.raises(dg.Failure, match=error.message) as caught, told_to_dagster(0):
        raise error
    assert caught.value.allow_retries is False
    assert caught.value.metadata["kind"].value == str(error.kind)
    assert caught.value.__cause__ is error


@pytest.mark.parametrize("error", LATER, ids=lambda e: type(e).__name__)
def test_the_others_are_tried_again_after_a_growing_pause(error: GravelerError) -> None:
    for retry in range(4):
        with pytest.raises(dg.RetryRequested) as caught, told_to_dagster(retry):
            raise error
        assert caught.value.max_retries == MAX_RETRIES == RETRIES.max_retries
        assert caught.value.seconds_to_wait is not None
        assert 0 <= caught.value.seconds_to_wait <= DELAY_SECONDS * 2**retry


@pytest.mark.parametrize("error", THE_POLICYS, ids=lambda e: type(e).__name__)
def test_the_rest_is_left_to_the_policy(error: Exception) -> None:
    with pytest.raises(type(error)) as caught, told_to_dagster(0):
        raise error
    assert caught.value is error


def test_every_class_of_errors_is_decided_on() -> None:
    def below(cls: type) -> set[type]:
        return {cls}.union(*(below(sub) for sub in cls.__subclasses__()))

    decided = {type(error) for error in [*HOPELESS, *LATER, *THE_POLICYS]}
    # Nothing to commit is an answer, which the commit op handles itself.
    assert below(GravelerError) - {GravelerError, errors.NoChanges} <= decided
