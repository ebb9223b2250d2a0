"""Refusal of changes that would leave no administrator.

An *administrator* is a user with an access key who may create every policy and attach it to every user, and so can
grant everything else. Before a change of users, groups, policies or credentials, the permissions are evaluated on a
view of the store in which the change has already happened. If nobody is an administrator in the view, but somebody is
one now, the change is refused.

Two changes at the same moment can still remove the last two administrators. Whoever can open the store without access
control can then create a credential again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from graveler_core.codec.records import encode
from graveler_core.errors import Conflict, Kind
from graveler_core.iam.credentials import credentials_of
from graveler_core.iam.effective import effective_policies
from graveler_core.iam.entities import POLICIES
from graveler_core.iam.evaluation import CompiledPolicies
from graveler_core.iam.principal import in_context, is_set_up
from graveler_core.kv.store import KeyValue, Predicate, Store, Stored
from graveler_core.kv.wrappers.passing import Passing
from graveler_core.model.clock import Clock
from graveler_core.model.ids import PolicyId, UserId
from graveler_core.model.permission import Action, Request, policy_resource, user_resource
from graveler_core.model.policy_document import parse_statements
from graveler_core.records import access
from graveler_core.records import iam_layout as keys
from graveler_core.records.location import Location

_NEEDED = (
    Request(Action.CREATE_POLICY, policy_resource(""), prefix=True),
    Request(Action.ATTACH_POLICY, policy_resource(""), prefix=True),
    Request(Action.ATTACH_POLICY, user_resource(""), prefix=True),
)
"""Requests that an administrator may make."""


def require_left(kv: Store, clock: Clock, gone: Location[Any], user: UserId | None = None) -> None:
    """Check that an administrator is left without a record.

    Args:
        kv: Key-value store.
        clock: Source of the time, for policies with conditions on it.
        gone: Location of the record that is about to be removed.
        user: The only user whose permissions depend on the record. `None` means that there may be several.

    Raises:
        Conflict: No administrator would be left (`LastAdministrator`).
    """
    _require(kv, clock, _View(kv, gone, None), user)


def require_left_with(kv: Store, clock: Clock, policy: PolicyId, statements: Sequence[object]) -> None:
    """Check that an administrator is left with other statements in a policy.

    Raises:
        Conflict: No administrator would be left (`LastAdministrator`).
        InvalidInput: A statement is not valid.
    """
    where, checked = POLICIES.at(policy), parse_statements(policy, statements)
    held = access.read(kv, where)
    if held is not None:
        changed = held.value.model_copy(update={"statements": checked})
        _require(kv, clock, _View(kv, where, encode(changed)), None)


def _require(kv: Store, clock: Clock, view: Store, user: UserId | None) -> None:
    if not is_set_up(kv) or (user is not None and not _is_administrator(kv, clock, user)):
        return
    if _has_administrator(view, clock) or not _has_administrator(kv, clock):
        return
    raise Conflict(
        "this change would leave no administrator: no user with an access key could create and attach policies; make "
        "another user an administrator first",
        kind=Kind.LastAdministrator,
    )


def _has_administrator(kv: Store, clock: Clock) -> bool:
    return any(_is_administrator(kv, clock, user) for user in _users_with_keys(kv))


def _users_with_keys(kv: Store) -> Iterator[UserId]:
    last = ""
    for key, _ in access.scan(kv, keys.USER_CREDENTIALS):
        user = key.partition("/")[0]
        if user != last:
            last = user
            yield UserId(user)


def _is_administrator(kv: Store, clock: Clock, user: UserId) -> bool:
    policies = effective_policies(kv, user)
    if not policies:
        return False
    compiled = CompiledPolicies(policies, user)
    if not all(compiled.decide(in_context(needed, user, clock)).allowed for needed in _NEEDED):
        return False
    return next(credentials_of(kv, user), None) is not None


class _View(Passing):
    """Store in which one record has another value, or is removed (`None`). Only for reading."""

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
        for row in super().scan(partition, prefix=prefix, start=start, end=end, limit=limit):
            if (partition, row.key) != self._at:
                yield row
            elif self._value is not None:
                yield KeyValue(row.key, self._value, row.predicate)

    def _seen(self, partition: bytes, key: bytes, found: Stored | None) -> Stored | None:
        if found is None or (partition, key) != self._at:
            return found
        return None if self._value is None else Stored(self._value, Predicate(None))
