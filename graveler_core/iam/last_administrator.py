"""Refusal of changes that would leave no administrator.

An *administrator* is a user with an access key who may create every policy and attach it to every user, and so can
grant everything else. Each change that can take permissions away ends in one write, a compare-and-swap or a conditional
deletion of one record:

1. Read the record.
2. Take the register of such changes ✓. It contains the key of the record, and one change holds it at a time.
3. Evaluate the permissions on a view of the store in which the change has already happened. If nobody is an
   administrator in the view, but somebody is one now, refuse the change.
4. Change the record if it is as it was read ✓. If another process has changed it, release the register and begin again.
5. Release the register.

Two changes at the same moment therefore cannot remove the last two administrators: the later one evaluates a view that
contains the earlier one. If a holder dies, or a response is lost, so that its write may still arrive, the register is
not released. After `HOLD_TIME` the next change replaces the record that the register names by an equal one with a
fresh nonce ✓, and then takes the register over. The delayed write then fails, because the record is not as it was read
before the register was taken. Only the waiting time depends on clocks.

A new membership or attachment takes the register as well, because a policy that denies may begin to apply. Its delayed
creation fails because the next change creates a relation with the same key that grants nothing. Other changes only give
permissions, and do not take the register.

Administrators whose permissions depend on the time do not count: if all others leave, nobody is an administrator once
the time has come. They count only if there is no other administrator.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import partial
from typing import Any

from graveler_core.errors import Conflict, GravelerError, Kind, NotFound, OutcomeUnknown, PredicateFailed
from graveler_core.iam import relations
from graveler_core.iam.change_guard import ChangeGuard
from graveler_core.iam.credentials import credentials_of
from graveler_core.iam.effective import effective_policies
from graveler_core.iam.evaluation import CompiledPolicies
from graveler_core.iam.principal import in_context, is_set_up
from graveler_core.kv.store import KeyValue, Predicate, Store, Stored
from graveler_core.kv.wrappers.passing import Passing
from graveler_core.model.clock import Clock, IdSource
from graveler_core.model.iam import AccessChange, Attachment, Effect, Membership, Policy, Statement
from graveler_core.model.ids import Nonce, UserId
from graveler_core.model.permission import Action, ContextKey, Request, policy_resource, user_resource
from graveler_core.records import access
from graveler_core.records import iam_layout as keys
from graveler_core.records.location import Location
from graveler_core.records.timed_register import TimedRegister

HOLD_TIME = timedelta(seconds=10)
"""Time after which another change takes the register over."""
_NEEDED = (
    Request(Action.CREATE_POLICY, policy_resource(""), prefix=True),
    Request(Action.ATTACH_POLICY, policy_resource(""), prefix=True),
    Request(Action.ATTACH_POLICY, user_resource(""), prefix=True),
)
"""Requests that an administrator may make."""


def guard(kv: Store, clock: Clock, ids: IdSource) -> ChangeGuard:
    """Return a guard that refuses changes that would leave no administrator, one change at a time.

    The guard raises `Conflict` (`LastAdministrator`). It allows everything if access control is not set up.
    """

    @contextmanager
    def guarded(where: Location[Any], value: bytes | None, user: UserId | None = None, /) -> Iterator[None]:
        if not is_set_up(kv):
            yield
            return
        register = TimedRegister(kv, keys.CHANGE, clock, HOLD_TIME, partial(_disable, kv, clock, ids))
        mine = AccessChange(record=where.key.decode(), nonce=Nonce(ids.fresh()), since=clock.now())
        held = register.take(mine)
        try:
            _require(kv, clock, _View(kv, where, value), user)
            yield
        except OutcomeUnknown:
            raise  # the write may still arrive
        except GravelerError:
            register.release(held)
            raise
        register.release(held)

    return guarded


def _disable(kv: Store, clock: Clock, ids: IdSource, former: AccessChange) -> None:
    """Make a delayed write of a former holder fail: replace the record that it has read by an equal one. An entity that
    is being deleted was changed, so that the write fails anyway. Instead of a relation that did not exist, create one
    that grants nothing.
    """
    where = keys.deciding(former.record)
    held = access.read(kv, where)
    with suppress(PredicateFailed):  # another process has changed it
        if held is not None and getattr(held.value, "active", True):
            access.replace(kv, where, held, held.value.model_copy(update={"nonce": Nonce(ids.fresh())}))
        elif held is None and where.model in (Membership, Attachment):
            access.create(kv, where, relations.void(where, clock, ids), once=True)


def _require(kv: Store, clock: Clock, view: Store, user: UserId | None) -> None:
    if user is not None and not is_administrator(kv, clock, user):
        return
    for always in (True, False):
        if _has_administrator(view, clock, always):
            return
        if _has_administrator(kv, clock, always):
            raise Conflict(
                "this change would leave no administrator: no user with an access key could create and attach "
                f"policies{' at all times' if always else ''}; make another user an administrator first",
                kind=Kind.LastAdministrator,
            )


def _has_administrator(kv: Store, clock: Clock, always: bool = False) -> bool:
    return any(is_administrator(kv, clock, user, always=always) for user in _users_with_keys(kv))


def _users_with_keys(kv: Store) -> Iterator[UserId]:
    last = ""
    for key, _ in access.scan(kv, keys.USER_CREDENTIALS):
        user = key.partition("/")[0]
        if user != last:
            last = user
            yield UserId(user)


def is_administrator(kv: Store, clock: Clock, user: UserId, *, always: bool = False) -> bool:
    """Return true if a user is an administrator now, or, with `always`, at all times."""
    policies = effective_policies(kv, user)
    if not policies:
        return False
    compiled = CompiledPolicies(map(_at_all_times, policies) if always else policies, user)
    if not all(compiled.decide(in_context(needed, user, clock)).allowed for needed in _NEEDED):
        return False
    try:
        return next(credentials_of(kv, user), None) is not None
    except NotFound:  # it was deleted a moment ago
        return False


def _at_all_times(policy: Policy) -> Policy:
    """Return the policy with permissions and denials as they are at the least favourable time."""
    statements = list[Statement]()
    for statement in policy.statements:
        others = {
            operator: {key: values for key, values in tested.items() if key != ContextKey.TIME}
            for operator, tested in statement.conditions.items()
        }
        if others == statement.conditions or statement.effect is Effect.DENY:
            statements.append(statement.model_copy(update={"conditions": others}))
    return policy.model_copy(update={"statements": tuple(statements)})


class _View(Passing):
    """Store in which one record has another value, is new, or is removed (`None`). Only for reading."""

    def __init__(self, inner: Store, where: Location[Any], value: bytes | None) -> None:
        super().__init__(inner)
        self._at = where.partition, where.key
        self._value = value

    def get(self, partition: bytes, key: bytes) -> Stored | None:
        return self._seen(partition, key, super().get(partition, key))

    def get_many(self, keys: Sequence[tuple[bytes, bytes]]) -> list[Stored | None]:
        return [self._seen(*at, found) for at, found in zip(keys, super().get_many(keys), strict=True)]

    def scan(
        self,
        partition: bytes,
        *,
        prefix: bytes = b"",
        start: bytes = b"",
        end: bytes | None = None,
        limit: int | None = None,
    ) -> Iterator[KeyValue]:
        own_partition, own_key = self._at
        within = own_key.startswith(prefix) and own_key >= start and (end is None or own_key < end)
        own: KeyValue | None = None
        if self._value is not None and partition == own_partition and within:
            own = KeyValue(own_key, self._value, Predicate(None))
        for row in super().scan(partition, prefix=prefix, start=start, end=end, limit=limit):
            if own is not None and row.key >= own_key:
                yield own
                own = None
            if (partition, row.key) != self._at:
                yield row
        if own is not None:
            yield own

    def _seen(self, partition: bytes, key: bytes, found: Stored | None) -> Stored | None:
        if (partition, key) != self._at:
            return found
        return None if self._value is None else Stored(self._value, Predicate(None))
