"""Access control while rules change: one history from one seed, and its judge. It is the theme `permissions`.

Users write, read, commit, merge and branch through handles that check their permissions, while two administrators
attach and detach policies, change groups and statements, and delete each other. Each call to the store is a
scheduling point, and calls fail as in other histories. After each change of a record of access control, the judge notes
what everybody may do, by its own reading of the records. It finds three kinds of violations:

* A call succeeds, and no state between its beginning and its end allows what it did. A handle may use a reading of the
  rules that is as old as its staleness, so the beginning is moved back by as much.
* A call is refused, and every state in this time allows what it was refused.
* Nobody is an administrator any more.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from unittest.mock import patch

from graveler_core.committed.index.indexes import Sizes
from graveler_core.engine.references.branching import create_branch
from graveler_core.engine.repositories import creation
from graveler_core.engine.repositories.beginning import NewRepository
from graveler_core.errors import GravelerError, Kind, PermissionDenied
from graveler_core.facade.graveler import Graveler
from graveler_core.iam import last_administrator
from graveler_core.iam.principal import Principal
from graveler_core.kv.store import Store
from graveler_core.model.entry import Entry
from graveler_core.model.iam import Credential, IamSetup, Policy
from graveler_core.model.ids import AccessKeyId, EntityUid, Nonce, RepositoryId, UserId
from graveler_core.model.permission import AUTH_ARN, FS_ARN, Action, Request
from graveler_core.records import access
from graveler_core.records import iam_layout as keys
from tests.proofs.simulation.cast import MAIN, SIDE, WORK
from tests.proofs.simulation.schedule import FAULTS, START, Fate, Scheduler
from tests.proofs.simulation.substitutes import substituted
from tests.proofs.simulation.world import World
from tests.unit.iam.naive import allowed

THEME = "permissions"
REPO = RepositoryId("shared")
ADMINS = ("ada", "bob")
WORKERS = ("eve", "dan")
GROUPS = ("crew", "watch")
PATHS = ("a/1", "b/1")
_IN_REPO = f"{FS_ARN}repository/{REPO}"
_STATEMENTS = {
    "admin": [("allow", ["auth:*"], "*")],
    "work": [("allow", ["fs:*"], "*")],
    "look": [("allow", ["fs:Read*", "fs:List*"], "*")],
    "no-write": [("deny", ["fs:WriteObject", "fs:CreateCommit"], "*")],
    "no-a": [("deny", ["fs:*Object"], f"{_IN_REPO}/object/a/*")],
}
POLICIES = ("work", "look", "no-write", "no-a")
HOLD_TIME = timedelta(milliseconds=200)
"""Of the register of changes, in steps of a millisecond."""
_ADMINISTRATION = (
    Request(Action.CREATE_POLICY, f"{AUTH_ARN}policy/x"),
    Request(Action.ATTACH_POLICY, f"{AUTH_ARN}policy/x"),
    Request(Action.ATTACH_POLICY, f"{AUTH_ARN}user/x"),
)
Rules = dict[str, tuple[Policy, ...]]
"""Policies of each user who exists and has an access key, and of no other."""


@dataclass(frozen=True, slots=True)
class PermittedCall:
    """A call that has ended: what it did or was refused, and during which steps."""

    user: str
    what: str
    request: Request
    begin: int
    end: int
    succeeded: bool


@dataclass
class RulesJudge:
    """All states of the rules, with the step from which on each was in force."""

    kv: Store
    states: list[tuple[int, Rules]] = field(default_factory=list)
    calls: list[PermittedCall] = field(default_factory=list)
    leaderless: list[str] = field(default_factory=list)

    def look(self, step: int) -> None:
        """Note the state of the rules if it has changed."""
        rules = read_rules(self.kv)
        if self.states and self.states[-1][1] == rules:
            return
        self.states.append((step, rules))
        if not any(_is_administrator(rules, user) for user in rules):
            self.leaderless.append(f"step {step}: nobody is an administrator")

    def violations(self) -> list[str]:
        found = list(self.leaderless[:1])
        for call in self.calls:
            verdicts = {_may(rules, call.user, call.request) for rules in self._during(call)}
            if verdicts == {not call.succeeded}:
                done = "did" if call.succeeded else "was refused"
                found.append(f"{call.user} {done} {call.what} ({call.request}) in steps {call.begin} to {call.end}")
        return found

    def _during(self, call: PermittedCall) -> Iterator[Rules]:
        ends = [step for step, _ in self.states[1:]] + [sys.maxsize]
        for (since, rules), until in zip(self.states, ends, strict=True):
            if since <= call.end and until >= call.begin:
                yield rules


def read_rules(kv: Store) -> Rules:
    """Read the rules from all records at one moment, without the code that is tested."""
    having = {(each.value.user, each.value.user_uid) for _, each in access.scan(kv, keys.CREDENTIALS)}
    active = [each.value for _, each in access.scan(kv, keys.USERS) if each.value.active]
    users = {user.id: user for user in active if (user.id, user.uid) in having}
    groups = {each.value.id: each.value for _, each in access.scan(kv, keys.GROUPS) if each.value.active}
    policies = {each.value.id: each.value for _, each in access.scan(kv, keys.POLICIES) if each.value.active}
    holders: dict[str, set[tuple[str, str]]] = {name: {("user", user.uid)} for name, user in users.items()}
    for _, each in access.scan(kv, keys.MEMBERSHIPS):
        tie = each.value
        user, group = users.get(tie.user), groups.get(tie.group)
        if user and group and tie.uids == (user.uid, group.uid):
            holders[user.id].add(("group", group.uid))
    held: dict[tuple[str, str], set[str]] = {}
    for kind, folder in (("user", keys.USER_POLICIES), ("group", keys.GROUP_POLICIES)):
        for _, attached in access.scan(kv, folder):
            held.setdefault((kind, attached.value.holder_uid), set()).add(attached.value.policy_uid)
    return {
        name: tuple(p for p in policies.values() if any(p.uid in held.get(each, ()) for each in mine))
        for name, mine in holders.items()
    }


def _may(rules: Rules, user: str, request: Request) -> bool:
    """Return true if a user may do something: for a prefix, with everything below it that a policy or a call names."""
    below = [f"{_IN_REPO}/object/{path}" for path in PATHS] if request.prefix else []
    each = [request.resource, *(resource for resource in below if resource.startswith(request.resource))]
    return all(allowed(rules.get(user, ()), replace(request, resource=resource, prefix=False)) for resource in each)


def _is_administrator(rules: Rules, user: str) -> bool:
    return all(_may(rules, user, request) for request in _ADMINISTRATION)


@dataclass
class PermittedWorld:
    """What the actors of a history share."""

    scheduler: Scheduler
    world: World
    judge: RulesJudge
    credentials: dict[str, Credential]
    staleness: float
    numbers: Iterator[int]
    moves: bool = False
    """Whether administrators are not checked, so that what they do takes few steps."""
    handles: dict[tuple[str, str], Graveler] = field(default_factory=dict)
    """Handles by process and user."""

    def call(self, user: str, what: str, request: Request, do: Callable[[Graveler], object]) -> None:
        """Let a user do something with one permission that matters, and note what came of it."""
        begin = self.scheduler.step - round(self.staleness * 1_000)
        with suppress(GravelerError):  # other errors say nothing about permissions
            try:
                do(self.handle(user))
            except PermissionDenied as refused:
                if refused.kind is not Kind.AccessDenied:
                    raise
                resource = refused.details["resource"]
                at, whole = resource.removesuffix("*"), resource.endswith("*")
                said = Request(Action(refused.details["action"]), at, prefix=whole)
                self.judge.calls.append(PermittedCall(user, what, said, begin, self.scheduler.step, False))
            else:
                self.judge.calls.append(PermittedCall(user, what, request, begin, self.scheduler.step, True))

    def handle(self, user: str) -> Graveler:
        """Return the handle of a user in the process that runs."""
        at = self.scheduler.current, user
        if at not in self.handles:
            stores = self.world.process()
            principal = Principal(stores.kv, stores.clock, self.credentials[user], staleness=self.staleness)
            unchecked = self.moves and user in ADMINS
            self.handles[at] = Graveler(stores if unchecked else replace(stores, principal=principal))
        return self.handles[at]


Act = Callable[[PermittedWorld, str], None]


def put(w: PermittedWorld, user: str) -> None:
    path, number = w.scheduler.chance.choice(PATHS), next(w.numbers)
    entry = Entry(address=f"data/{number}", size=number, checksum=str(number))
    request = Request(Action.WRITE_OBJECT, f"{_IN_REPO}/object/{path}")
    w.call(user, "put", request, lambda g: g.repository(REPO).branch(WORK).stage(path, entry))


def get(w: PermittedWorld, user: str) -> None:
    path = w.scheduler.chance.choice(PATHS)
    request = Request(Action.READ_OBJECT, f"{_IN_REPO}/object/{path}")
    w.call(user, "get", request, lambda g: g.repository(REPO).branch(WORK).get(path))


def commit(w: PermittedWorld, user: str) -> None:
    request = Request(Action.CREATE_COMMIT, f"{_IN_REPO}/branch/{WORK}")
    w.call(user, "commit", request, lambda g: g.repository(REPO).branch(WORK).commit(f"by {user}", allow_empty=True))


def merge(w: PermittedWorld, user: str) -> None:
    request = Request(Action.CREATE_COMMIT, f"{_IN_REPO}/branch/{SIDE}")
    w.call(user, "merge", request, lambda g: g.repository(REPO).merge(WORK, into=SIDE))


def tie(w: PermittedWorld, user: str) -> None:
    policy, holder = w.scheduler.chance.choice(POLICIES), _holder(w)
    request = Request(Action.ATTACH_POLICY, f"{AUTH_ARN}policy/{policy}")
    w.call(user, "attach", request, lambda g: g.iam.attach_policy(policy, **holder))


def untie(w: PermittedWorld, user: str) -> None:
    policy, holder = w.scheduler.chance.choice((*POLICIES, "admin")), _holder(w)
    request = Request(Action.DETACH_POLICY, f"{AUTH_ARN}policy/{policy}")
    w.call(user, "detach", request, lambda g: g.iam.detach_policy(policy, **holder))


def join(w: PermittedWorld, user: str) -> None:
    group, member = w.scheduler.chance.choice(GROUPS), w.scheduler.chance.choice(WORKERS)
    request = Request(Action.ADD_GROUP_MEMBER, f"{AUTH_ARN}group/{group}")
    w.call(user, "join", request, lambda g: g.iam.add_member(group, member))


def leave(w: PermittedWorld, user: str) -> None:
    group, member = w.scheduler.chance.choice(GROUPS), w.scheduler.chance.choice(WORKERS)
    request = Request(Action.REMOVE_GROUP_MEMBER, f"{AUTH_ARN}group/{group}")
    w.call(user, "leave", request, lambda g: g.iam.remove_member(group, member))


def move_denial(w: PermittedWorld, user: str) -> None:
    """Move a denial from one group to the other, so that members of both are denied at every moment."""
    first, second = w.scheduler.chance.sample(GROUPS, 2)
    request = Request(Action.ATTACH_POLICY, f"{AUTH_ARN}policy/no-write")
    w.call(user, "attach", request, lambda g: g.iam.attach_policy("no-write", group=second))
    request = Request(Action.DETACH_POLICY, f"{AUTH_ARN}policy/no-write")
    w.call(user, "detach", request, lambda g: g.iam.detach_policy("no-write", group=first))


def restate(w: PermittedWorld, user: str) -> None:
    request = Request(Action.UPDATE_POLICY, f"{AUTH_ARN}policy/work")
    narrow, wide = _statements("look"), _statements("work")
    w.call(user, "restate", request, lambda g: g.iam.update_policy("work", narrow))
    w.call(user, "restate", request, lambda g: g.iam.update_policy("work", wide))


def renew_group(w: PermittedWorld, user: str) -> None:
    """Delete a group and create it again, without members."""
    group = w.scheduler.chance.choice(GROUPS)
    request = Request(Action.DELETE_GROUP, f"{AUTH_ARN}group/{group}")
    w.call(user, "delete group", request, lambda g: g.iam.delete_group(group))
    request = Request(Action.CREATE_GROUP, f"{AUTH_ARN}group/{group}")
    w.call(user, "create group", request, lambda g: g.iam.create_group(group))


def dismiss(w: PermittedWorld, user: str) -> None:
    """Take the other administrator's permission, access key or name."""
    (other,) = (name for name in ADMINS if name != user)
    how = w.scheduler.chance.choice(("detach", "key", "user"))
    at_other = f"{AUTH_ARN}user/{other}"
    if how == "detach":
        request = Request(Action.DETACH_POLICY, at_other)
        w.call(user, how, request, lambda g: g.iam.detach_policy("admin", user=other))
    elif how == "key":
        request, key = Request(Action.DELETE_CREDENTIALS, at_other), w.credentials[other].access_key_id
        w.call(user, how, request, lambda g: g.iam.delete_credential(other, key))
    else:
        w.call(user, how, Request(Action.DELETE_USER, at_other), lambda g: g.iam.delete_user(other))


