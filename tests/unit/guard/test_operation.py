"""The seam: unseen without a principal; with one, rules see the bound arguments, and the method gets what they saw."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import pytest

from graveler_core.errors import PermissionDenied
from graveler_core.guard.call import GuardedCall
from graveler_core.guard.operation import MARK, GuardedOperation, operation
from graveler_core.iam.principal import Principal
from graveler_core.model.permission import Action, Request
from tests.unit.guard.principals import AllBut, Says, Told
from tests.unit.telemetry.conftest import Log, log

__all__ = ["log"]


class Stores:
    """What the seam looks at."""

    def __init__(self, principal: Principal | None) -> None:
        self.principal = principal


def first(call: GuardedCall) -> Iterator[Request]:
    call.handle.seen.append(dict(call.arguments))
    yield Request(Action.READ_OBJECT, "one")
    call.arguments["many"] = [*call.arguments["many"]]
    yield Request(Action.READ_OBJECT, "two")


def second(call: GuardedCall) -> list[Request]:
    call.handle.seen.append("second")
    return [Request(Action.WRITE_OBJECT, "three")]


class Handle:
    def __init__(self, principal: Principal | None = None) -> None:
        self._stores: Any = Stores(principal)
        self._flow_target = ("lake", "main")
        self.seen: list[object] = []
        self.done: list[object] = []

    @operation("work", first, second)
    def work(self, many: Any, *, word: str = "said", **options: int) -> int:
        """What it does."""
        self.done.append((many, word, options))
        return len(self.done)


def test_the_method_stays_what_it_is() -> None:
    assert Handle.work.__doc__ == "What it does."
    assert Handle.work.__name__ == "work"
    assert [*inspect.signature(Handle.work).parameters] == ["self", "many", "word", "options"]
    assert getattr(Handle.work, MARK) == GuardedOperation("work", (first, second))


def test_without_a_principal_nobody_is_asked() -> None:
    handle, given = Handle(), iter("ab")
    assert handle.work(given, more=1) == 1
    assert handle.seen == []
    assert handle.done == [(given, "said", {"more": 1})]


def test_rules_see_all_arguments_and_the_method_gets_what_they_left() -> None:
    handle, given = Handle(AllBut()), iter("ab")
    assert handle.work(many=given, more=1) == 1
    assert handle.seen[0] == {"self": handle, "many": given, "word": "said", "options": {"more": 1}}
    assert handle.done == [(["a", "b"], "said", {"more": 1})]


@pytest.mark.parametrize(("allowed", "left"), [(0, "ab"), (1, ""), (2, "")])
def test_the_first_refusal_ends_the_call(allowed: int, left: str) -> None:
    """What a rule would do behind a refused request is not done either: the iterator is not read."""
    wanted = [Says(Action.READ_OBJECT, "one"), Says(Action.READ_OBJECT, "two"), Says(Action.WRITE_OBJECT, "three")]
    handle, given = Handle(Told(*wanted[:allowed])), iter("ab")
    with pytest.raises(PermissionDenied) as refused:
        handle.work(given)
    assert refused.value.details["resource"] == ("one", "two", "three")[allowed]
    assert handle.done == []
    assert "".join(given) == left


@pytest.mark.parametrize("principal", [None, AllBut()])
def test_wrong_arguments_are_told_as_ever(principal: Principal | None) -> None:
    handle = Handle(principal)
    with pytest.raises(TypeError, match="'many'"):
        handle.work()  # type: ignore[call-arg]
    assert handle.seen == handle.done == []


class Whole:
    """A handle on a whole store, whose arguments name the repository and the branch."""

    def __init__(self) -> None:
        self._stores: Any = Stores(None)
        self._flow_target = ("", "")

    @operation("create branch", repository="repo", branch="name")
    def create(self, name: str, repo: str = "flights") -> None:
        """Anything."""

    @operation("log")
    def log(self) -> Iterator[int]:
        """Lazy."""
        yield 1


def test_a_call_is_told_as_a_flow_of_its_handle(log: Log) -> None:
    Handle(AllBut()).work([])
    with pytest.raises(PermissionDenied):
        Handle(Told()).work([])
    first, last = log.records
    assert (first.name, first.getMessage(), last.getMessage()) == ("graveler.work", "work ok", "work AccessDenied")
    assert {(each.__dict__["repository"], each.__dict__["branch"]) for each in log.records} == {("lake", "main")}


def test_arguments_name_what_the_handle_has_not(log: Log) -> None:
    Whole().create("dev", repo="trains")
    Whole().create(name="dev")
    assert [each.__dict__["branch"] for each in log.records] == ["dev", "dev"]
    assert [each.__dict__.get("repository") for each in log.records] == ["trains", None]


def test_what_is_lazy_is_no_flow(log: Log) -> None:
    assert [*Whole().log()] == [1]
    assert log.records == []
