"""Hooks: calls before and after the compare-and-swap that makes a change of a branch or tag visible.

A flow wraps its swap in `announced`. These steps surround the swap:

1. Call the hooks before the change. The commit is stored already, and no branch shows it, so a hook can read exactly
   the content that is about to become visible. A hook that refuses, or cannot be called, ends the flow. Store the
   result of each call.
2. Store a run in the state `pending` for each hook after the change.
3. ✓ The swap of the flow.
4. Call the hooks after the change, on a thread for hooks (`stores.hook_calls`), and store the results. Their failure
   changes nothing.

If the swap fails, the pending runs are removed. If the process ends between 2 and 4, or the response of the swap is
lost, or too many calls wait for the thread, the pending runs stay. `engine.repositories.hook_delivery` finds them, and
calls the hook if the change has happened. A hook after a change is therefore called at least once for each change, and
never for a change that did not happen. Before a process calls the hook of a pending run, it takes the run: a swap moves
the `due` time of the run. If two processes find the same run, the hook is therefore called once, unless the first
process needs longer than `LEASE`. The swap also counts the first attempt. A pending run with attempts was therefore
taken before, by a process that knew that the change has happened. `engine.protocol.hook_calls` takes runs, makes the
calls, and stores the results.

The hooks of a repository are in its record, which every flow reads anyway, so a repository without hooks costs no call.
An operation that begins after a hook was set calls the hook, in every process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from logging import WARNING
from typing import Final

from graveler_core.engine.protocol.hook_calls import LEASE, answer_of, call, call_function, result_of
from graveler_core.errors import GravelerError, Kind, OutcomeUnknown, PermissionDenied, Unavailable
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.hook_runs import HookRequest, HookRun, HookState
from graveler_core.model.ids import Nonce
from graveler_core.model.webhooks import HookEvent, Webhook, matching
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held
from graveler_core.refs import repositories
from graveler_core.stores import Stores
from graveler_core.stores.hooks import Hook
from graveler_core.telemetry.events import tell

_LAST_MOMENT: Final = datetime(9999, 1, 1)
PendingRuns = list[tuple[Webhook | Hook, Held[HookRun]]]


@dataclass(frozen=True, slots=True)
class HookedChange:
    """A change of a branch or tag, as hooks are told about it."""

    event: HookEvent
    """The event before the change."""
    request: Callable[[], dict[str, object]]
    """Function that returns the fields of the request that differ between changes."""
    name: str
    """Name of the branch or tag."""
    uid: str = ""
    """Uid of the branch or tag."""
    epoch: int = 0
    """Number of resets of the branch, or of moves of the tag after an assignment."""


@dataclass
class Announcement:
    """Runs of the hooks after a change that is about to happen."""

    runs: PendingRuns = field(default_factory=list)
    happened: bool = True
    """False if the flow found that the change did not happen."""


@dataclass
class ToldCommits:
    """Commits of one call about which hooks were told. If only the swap of a commit is repeated, it is told once."""

    accepted: set[tuple[str, Nonce]] = field(default_factory=set)
    """Commits that the hooks before the change have accepted, with the nonce of the repository record."""
    unanswered: dict[str, PendingRuns] = field(default_factory=dict)
    """Runs of swaps with an unknown outcome, by commit."""


def are_set(stores: Stores, repo: RepositoryRecord) -> bool:
    """Return true if there are hooks that changes of the repository may have to call."""
    return bool(repo.webhooks or stores.hooks.all_functions())


@contextmanager
def announced(
    stores: Stores, repo: RepositoryRecord, change: HookedChange, *, told: ToldCommits | None = None
) -> Iterator[Announcement]:
    """Call the hooks of a change before and after the swap that the `with` statement contains.

    Args:
        stores: Stores of the flow.
        repo: The repository.
        change: The change.
        told: Remembers the commits about which the call has told hooks.

    Yields:
        The announcement. The flow sets `happened` to `False` if its swap failed without an error.

    Raises:
        NotFound: The repository was deleted while a hook was called. Nothing was changed.
        PermissionDenied: A hook refused the change, or could not be called (`HookRefused`). Nothing was changed.
    """
    if not are_set(stores, repo):
        yield Announcement()
        return
    fields = change.request()
    commit, told = str(fields.get("commit_id", "")), told or ToldCommits()
    if (commit, repo.nonce) not in told.accepted:
        _ask(stores, repo, change, fields)
        told.accepted.add((commit, repo.nonce))
    made = Announcement()
    try:
        _prepare(stores, repo, change, fields, made)
        yield made
    except OutcomeUnknown:  # the delivery finds out, or a repetition of the swap
        told.unanswered.setdefault(commit, []).extend(made.runs)
        raise
    except GravelerError:
        _withdraw(stores, repo, made.runs)
        raise
    if made.happened:
        _withdraw(stores, repo, told.unanswered.pop(commit, []))
        _start(stores, repo, made)
    else:
        _withdraw(stores, repo, made.runs)


def _ask(stores: Stores, repo: RepositoryRecord, change: HookedChange, fields: dict[str, object]) -> None:
    """Call the hooks before a change: functions first, then webhooks by name. The first refusal ends the flow."""
    for hook in _hooks(stores, repo, change.event, change.name):
        run = _run(stores, repo, change, change.event, hook, fields)
        answer, attempts = answer_of(stores, hook, run.request)
        _require_repository(stores, repo)
        run = run.model_copy(update=result_of(stores, answer, attempts, HookState.REFUSED))
        with _required():
            access.write(stores.kv, keys.hook_runs(repo).at(run.request.run_id), run)
        if not answer.accepted:
            raise _refused(run)


def _prepare(
    stores: Stores, repo: RepositoryRecord, change: HookedChange, fields: dict[str, object], made: Announcement
) -> None:
    """Add a pending run for each hook after the change to an announcement."""
    for hook in _hooks(stores, repo, change.event.post, change.name):
        run = _run(stores, repo, change, change.event.post, hook, fields)
        run = run.model_copy(update={"due": stores.clock.now() + LEASE})
        with _required():
            made.runs.append((hook, access.create(stores.kv, keys.hook_runs(repo).at(run.request.run_id), run)))


def _require_repository(stores: Stores, repo: RepositoryRecord) -> None:
    """Check that the repository exists before records are written into it.

    A hook may have taken days, and nothing would remove records from a repository that was emptied meanwhile.

    Raises:
        NotFound: The repository was deleted.
    """
    held = repositories.find(stores.kv, repo.id)
    repositories.usable(repo.id, held if held is not None and held.value.uid == repo.uid else None)


@contextmanager
def _required() -> Iterator[None]:
    """Raise `Unavailable` instead of `OutcomeUnknown`: the change of the flow has certainly not begun."""
    try:
        yield
    except OutcomeUnknown as e:
        raise Unavailable("the run of a hook could not be stored; nothing was changed") from e


def _withdraw(stores: Stores, repo: RepositoryRecord, runs: PendingRuns) -> None:
    for _, run in runs:
        with suppress(GravelerError):  # the delivery finds that the change did not happen
            access.remove(stores.kv, keys.hook_runs(repo).at(run.value.request.run_id), run)


def _start(stores: Stores, repo: RepositoryRecord, made: Announcement) -> None:
    for hook, run in made.runs:
        stores.hook_calls.start(partial(_call_after, stores, repo, hook, run))


def _call_after(stores: Stores, repo: RepositoryRecord, hook: Webhook | Hook, run: Held[HookRun]) -> None:
    try:
        ended = call(stores, repo, hook, run) if isinstance(hook, Webhook) else call_function(stores, repo, hook, run)
    except GravelerError as e:  # the run stays pending, and is found by a delivery
        tell("hooks", WARNING, f"hook {hook.name}: its result could not be stored", hook=hook.name, error=str(e))
        return
    if ended is not None and ended.state is HookState.FAILED:
        tell(
            "hooks", WARNING, f"hook {hook.name} failed", hook=hook.name, run=ended.request.run_id, error=ended.message
        )


def _hooks(stores: Stores, repo: RepositoryRecord, event: HookEvent, name: str) -> list[Webhook | Hook]:
    """Return the hooks of an event: functions before webhooks, because they answer sooner."""
    functions = [hook for hook in stores.hooks.all_functions() if hook.matches(event, repo.id, name)]
    return [*functions, *matching(repo.webhooks, event, name)]


def _run(  # noqa: PLR0913, PLR0917 - the parts of one record
    stores: Stores,
    repo: RepositoryRecord,
    change: HookedChange,
    event: HookEvent,
    hook: Webhook | Hook,
    fields: dict[str, object],
) -> HookRun:
    now = stores.clock.now()
    request = HookRequest.model_validate(
        {
            **fields,
            "run_id": _run_id(now, stores.ids.fresh()),
            "event_type": event,
            "event_time": now,
            "hook_id": hook.name,
            "repository_id": repo.id,
        }
    )
    nonce = Nonce(stores.ids.fresh())
    return HookRun(
        request=request,
        state=HookState.PENDING,
        is_function=isinstance(hook, Hook),
        reference_uid=change.uid,
        epoch=change.epoch,
        nonce=nonce,
    )


def _run_id(now: datetime, fresh: str) -> str:
    """Return an id that sorts before the ids of earlier runs, so that a listing begins with the newest."""
    left = (_LAST_MOMENT - now.replace(tzinfo=None)) // timedelta(microseconds=1)
    return f"{left:016x}{fresh[:16]}"


def _refused(run: HookRun) -> PermissionDenied:
    request = run.request
    reason = run.shown or "no reason given"
    name = request.branch_id or request.tag_id
    return PermissionDenied(
        f"hook {request.hook_id!r} ({request.event_type}) refused the change of {name!r}: {reason}",
        kind=Kind.HookRefused,
        hook=request.hook_id,
        event=str(request.event_type),
        run=request.run_id,
        status=run.status,
    )
