"""Principals for tests of the guard: one that is told what to allow, one that allows all but one thing and remembers.

They answer as the interface of `graveler_core.iam.principal` says; patterns here end in a star or hold none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from graveler_core.errors import Kind, PermissionDenied
from graveler_core.facade.branch import Branch
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.iam.principal import Principal
from graveler_core.kv.backends.memory import MemoryStore
from graveler_core.model.ids import UserId
from graveler_core.model.permission import Request
from graveler_core.stores import Stores
from tests.unit.engine.world import World


def covers(pattern: str, request: Request) -> bool:
    """Whether a pattern fits all that is asked for."""
    if pattern.endswith("*"):
        return request.resource.startswith(pattern[:-1])
    return not request.prefix and request.resource == pattern


def meets(pattern: str, request: Request) -> bool:
    """Whether a pattern fits any of what is asked for."""
    return covers(pattern, request) or (request.prefix and pattern.startswith(request.resource))


@dataclass(frozen=True)
class Says:
    """A statement: actions and resources as patterns, and the branch through which it counts."""

    actions: str
    resource: str = "*"
    deny: bool = False
    branch: str | None = None

    def about(self, request: Request) -> bool:
        return covers(self.actions, Request(request.action, str(request.action)))

    def counts(self, context: Mapping[str, str]) -> bool:
        return self.branch is None or covers(self.branch, Request("", context.get("graveler:branch", "")))  # type: ignore[arg-type]


class Told(Principal):
    """Deny wins, deny by default, over a few statements."""

    def __init__(self, *says: Says) -> None:
        self.user = UserId("ada")
        self.says = says
        self.asked: list[Request] = []

    @property
    def reading(self) -> object:
        """Read anew when others are put in their place."""
        return self.says

    def allows(self, request: Request) -> bool:
        self.asked.append(request)
        counting = [says for says in self.says if says.about(request) and says.counts(request.context)]
        if any(says.deny and meets(says.resource, request) for says in counting):
            return False
        return any(not says.deny and covers(says.resource, request) for says in counting)

    def require(self, request: Request) -> None:
        if not self.allows(request):
            raise denied(self.user, request)

    def reaches(self, request: Request) -> bool:
        about = [says for says in self.says if says.about(request)]
        if any(says.deny and says.branch is None and covers(says.resource, request) for says in about):
            return False
        return any(not says.deny and meets(says.resource, request) for says in about)

    def alike(self, request: Request, context: Mapping[str, str]) -> bool:
        about = [says for says in self.says if says.about(request) and meets(says.resource, request)]
        return all(says.counts(request.context) == says.counts(context) for says in about)


@dataclass
class AllBut(Principal):
    """Allows everything but what meets one request, and remembers what it was asked."""

    missing: Request | None = None
    asked: list[Request] = field(default_factory=list)
    user: UserId = field(default=UserId("ada"))

    @property
    def reading(self) -> object:
        """Always the same."""
        return self

    def allows(self, request: Request) -> bool:
        if request not in self.asked:
            self.asked.append(request)
        return self.missing is None or not _overlap(self.missing, request)

    def require(self, request: Request) -> None:
        if not self.allows(request):
            raise denied(self.user, request)

    def reaches(self, request: Request) -> bool:
        return self.allows(request)

    def alike(self, request: Request, context: Mapping[str, str]) -> bool:
        return False


def _overlap(one: Request, other: Request) -> bool:
    if one.action != other.action:
        return False
    return (
        one.resource == other.resource
        or (one.prefix and other.resource.startswith(one.resource))
        or (other.prefix and one.resource.startswith(other.resource))
    )


def denied(user: UserId, request: Request) -> PermissionDenied:
    return PermissionDenied(
        f"user {user!r} may not {request.action} on {request.resource}",
        kind=Kind.AccessDenied,
        user=user,
        action=str(request.action),
        resource=request.resource,
    )


def everything(*but: Says) -> Told:
    """Who may do all, but for what is said."""
    return Told(Says("*"), *but)


def guarded(world: World, principal: Principal) -> Graveler:
    """A handle of another process, for a user."""
    return Graveler(_stores(world, principal))


def repository(world: World, principal: Principal, name: str = "repo") -> Repository:
    """A guarded handle that nobody was asked for."""
    return Repository(_stores(world, principal), world.graveler().repository(name)._record)


def branch(world: World, principal: Principal, name: str = "main", repo: str = "repo") -> Branch:
    """As `repository`."""
    opened = world.graveler().repository(repo).branch(name)
    return Branch(_stores(world, principal), opened._record, opened.name)


def records(world: World) -> dict[tuple[bytes, bytes], bytes]:
    """Every record of the store."""
    assert isinstance(world.kv, MemoryStore)
    partitions = world.kv._memory.partitions.items()
    return {(at, key): value for at, partition in partitions for key, value in partition.values.items()}


def state(world: World) -> tuple[dict[tuple[bytes, bytes], bytes], list[str]]:
    """Every record, and the address of every object of the world."""
    return records(world), [blob.address for blob in world.blobs.at(f"memory://{world.name}").list("")]


def _stores(world: World, principal: Principal) -> Stores:
    return replace(world.stores(), principal=principal)