WORK_ACTS: dict[Act, int] = {put: 6, get: 3, commit: 3, merge: 1}
RULE_ACTS: dict[Act, int] = {
    tie: 4,
    untie: 4,
    join: 2,
    leave: 2,
    move_denial: 3,
    restate: 2,
    renew_group: 1,
    dismiss: 3,
}


THEMES: tuple[tuple[dict[Act, int], dict[Act, int]], ...] = (
    (RULE_ACTS, WORK_ACTS),
    ({move_denial: 1}, {put: 2, commit: 1}),
    ({dismiss: 1}, {}),
)
"""Acts of the administrators, and of the others."""


def begun(seed: int, *, trace: bool = False) -> Scheduler:
    """Return the scheduler of the history of a seed."""
    return Scheduler(random.Random(f"permissions {seed}"), trace=[] if trace else None)


def violations(scheduler: Scheduler, sizes: Sizes | None = None, profile: str = "") -> list[str]:
    """Run the history of a scheduler, and return what violates the promises.

    Args:
        scheduler: The scheduler, which has not run.
        sizes: Shapes of indexes, instead of what the seed draws.
        profile: What the store can do, instead of what the seed draws (`profiles.PROFILES`).
    """
    chance = scheduler.chance
    world = World(scheduler, sizes, profile=profile)
    judge = RulesJudge(world.kv)
    staleness = chance.choice((0, 0, 0.1))
    numbers = iter(range(100, sys.maxsize))
    of_admins, of_others = theme = chance.choice(THEMES)
    moves = theme is THEMES[1]
    credentials = _begin(world, chance, moves=moves)
    shared = PermittedWorld(scheduler, world, judge, credentials, staleness, numbers, moves)
    judge.look(0)
    world.changed = lambda: judge.look(scheduler.step)
    with substituted(scheduler), patch.object(last_administrator, "HOLD_TIME", HOLD_TIME):
        for number, admin in enumerate(ADMINS):
            scheduler.spawn(f"{number}-{admin}", number, _life(shared, (admin,), of_admins))
        for number in range(len(ADMINS), len(ADMINS) + chance.randint(1, 3)):
            if of_others:
                scheduler.spawn(f"{number}-worker", number, _life(shared, WORKERS, of_others))
        _weather(scheduler)
        scheduler.run()
    return judge.violations()


