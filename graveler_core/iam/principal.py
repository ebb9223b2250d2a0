"""Principal: an authenticated user with its policies.

Authentication takes at least a tenth of a second, so it happens once and returns a `Principal`. The policies are read
on the first request and again after `STALENESS` seconds. A decision therefore uses policies and credentials as they
were at one moment, at most that long ago. A user who was deleted, or lost a policy, can continue for that time in each
process. If the store cannot be read when the time is over, nothing is allowed. The time is over when either clock says
so (`Instant`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from pydantic import SecretStr

from graveler_core.errors import InvalidInput, Kind, PermissionDenied
from graveler_core.iam import hashing
from graveler_core.iam.effective import effective_policies
from graveler_core.iam.entities import USERS, is_present
from graveler_core.iam.evaluation import AccessDecision, CompiledPolicies
from graveler_core.kv.store import Store
from graveler_core.model.clock import Clock, Instant
from graveler_core.model.forks import ForkSafe
from graveler_core.model.iam import Credential
from graveler_core.model.ids import UserId
from graveler_core.model.names import access_key
from graveler_core.model.permission import ContextKey, Request
from graveler_core.records import access
from graveler_core.records import iam_layout as keys

STALENESS: Final = 30.0
"""Number of seconds for which the policies of a user are cached."""


class Principal(ForkSafe):
    """User authenticated by a credential. Safe to use from several threads."""

    def __init__(self, kv: Store, clock: Clock, credential: Credential, *, staleness: float = STALENESS) -> None:
        if not (math.isfinite(staleness) and staleness >= 0):
            raise InvalidInput(f"staleness {staleness}: must be a number of seconds that is not negative")
        super().__init__()
        self.user: Final[UserId] = credential.user
        self._kv = kv
        self._clock = clock
        self._credential = credential
        self._staleness = staleness
        self._read: tuple[Instant, CompiledPolicies] | None = None
        """Start time and result of the last reading."""

    def __repr__(self) -> str:
        return f"Principal(user={self.user!r})"

    @property
    def reading(self) -> object:
        """Object that represents the current policies. It is a different object after each reading.

        Raises:
            SlowDown: The cached policies have expired, and concurrent changes prevented a consistent reading
                (`RetriesExhausted`).
            Unavailable: The cached policies have expired and cannot be read.
        """
        return self._rules()

    def require(self, request: Request) -> None:
        """Check that the user may do this.

        Raises:
            PermissionDenied: The user may not (`AccessDenied`); the error names user, action and resource.
            SlowDown: The cached policies have expired, and concurrent changes prevented a consistent reading
                (`RetriesExhausted`).
            Unavailable: The cached policies have expired and cannot be read.
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
        """Return true if the user may do this.

        Raises:
            SlowDown: The cached policies have expired, and concurrent changes prevented a consistent reading
                (`RetriesExhausted`).
            Unavailable: The cached policies have expired and cannot be read.
        """
        return self.decide(request).allowed

    def reaches(self, request: Request) -> bool:
        """Return true if the user may do this on something that begins with the prefix of the request.

        The result may be true although a condition, or a denial of a part, forbids each single request.

        Raises:
            SlowDown: The cached policies have expired, and concurrent changes prevented a consistent reading
                (`RetriesExhausted`).
            Unavailable: The cached policies have expired and cannot be read.
        """
        return self._rules().reaches(request)

    def alike(self, request: Request, context: Mapping[str, str]) -> bool:
        """Return true if a request for a prefix, and any request for a part of it, has the same result in another
        context.

        Raises:
            SlowDown: The cached policies have expired, and concurrent changes prevented a consistent reading
                (`RetriesExhausted`).
            Unavailable: The cached policies have expired and cannot be read.
        """
        other = replace(request, context=context)
        return self._rules().alike(*(in_context(each, self.user, self._clock) for each in (request, other)))

    def decide(self, request: Request) -> AccessDecision:
        """Evaluate a request. The user and the time in its context are replaced by the actual ones.

        Raises:
            SlowDown, Unavailable: As for `allows`.
        """
        rules = self._rules()
        return rules.decide(in_context(request, self.user, self._clock) if rules.conditional else request)

    def _rules(self) -> CompiledPolicies:
        kept = self._read
        if kept is None or not kept[0].is_within(self._staleness, Instant.of(self._clock)):
            with self._lock:
                kept = self._read
                begun = Instant.of(self._clock)
                if kept is None or not kept[0].is_within(self._staleness, begun):
                    policies = effective_policies(self._kv, self.user, self._credential)
                    kept = self._read = begun, CompiledPolicies(policies or (), self.user)
        return kept[1]


def authenticate(
    kv: Store, clock: Clock, access_key_id: str, secret: SecretStr | str, *, staleness: float = STALENESS
) -> Principal:
    """Authenticate a user by an access key and its secret.

    Args:
        kv: Key-value store.
        clock: Clock of the principal.
        access_key_id: Id of the access key.
        secret: Its secret.
        staleness: Number of seconds for which policies are cached; 0 disables the cache.

    Returns:
        The principal.

    Raises:
        PermissionDenied: The access key does not exist, the secret is wrong, or the user was deleted
            (`InvalidCredentials`). All three cases give the same error after the same amount of work.
    """
    hidden = secret if isinstance(secret, SecretStr) else SecretStr(secret)
    credential = stored_credential(kv, access_key_id)
    right = hashing.matches(hashing.NOBODYS if credential is None else credential.secret_hash, hidden)
    if (
        credential is None
        or not right
        or not is_present(access.read(kv, USERS.at(credential.user)), credential.user_uid)
    ):
        raise PermissionDenied(
            "the access key does not exist, or the secret does not match it", kind=Kind.InvalidCredentials
        )
    return Principal(kv, clock, credential, staleness=staleness)


def stored_credential(kv: Store, access_key_id: str) -> Credential | None:
    """Return the credential with an access key, or `None`."""
    try:
        found = access.read(kv, keys.credential(access_key(access_key_id)))
    except InvalidInput:
        return None
    return None if found is None else found.value


def is_set_up(kv: Store) -> bool:
    """Return true if access control is set up for the store. Costs one `get`."""
    return access.read(kv, keys.SETUP) is not None


def in_context(request: Request, user: UserId, clock: Clock) -> Request:
    """Return the request with the actual user and time, which replace those in its context."""
    said: dict[str, str] = {ContextKey.USER: user, ContextKey.TIME: clock.now().isoformat()}
    return replace(request, context={**request.context, **said})
