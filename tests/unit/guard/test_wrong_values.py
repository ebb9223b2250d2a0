"""Tests of wrong values: each argument of each public method, in turn, gets values of other types and no sense.

The call then succeeds or raises an error of the library, and never one of Python's own.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import cache
from inspect import BoundArguments, Parameter
from itertools import islice
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest

from graveler_core.errors import GravelerError, InvalidInput
from graveler_core.facade.access import Access
from graveler_core.facade.branch import Branch
from graveler_core.guard.operation import operation
from tests.unit.engine.world import World
from tests.unit.guard.principals import AllBut
from tests.unit.guard.samples import CLEAN, HANDLES, handle, scene

WRONG = (None, -1, 2**70, b"\xff", "\0", "\ud800", [None], object())
VARIADIC = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
METHODS = [
    (cls, name)
    for cls, samples in HANDLES.items()
    for name in samples
    if not isinstance(inspect.getattr_static(cls, name), property)
]


class _Recorded(Exception):
    """The call of a sample, instead of the call itself."""

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.call = args, kwargs


@cache
def _scene() -> World:
    return scene("world-of-wrong-values")


def _handle(cls: type, name: str) -> Any:
    world = _scene().fork()
    if name in CLEAN:
        world.graveler().repository("repo").branch("work").reset()
    return handle(world, cls, AllBut())


def _sample(cls: type, name: str, handle: Any) -> BoundArguments:
    """The arguments of the sample's call."""

    def record(*args: Any, **kwargs: Any) -> None:
        raise _Recorded(args, kwargs)

    signature = inspect.signature(getattr(cls, name))
    with patch.object(cls, name, record), pytest.raises(_Recorded) as recorded:
        HANDLES[cls][name](handle)
    args, kwargs = recorded.value.call
    return signature.bind(*args, **kwargs)


def _wrong_calls(cls: type, name: str) -> Iterator[tuple[str, object]]:
    for parameter in [*inspect.signature(getattr(cls, name)).parameters.values()][1:]:
        for wrong in () if parameter.kind in VARIADIC else WRONG:
            yield parameter.name, wrong


@pytest.mark.filterwarnings("ignore:merge. squash:FutureWarning")
@pytest.mark.parametrize(("cls", "name"), METHODS, ids=lambda value: getattr(value, "__name__", value))
def test_wrong_values_raise_errors_of_the_library(cls: type, name: str) -> None:
    handle = None
    for parameter, wrong in _wrong_calls(cls, name):
        handle = handle or _handle(cls, name)
        call = _sample(cls, name, handle)
        call.arguments[parameter] = wrong
        try:
            result = getattr(cls, name)(*call.args, **call.kwargs)
            if isinstance(result, Iterator):
                list(islice(result, 3))
        except InvalidInput:
            continue  # nothing has changed, so the next call can use the same handle
        except GravelerError:
            handle = None
        except Exception as error:
            raise AssertionError(f"{parameter}={wrong!r}: {error!r}") from error
        else:
            handle = None


def test_the_error_names_the_argument_the_value_and_the_type() -> None:
    with pytest.raises(InvalidInput, match=r"^stage: entry 5 must be of type Entry$") as caught:
        _handle(Branch, "stage").stage("n", 5)
    assert caught.value.details == {"argument": "entry"}
    assert isinstance(caught.value.__cause__, AttributeError)


def test_the_error_shows_no_secret() -> None:
    with pytest.raises(InvalidInput, match=r"secrets_keys \(a str\) must be of type") as caught:
        _handle(Access, "create_credential").create_credential("ada", secrets_keys="hunter2")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("items", [False, True], ids=["at once", "lazily"])
def test_an_error_of_the_library_itself_stays(items: bool) -> None:
    class Handle:
        _stores: Any = SimpleNamespace(principal=None)
        _flow_target = ("", "")

        @operation("fail")
        def fail(self, number: int) -> object:
            return self._fail(number) if items else next(self._fail(number))

        def _fail(self, number: int) -> Iterator[object]:
            yield number + "text"  # type: ignore[operator]

    with pytest.raises(TypeError, match="unsupported operand"):
        list(Handle().fail(1))  # type: ignore[call-overload]
    with pytest.raises(InvalidInput, match=r"^fail: number None must be of type int$"):
        list(Handle().fail(None))  # type: ignore[arg-type, call-overload]
