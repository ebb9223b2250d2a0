"""Hooks before and after changes: refusals, delivery after crashes and lost responses, and competing processes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from json import loads
from typing import Any

import pytest

from graveler_core.errors import GravelerError, Kind, NotFound, PermissionDenied, SlowDown
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.kv.store import Store
from graveler_core.model.hook_runs import HookRequest, HookState
from graveler_core.model.operations import Put
from graveler_core.model.webhooks import HookEvent, Webhook
from graveler_core.records import layout as keys
from graveler_core.stores import Hook, HookAnswer, Hooks
from graveler_core.wiring.callbacks import repository_for_hooks
from tests.unit.engine.cleaning.places import cleaned
from tests.unit.engine.interposed import Crash, Interposed
from tests.unit.engine.world import World, entry

PRE, POST = "pre-commit", "post-commit"
YES = HookAnswer(200, "", accepted=True)
Act = Callable[[Repository], object]


@dataclass
class Receiver:
    """The other end of all webhooks: keeps what it is told, and answers by name of the hook."""

    answers: dict[str, list[HookAnswer]] = field(default_factory=dict)
    told: list[dict[str, Any]] = field(default_factory=list)

    def __call__(self, hook: Webhook, run_id: str, event: str, body: bytes) -> HookAnswer:
        told = loads(body)
        assert (told["run_id"], told["event_type"]) == (run_id, event)
        self.told.append(told)
        answers = self.answers.get(hook.name, [])
        return answers.pop(0) if len(answers) > 1 else answers[0] if answers else YES

    def events(self) -> list[str]:
        return [told["event_type"] for told in self.told]


def opened(world: World, receiver: Receiver, kv: Store | None = None, functions: tuple[Hook, ...] = ()) -> Graveler:
    return Graveler(replace(world.stores(kv), hooks=Hooks(functions=functions, send=receiver)))


def repository(world: World, receiver: Receiver, kv: Store | None = None) -> Repository:
    return opened(world, receiver, kv).repository("repo")


@pytest.fixture
def receiver() -> Receiver:
    return Receiver()


@pytest.fixture
def repo(receiver: Receiver) -> Repository:
    world = World()
    world.repository()
    found = repository(world, receiver)
    found.branch("main").stage("a", entry(1))
    return found


def hooked(repo: Repository, *events: str, name: str = "hook", attempts: int = 1) -> Repository:
    repo.set_hook(name, "http://receiver/", events, attempts=attempts)
    return repo


def test_a_hook_before_a_commit_sees_its_content_and_can_refuse_it(receiver: Receiver, repo: Repository) -> None:
    seen: list[list[str]] = []
    main = hooked(repo, PRE).branch("main")
    send = receiver.__call__

    def reading(hook: Webhook, run_id: str, event: str, body: bytes) -> HookAnswer:
        seen.append([found.path for found in repo.at(loads(body)["source_ref"]).list()])
        return send(hook, run_id, event, body)

    head = main.record().commit_id
    receiver.answers["hook"] = [HookAnswer(412, "too few rows")]
    main = Graveler(replace(repo._stores, hooks=Hooks(send=reading))).repository("repo").branch("main")
    with pytest.raises(
        PermissionDenied, match=r"'hook' \(pre-commit\) refused the change of 'main': too few rows"
    ) as no:
        main.commit("m", committer="ada", metadata={"k": "v"})
    assert (no.value.kind, no.value.details["status"]) == (Kind.HookRefused, 412)
    assert seen == [["a"]]
    assert main.record().commit_id == head
    assert [change.path for change in main.uncommitted()] == ["a"], "the changes stay staged"
    told = receiver.told[0]
    assert (told["repository_id"], told["branch_id"], told["hook_id"]) == ("repo", "main", "hook")
    assert (told["commit_message"], told["committer"], told["commit_metadata"]) == ("m", "ada", {"k": "v"})
    assert told["parents"] == [head]

    receiver.answers["hook"] = [YES]
    made = main.commit("m")
    assert receiver.told[-1]["commit_id"] == made.id == main.record().commit_id
    assert [run.state for run in repo.hook_runs()] == [HookState.PASSED, HookState.REFUSED]


@pytest.mark.parametrize(
    ("answers", "calls", "passes"),
    [
        ([HookAnswer(None, "refused")] * 3, 3, False),
        ([HookAnswer(None, "not set", final=True), YES], 1, False),
        ([HookAnswer(503, ""), HookAnswer(429, ""), YES], 3, True),
        ([HookAnswer(599, ""), HookAnswer(500, ""), YES], 3, True),
        ([HookAnswer(600, "odd"), YES], 1, False),
        ([HookAnswer(400, "no"), YES], 1, False),
        ([HookAnswer(302, "elsewhere"), YES], 1, False),
    ],
)
def test_attempts_are_repeated_only_if_the_receiver_is_not_available(
    receiver: Receiver, repo: Repository, answers: list[HookAnswer], calls: int, passes: bool
) -> None:
    receiver.answers["hook"] = answers
    main = hooked(repo, PRE, attempts=3).branch("main")
    if passes:
        main.commit("m")
    else:
        with pytest.raises(PermissionDenied):
            main.commit("m")
    assert len(receiver.told) == calls
    (run,) = repo.hook_runs()
    assert (run.attempts, run.state) == (calls, HookState.PASSED if passes else HookState.REFUSED)


def test_a_failed_hook_after_a_commit_changes_nothing_and_can_be_repeated(receiver: Receiver, repo: Repository) -> None:
    receiver.answers["hook"] = [HookAnswer(500, "broken"), YES]
    made = hooked(repo, POST).branch("main").commit("m")
    assert repo.branch("main").record().commit_id == made.id
    (run,) = repo.hook_runs()
    assert (run.state, run.status, run.message) == (HookState.FAILED, 500, "broken")
    again = repo.repeat_hook(run.request.run_id)
    assert (again.state, again.attempts, receiver.told[0]) == (HookState.PASSED, 2, receiver.told[1])


def scene(repo: Repository) -> None:
    """`main` with a commit, and `dev` with one more."""
    repo.branch("main").commit("first")
    repo.create_branch("dev", "main")
    repo.branch("dev").stage("b", entry(2))
    repo.branch("dev").commit("second")


EVENTS: list[tuple[Act, str, dict[str, str]]] = [
    (lambda repo: repo.branch("dev").transact([Put("c", entry(3))], message="m"), "commit", {"branch_id": "dev"}),
    (lambda repo: repo.merge("dev", "main"), "merge", {"branch_id": "main"}),
    (lambda repo: repo.create_branch("new", "dev"), "create-branch", {"branch_id": "new"}),
    (lambda repo: repo.delete_branch("dev"), "delete-branch", {"branch_id": "dev"}),
    (lambda repo: repo.create_tag("v1", "dev"), "create-tag", {"tag_id": "v1"}),
    (lambda repo: (repo.create_tag("v1", "dev"), repo.delete_tag("v1")), "delete-tag", {"tag_id": "v1"}),
]


@pytest.mark.parametrize(("act", "event", "fields"), EVENTS, ids=[event for _, event, _ in EVENTS])
def test_every_event_is_told_before_and_after_and_can_be_refused(
    receiver: Receiver, repo: Repository, act: Act, event: str, fields: dict[str, str]
) -> None:
    scene(repo)
    hooked(repo, f"pre-{event}", f"post-{event}")
    act(repo)
    assert receiver.events() == [f"pre-{event}", f"post-{event}"]
    assert all(told[name] == value for told in receiver.told for name, value in fields.items())
    assert all(told["commit_id"] == told["source_ref"] for told in receiver.told)
    assert {run.state for run in repo.hook_runs()} == {HookState.PASSED}


@pytest.mark.parametrize(("act", "event", "fields"), EVENTS, ids=[event for _, event, _ in EVENTS])
def test_every_change_can_be_refused(
    receiver: Receiver, repo: Repository, act: Act, event: str, fields: dict[str, str]
) -> None:
    scene(repo)
    hooked(repo, f"pre-{event}", f"post-{event}")
    receiver.answers["hook"] = [HookAnswer(403, "no")]
    before = shown(repo)
    with pytest.raises(PermissionDenied) as no:
        act(repo)
    assert no.value.kind is Kind.HookRefused
    assert receiver.events() == [f"pre-{event}"], "hooks after a change are not called if it does not happen"
    assert fields.items() <= receiver.told[0].items()
    assert shown(repo) in (before, {**before, "v1": before["dev"]})


@pytest.mark.parametrize("answer", [YES, HookAnswer(403, "no")], ids=["accepted", "refused"])
@pytest.mark.parametrize(("act", "event", "fields"), EVENTS, ids=[event for _, event, _ in EVENTS])
def test_a_change_whose_repository_is_emptied_during_its_hook_leaves_no_record(
    receiver: Receiver, act: Act, event: str, fields: dict[str, str], answer: HookAnswer
) -> None:
    world = World()
    world.repository()
    others = repository(world, receiver)
    others.branch("main").stage("a", entry(1))
    scene(others)
    hooked(others, f"pre-{event}", f"post-{event}")

    def takes_days(hook: Webhook, run_id: str, event: str, body: bytes) -> HookAnswer:
        assert event.startswith("pre-")
        world.graveler().delete_repository("repo")
        assert cleaned(world).repositories == 1
        return answer

    with pytest.raises(NotFound):
        act(Graveler(replace(world.stores(), hooks=Hooks(send=takes_days))).repository("repo"))
    assert not list(world.kv.scan(keys.partition(others._record)))


def shown(repo: Repository) -> dict[str, str]:
    """The commit of each branch and tag."""
    return {each.id: each.commit_id for each in [*repo.branches(), *repo.tags()]}


def test_only_hooks_with_a_matching_pattern_are_called(receiver: Receiver, repo: Repository) -> None:
    repo.set_hook("other", "http://receiver/", [PRE], pattern="release-*")
    repo.set_hook("mine", "http://receiver/", [PRE], pattern="ma?n")
    repo.branch("main").commit("m")
    assert [told["hook_id"] for told in receiver.told] == ["mine"]


def test_functions_of_the_process_are_called_too(receiver: Receiver, repo: Repository) -> None:
    asked: list[tuple[str, object]] = []

    def check(request: HookRequest, _: object) -> None:
        asked.append((request.event_type, request.commit_message))
        if request.commit_message == "bad":
            raise ValueError("bad message")

    world = World(kv=repo._stores.kv)
    hook = Hook("check", check, (PRE, POST))
    main = (
        opened(world, receiver, functions=(hook, replace(hook, repository="other"))).repository("repo").branch("main")
    )
    with pytest.raises(PermissionDenied, match="ValueError: bad message"):
        main.commit("bad")
    main.commit("good")
    assert asked == [(PRE, "bad"), (PRE, "good"), (POST, "good")]
    assert [run.state for run in repo.hook_runs()] == [HookState.PASSED, HookState.PASSED, HookState.REFUSED]


def test_a_function_that_changes_its_own_branch_ends_with_an_error(receiver: Receiver, repo: Repository) -> None:
    """The function neither waits for the turn of the commit that called it, nor does the commit go on for ever."""

    def meddle(request: HookRequest, found: Repository) -> None:
        found.branch("main").transact([Put(request.run_id, entry(5))], message="meddled")

    world = World(kv=repo._stores.kv)
    hooks = Hooks(functions=(Hook("meddle", meddle, (PRE,)),), handle=repository_for_hooks)
    main = Graveler(replace(world.stores(), hooks=hooks)).repository("repo").branch("main")
    with pytest.raises(SlowDown) as ended:
        main.commit("m")
    assert ended.value.kind is Kind.RetriesExhausted


def test_a_function_that_fails_after_a_commit_is_recorded(receiver: Receiver, repo: Repository) -> None:
    def fail(request: HookRequest, _: object) -> None:
        raise RuntimeError("password=geheim")

    world = World(kv=repo._stores.kv)
    opened(world, receiver, functions=(Hook("fail", fail, (POST,)),)).repository("repo").branch("main").commit("m")
    (run,) = repo.hook_runs()
    assert (run.state, run.message) == (HookState.FAILED, "RuntimeError: password=***")


def test_a_commit_that_loses_its_swap_is_asked_about_once(receiver: Receiver, repo: Repository) -> None:
    """Another process seals the staging token between the question and the swap: the commit stays the same."""
    hooked(repo, PRE, POST)
    world = World(kv=repo._stores.kv)

    def sending(hook: Webhook, run_id: str, event: str, body: bytes) -> HookAnswer:
        if not receiver.told:
            world.branch().compact()
        return receiver(hook, run_id, event, body)

    main = Graveler(replace(world.stores(), hooks=Hooks(send=sending))).repository("repo").branch("main")
    made = main.commit("m")
    assert {told["commit_id"] for told in receiver.told if told["event_type"] == POST} == {made.id}
    assert receiver.events().count(POST) == 1
    assert all(run.state is HookState.PASSED for run in repo.hook_runs())


def after_a_day(world: World) -> None:
    world.clock.time += timedelta(days=2)


def crossed(act: Act) -> list[tuple[World, Receiver]]:
    """The worlds in which the process died before, or lost the reply of, each call of a change."""
    base = World()
    base.repository()
    told = Receiver()
    base_repo = repository(base, told)
    base_repo.branch("main").stage("a", entry(1))
    scene(base_repo)
    base_repo.branch("main").stage("d", entry(4))
    base_repo.create_tag("v0", "dev")
    base_repo.set_hook("hook", "http://receiver/", [event for event in HookEvent if not event.is_pre])
    ends: list[tuple[World, Receiver]] = []
    for way in ("dies", "loses", "loses undone"):
        number = 0
        while True:
            world, receiver = base.fork(), Receiver()
            kv = Interposed(world.kv)
            found = repository(world, receiver, kv)
            kv.reset()
            if way == "dies":
                kv.fail[number] = Crash()
            else:
                kv.lose[number] = way == "loses"
            with suppress(Crash, GravelerError):
                act(found)
            if len(kv.verbs) <= number:
                break
            ends.append((world, receiver))
            number += 1
    return ends


ACTS: dict[str, tuple[Act, Callable[[Repository], bool]]] = {
    "commit": (lambda repo: repo.branch("main").commit("m"), lambda repo: next(repo.log("main")).message == "m"),
    "merge": (
        lambda repo: repo.merge("dev", "main", message="merged"),
        lambda repo: next(repo.log("main")).message == "merged",
    ),
    "create": (lambda repo: repo.create_branch("new", "dev"), lambda repo: "new" in shown(repo)),
    "delete": (lambda repo: repo.delete_branch("dev"), lambda repo: "dev" not in shown(repo)),
    "create-tag": (lambda repo: repo.create_tag("v1", "dev"), lambda repo: "v1" in shown(repo)),
    "assign": (
        lambda repo: repo.assign_tag("v0", "main", expected=shown(repo)["v0"]),
        lambda repo: shown(repo)["v0"] == shown(repo)["main"],
    ),
}


@pytest.mark.parametrize("name", ACTS)
def test_a_hook_is_called_for_what_happened_and_for_nothing_else(name: str) -> None:
    """Wherever the process dies or loses a reply: after the deliveries, the hook was called if and only if the change
    is there, and no run is pending."""
    act, happened = ACTS[name]
    if name == "merge":
        prepared = act
        act = lambda repo: (repo.branch("main").reset(), prepared(repo))  # noqa: E731
    ends = crossed(act)
    assert len(ends) > 8
    outcomes = set()
    for world, receiver in ends:
        world.clock.time += timedelta(minutes=11)
        again = repository(world, receiver)
        again.deliver_hooks()
        after_a_day(world)
        again.deliver_hooks()
        there = happened(repository(world, receiver))
        outcomes.add(there)
        assert bool(receiver.told) == there
        assert not any(run.state is HookState.PENDING for run in again.hook_runs())
    assert outcomes == {True, False}


def test_two_deliveries_call_a_hook_once() -> None:
    """A second delivery runs completely between any two calls of the first."""
    base = World()
    base.repository()
    found = hooked(repository(base, Receiver()), POST)
    found.branch("main").stage("a", entry(1))
    dying = Graveler(replace(base.stores(), hooks=Hooks(send=dies))).repository("repo")
    with pytest.raises(Crash):
        dying.branch("main").commit("m")
    base.clock.time += timedelta(minutes=11)
    assert [run.state for run in found.hook_runs()] == [HookState.PENDING]
    for number in range(40):
        world, receiver = base.fork(), Receiver()
        kv = Interposed(world.kv)
        first = repository(world, receiver, kv)
        kv.reset()
        kv.before[number] = lambda world=world, receiver=receiver: repository(world, receiver).deliver_hooks()
        first.deliver_hooks()
        assert receiver.events() == [POST]
        if kv.before:
            return
    raise AssertionError("the delivery does not end")


def dies(hook: Webhook, run_id: str, event: str, body: bytes) -> HookAnswer:
    """Let the process die when it calls a webhook."""
    raise Crash
