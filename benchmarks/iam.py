"""The suite `iam`: cost of access control decisions.

The size is the number of policies of a user. Each of four groups has a quarter of the policies. Each policy has its own
repository and three statements: one allows reads below a prefix, one allows writes on some branches, and one denies
deletions of paths that match a wildcard in the middle. The repositories have similar names, so every request is
compared with every policy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter, process_time

from benchmarks.scenario import Clocked, Measured, Place, clocked, scenario
from graveler_core.iam.effective import effective_policies
from graveler_core.iam.evaluation import CompiledPolicies
from graveler_core.iam.principal import authenticate
from graveler_core.model.ids import UserId
from graveler_core.model.permission import Action, Request, object_resource

_USER = UserId("ada")
_GROUPS = 4
_BATCH, _BATCHES = 200, 25


def users(place: Place) -> None:
    """Create the user, the groups and the policies."""
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
    """Decide requests for a path and for a prefix with compiled policies. The last policy decides, so all are read."""
    with place.connect() as g:
        rules = CompiledPolicies(effective_policies(g._stores.kv, _USER) or (), _USER)
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
    """Authenticate and load the policies, as a process does once and then every 30 seconds."""
    with place.connect() as g:
        kv, clock = g._stores.kv, g._stores.clock
        made = g.iam.create_credential(_USER)
        yield clocked(lambda: authenticate(kv, clock, made.access_key_id, made.secret), 20).named("authenticate")
        policies = effective_policies(kv, _USER)
        yield clocked(lambda: effective_policies(kv, _USER), 50).named("read the policies of a user")
        yield clocked(lambda: CompiledPolicies(policies or (), _USER), 50).named("compile policies")
        principal = authenticate(kv, clock, made.access_key_id, made.secret)
        request = Request(Action.READ_OBJECT, object_resource(f"flights-{place.size - 1:04}", "raw/part-0001.parquet"))
        yield _each(principal.allows, request).named("evaluate with a principal")


def _each(ask: Callable[[Request], object], request: Request) -> Clocked:
    """Return the milliseconds per request of several batches, each as the mean of its batch."""
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