def _life(shared: PermittedWorld, users: Sequence[str], acts: dict[Act, int]) -> Callable[[], None]:
    chance = shared.scheduler.chance
    plan = chance.choices(list(acts), list(acts.values()), k=chance.randint(2, 5))

    def body() -> None:
        for act in plan:
            act(shared, chance.choice(users))

    return body


def _weather(scheduler: Scheduler) -> None:
    chance = scheduler.chance
    if chance.random() < 0.4:
        scheduler.fault_rate = chance.choice((0.01, 0.04))
        scheduler.faults = chance.choice((FAULTS, (Fate.LOST_ANSWER, Fate.LATE)))


def _begin(world: World, chance: random.Random, *, moves: bool) -> dict[str, Credential]:
    """Set up a repository with two branches, and rules that a seed draws. Return the credentials of the users.

    Args:
        world: The world.
        chance: Chance of the history.
        moves: True if everybody is in both groups, one of which is denied to write.
    """
    stores = world.process()
    creation.create_repository(stores, NewRepository(REPO, "memory://bucket/shared", MAIN, adopt=True))
    create_branch(stores, REPO, SIDE, "main")
    create_branch(stores, REPO, WORK, "main")
    iam = Graveler(stores).iam
    for policy in _STATEMENTS:
        iam.create_policy(policy, _statements(policy))
    for group in GROUPS:
        iam.create_group(group)
    found = {}
    for number, name in enumerate((*ADMINS, *WORKERS)):
        user = iam.create_user(name)
        record = Credential(
            access_key_id=AccessKeyId(f"{number:032x}"),
            user=UserId(name),
            user_uid=user.uid,
            secret_hash=name,
            creation_date=START,
        )
        listed = {"access_key_id": record.access_key_id, "user_uid": user.uid, "creation_date": START}
        where = keys.user_credential(record.user, record.access_key_id)
        access.create(stores.kv, where, where.model.model_validate(listed))
        access.create(stores.kv, keys.credential(record.access_key_id), record)
        found[name] = record
    for admin in ADMINS:
        iam.attach_policy("admin", user=admin)
    for worker in WORKERS:
        iam.add_member(GROUPS[0], worker)
        if moves or chance.random() < 0.5:
            iam.add_member(GROUPS[1], worker)
        if moves or chance.random() < 0.7:
            iam.attach_policy("work", user=worker)
    iam.attach_policy("no-write" if moves or chance.random() < 0.5 else "work", group=chance.choice(GROUPS))
    if moves:
        return found
    setup = IamSetup(admin=UserId(ADMINS[0]), admin_uid=EntityUid("u"), creation_date=START, nonce=Nonce("n"))
    access.create(stores.kv, keys.SETUP, setup)
    return found


def _statements(policy: str) -> list[object]:
    return [{"effect": e, "actions": actions, "resources": [on]} for e, actions, on in _STATEMENTS[policy]]


def _holder(w: PermittedWorld) -> dict[str, str]:
    chance = w.scheduler.chance
    if chance.random() < 0.5:
        return {"user": chance.choice(WORKERS)}
    return {"group": chance.choice(GROUPS)}
