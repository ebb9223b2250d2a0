"""The suite `iam`: what it costs to ask whether somebody may do something.

A user has so many policies, a quarter of them in each of four groups. Each has a statement that allows reading below a
prefix of a repository of its own, one that allows writing on some branches of it, and one that denies deletions at a
place in the middle of its paths; all repositories are named alike, so a request looks at every policy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter, process_time

from benchmarks.scenario import Clocked, Measured, Place, clocked, scenario
from graveler_core.iam.effective import effective_policies
from graveler_core.iam.evaluation import Rules
from graveler_core.iam.principal import authenticate
from graveler_core.model.ids import UserId
from graveler_core.model.permission import Action, Request, object_resource

_USER = UserId("ada")
_GROUPS = 4
_BATCH, _BATCHES = 200, 25


def users(place: Place) -> None:
    """The user, in its groups, with its policies."""
    with place.connect() as g:
        g.iam.create_user(_USER)
        for group in range(_GROUPS):
            g.iam.create_group(f"g{group}")
            g.iam.add_member(f"g{group}", _USER)
        for number in range(place.size):
            g.iam.create_policy(f"p{number:04}", _statements(f"flights-{number:04}"))
            g.iam.attach_policy(f"p{number:04}", group=f"g{number % _GROUPS}")


@scenario("iam", users, sizes=(20, 200), counts="policies")
def evaluate(place: Place) -> Iterator[Measured]:
    """A request, or one for all below a prefix, with the policies at hand: of the last policy, so that all are seen."""
    with place.connect() as g:
        rules = Rules(effective_policies(g._stores.kv, _USER) or (), _USER)
    last = f"flights-{place.size - 1:04}"
    said = {"graveler:branch": "dev-1"}
    asked = {
        "allowed": Request(Action.READ_OBJECT, object_resource(last, "raw/2026/01/part-0001.parquet"), said),
        "allowed on a condition": Request(Action.WRITE_OBJECT, object_resource(last, "x/part-0001.parquet"), said),
        "allowed past denials": Request(
            Action.DELETE_OBJECT, object_resource(last, "raw/2026/01/part-1.parquet"), said
        ),
        "denied": Request(Action.DELETE_OBJECT, object_resource(last, "raw/gold/2026/part-0001.parquet"), said),
        "denied by default": Request(Action.READ_OBJECT, object_resource(last, "other/part-0001.parquet"), said),
        "prefix, allowed": Request(Action.READ_OBJECT, object_resource(last, "raw/2026/"), said, prefix=True),
        "prefix, denied": Request(Action.DELETE_OBJECT, object_resource(last, "raw/2026/"), said, prefix=True),
    }
    for name, request in asked.items():
        allowed = rules.decide(request).allowed
        if allowed != ("allowed" in name):
            raise RuntimeError(f"{name}: is {allowed}")
        yield _each(rules.decide, request).named(f"evaluate, {name}")


@scenario("iam", users, sizes=(20,), counts="policies")
def connect(place: Place) -> Iterator[Measured]:
    """What a process pays once, and every half minute."""
    with place.connect() as g:
        kv, clock = g._stores.kv, g._stores.clock
        made = g.iam.create_credential(_USER)
        yield clocked(lambda: authenticate(kv, clock, made.access_key_id, made.secret), 20).named("authenticate")
        policies = effective_policies(kv, _USER)
        yield clocked(lambda: effective_policies(kv, _USER), 50).named("read the policies of a user")
        yield clocked(lambda: Rules(policies or (), _USER), 50).named("make policies ready")
        principal = authenticate(kv, clock, made.access_key_id, made.secret)
        request = Request(Action.READ_OBJECT, object_resource(f"flights-{place.size - 1:04}", "raw/part-0001.parquet"))
        yield _each(principal.allows, request).named("ask a principal")


def _each(ask: Callable[[Request], object], request: Request) -> Clocked:
    """Milliseconds of one request, as the mean of a batch."""
    wall, cpu = [], []
    for _ in range(_BATCHES):
        used, begun = process_time(), perf_counter()
        for _ in range(_BATCH):
            ask(request)
        wall.append((perf_counter() - begun) * 1e3 / _BATCH)
        cpu.append((process_time() - used) * 1e3 / _BATCH)
    return Clocked(tuple(wall), tuple(cpu))


def _statements(repository: str) -> list[object]:
    return [
        {
            "effect": "allow",
            "actions": ["fs:Read*", "fs:List*", "fs:DeleteObject"],
            "resources": [object_resource(repository, "raw/*")],
        },
        {
            "effect": "allow",
            "actions": ["fs:WriteObject", "fs:CreateCommit"],
            "resources": [f"arn:graveler:fs:::repository/{repository}*"],
            "conditions": {"StringLike": {"graveler:branch": ["dev-*"]}},
        },
        {
            "effect": "deny",
            "actions": ["fs:Delete*"],
            "resources": ["arn:graveler:fs:::repository/flights-????/object/*/gold/*.parquet"],
        },
    ]
