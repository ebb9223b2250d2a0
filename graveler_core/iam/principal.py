"""Who asks: a user that has said who it is, with the policies that hold for it.

Authentication takes a tenth of a second and more, so it happens once, and gives a `Principal`. What it may is read
from the store and kept for a while, 30 seconds unless told otherwise: a request is judged by policies, memberships
and credentials as they stood at one moment no longer ago than that. So whoever was deleted, or lost a policy, may go
on for so long, in each process. Where the store cannot be read when that time is up, nothing is allowed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from threading import Lock
from typing import Final

from pydantic import SecretStr

from graveler_core.errors import InvalidInput, Kind, PermissionDenied
from graveler_core.iam import hashing
from graveler_core.iam.effective import effective_policies
from graveler_core.iam.entities import USERS, is_present
from graveler_core.iam.evaluation import Decision, Rules
from graveler_core.kv.store import Store
from graveler_core.model.clock import Clock
from graveler_core.model.iam import Credential
from graveler_core.model.ids import UserId
from graveler_core.model.names import access_key
from graveler_core.model.permission import ContextKey, Request
from graveler_core.records import access
from graveler_core.records import iam_layout as keys

STALENESS: Final = 30.0
"""Seconds for which what was read of a user's policies is used."""


class Principal:
    """A user, authenticated by a credential. Safe to use from several threads."""

    def __init__(self, kv: Store, clock: Clock, credential: Credential, *, staleness: float = STALENESS) -> None:
        if not (math.isfinite(staleness) and staleness >= 0):
            raise InvalidInput(f"staleness {staleness}: must be a number of seconds, not negative")
        self.user: Final[UserId] = credential.user
        self._kv = kv
        self._clock = clock
        self._credential = credential
        self._staleness = staleness
        self._read: tuple[float, Rules] | None = None
        """When the reading began, and what it gave."""
        self._reading = Lock()

    def __repr__(self) -> str:
        return f"Principal(user={self.user!r})"

    @property
    def reading(self) -> object:
        """Stands for the policies that hold now: another object whenever they were read anew.

        Raises `Unavailable` as `require`.
        """
        return self._rules()

    def require(self, request: Request) -> None:
        """Pass if the user may do this.

        Raises:
            PermissionDenied: (`AccessDenied`) it may not; names user, action and resource.
            Unavailable: its policies are out of date and cannot be read.
        """
        if not self.allows(request):
            what = f"{request.resource}*" if request.prefix else request.resource
            raise PermissionDenied(
                f"user {self.user!r} may not {request.action} on {what}",
                kind=Kind.AccessDenied,
                user=self.user,
                action=str(request.action),
                resource=what,
            )

    def allows(self, request: Request) -> bool:
        """Whether the user may do this. Raises `Unavailable` as `require`."""
        return self.decide(request).allowed

    def alike(self, request: Request, context: Mapping[str, str]) -> bool:
        """Whether a request for a prefix, and any for a part of it, has the same answer in another context.

        Raises `Unavailable` as `require`.
        """
        other = replace(request, context=context)
        return self._rules().alike(*(in_context(each, self.user, self._clock) for each in (request, other)))

    def decide(self, request: Request) -> Decision:
        """Whether the user may do this, and which statement says so. What it says of user and time is overruled."""
        return self._rules().decide(in_context(request, self.user, self._clock))

    def _rules(self) -> Rules:
        kept = self._read
        if kept is None or self._clock.monotonic() - kept[0] >= self._staleness:
            with self._reading:
                kept = self._read
                begun = self._clock.monotonic()
                if kept is None or begun - kept[0] >= self._staleness:
                    policies = effective_policies(self._kv, self.user, self._credential)
                    kept = self._read = begun, Rules(policies or (), self.user)
        return kept[1]


def authenticate(
    kv: Store, clock: Clock, access_key_id: str, secret: SecretStr | str, *, staleness: float = STALENESS
) -> Principal:
    """Say who asks, by an access key and its secret.

    Args:
        staleness: Seconds for which the principal's policies are kept before they are read again; 0: never.

    Raises:
        PermissionDenied: (`InvalidCredentials`) there is no such access key, the secret is another one, or the user is
            gone: the same error, after the same work, whichever it is.
    """
    hidden = secret if isinstance(secret, SecretStr) else SecretStr(secret)
    credential = _credential(kv, access_key_id)
    right = hashing.matches(hashing.NOBODYS if credential is None else credential.secret_hash, hidden)
    if (
        credential is None
        or not right
        or not is_present(access.read(kv, USERS.at(credential.user)), credential.user_uid)
    ):
        raise PermissionDenied("access key and secret do not belong together", kind=Kind.InvalidCredentials)
    return Principal(kv, clock, credential, staleness=staleness)


def _credential(kv: Store, named: str) -> Credential | None:
    try:
        found = access.read(kv, keys.credential(access_key(named)))
    except InvalidInput:
        return None
    return None if found is None else found.value


def is_set_up(kv: Store) -> bool:
    """Whether the store has users, so that whoever comes must say who they are. One get."""
    return access.read(kv, keys.SETUP) is not None


def in_context(request: Request, user: UserId, clock: Clock) -> Request:
    """The request, with who asks and when; both overrule what it says itself."""
    said: dict[str, str] = {ContextKey.USER: user, ContextKey.TIME: clock.now().isoformat()}
    return replace(request, context={**request.context, **said})
