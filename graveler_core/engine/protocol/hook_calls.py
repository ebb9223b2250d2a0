"""Calls of hooks: requests to a webhook until it answers, functions of this process, and the results in the runs.

See `engine.protocol.hooks` for the steps around a change.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from graveler_core.errors import GravelerError, PredicateFailed
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.hook_runs import MAX_HOOK_TEXT, HookRequest, HookRun, HookState
from graveler_core.model.ids import Nonce
from graveler_core.model.webhooks import Webhook
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held
from graveler_core.stores import Stores
from graveler_core.stores.hooks import Hook, HookAnswer
from graveler_core.telemetry.secrets import without_secrets

LEASE: Final = timedelta(minutes=10)
"""Time for which a process keeps a pending run to itself. It is longer than any retry budget and any series of attempts
with common time limits; a longer series may be repeated by another process.
"""


def call(
    stores: Stores, repo: RepositoryRecord, hook: Webhook, run: Held[HookRun], *, again: bool = False
) -> HookRun | None:
    """Take a run, call its webhook, and store the result.

    Args:
        stores: Stores of the flow.
        repo: The repository.
        hook: The webhook.
        run: The run, as it was read.
        again: Call the hook although the run is not pending.

    Returns:
        The run with its result, or `None` if another process has taken it.

    Raises:
        OutcomeUnknown: A response was lost. The webhook was perhaps called.
    """
    if run.value.state is not HookState.PENDING and not again:
        return None
    before = run.value.attempts
    taking = {"state": HookState.PENDING, "due": stores.clock.now() + LEASE, "attempts": before + 1}
    taken = _changed(stores, repo, run, taking)
    if taken is None:
        return None
    answer, attempts = _sent(stores, hook, taken.value.request)
    ended = result_of(stores, answer, before + attempts, HookState.FAILED)
    changed = _changed(stores, repo, taken, ended)
    return None if changed is None else changed.value


def call_function(stores: Stores, repo: RepositoryRecord, hook: Hook, run: Held[HookRun]) -> HookRun | None:
    """Call a function of this process after a change, and store the result.

    The result is stored, too, if a delivery has assumed that this process had ended. A `SystemExit` is a failure like
    any other error, because the change is made, and the function runs on a thread of its own.

    Returns:
        The run with its result, or `None` if it was removed.
    """
    answer = _called(stores, hook, run.value.request, failures=(Exception, SystemExit))
    ended = result_of(stores, answer, 1, HookState.FAILED)
    changed = _changed(stores, repo, run, ended)
    if changed is None:
        given_up = access.read(stores.kv, keys.hook_runs(repo).at(run.value.request.run_id))
        changed = None if given_up is None else _changed(stores, repo, given_up, ended)
    return None if changed is None else changed.value


def answer_of(stores: Stores, hook: Webhook | Hook, request: HookRequest) -> tuple[HookAnswer, int]:
    """Call a hook. Return its answer and the number of attempts."""
    return _sent(stores, hook, request) if isinstance(hook, Webhook) else (_called(stores, hook, request), 1)


def result_of(stores: Stores, answer: HookAnswer, attempts: int, otherwise: HookState) -> dict[str, object]:
    """Return the fields of a run that a call changes. The state is `otherwise` if the hook did not accept."""
    return {
        "state": HookState.PASSED if answer.accepted else otherwise,
        "due": None,
        "ended": stores.clock.now(),
        "attempts": attempts,
        "status": answer.status,
        "message": answer.message,
    }


def _sent(stores: Stores, hook: Webhook, request: HookRequest) -> tuple[HookAnswer, int]:
    """Send a request until there is an answer, or the attempts are used up. Return the answer and the attempts."""
    body = request.model_dump_json().encode()
    attempts = 1
    answer = stores.hooks.send(hook, request.run_id, request.event_type, body)
    while answer.may_repeat and attempts < hook.max_attempts:
        stores.clock.sleep(min(30.0, 0.5 * 2**attempts))
        attempts += 1
        answer = stores.hooks.send(hook, request.run_id, request.event_type, body)
    return answer, attempts


def _called(
    stores: Stores, hook: Hook, request: HookRequest, failures: tuple[type[BaseException], ...] = (Exception,)
) -> HookAnswer:
    """Call a function of this process. An error of these classes is its refusal or failure."""
    repository = None if stores.hooks.handle is None else stores.hooks.handle(stores, request.repository_id)
    try:
        hook.run(request, repository)
    except failures as e:
        text = str(e) if isinstance(e, GravelerError) else f"{type(e).__name__}: {e}"
        return HookAnswer(None, without_secrets(text)[:MAX_HOOK_TEXT])
    return HookAnswer(None, "", accepted=True)


def _changed(
    stores: Stores, repo: RepositoryRecord, run: Held[HookRun], update: dict[str, object]
) -> Held[HookRun] | None:
    """Replace the record of a run. Return `None` if another process has changed it."""
    record = run.value.model_copy(update={**update, "nonce": Nonce(stores.ids.fresh())})
    try:
        return access.replace(stores.kv, keys.hook_runs(repo).at(record.request.run_id), run, record)
    except PredicateFailed:
        return None
