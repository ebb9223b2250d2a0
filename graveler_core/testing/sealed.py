"""Test suites whose tests cannot be overridden, removed, skipped or marked as expected failures."""

from __future__ import annotations

import sys
from typing import Any

_EXCUSES = frozenset(("skip", "skipif", "xfail"))


class Sealed(type):
    """Metaclass of the test suites for plug-ins. A subclass defines fixtures and can add tests.

    Raises:
        TypeError: A subclass overrides, removes, skips or excuses an inherited test.
    """

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any) -> None:
        super().__init__(name, bases, namespace, **options)
        for test in filter(_is_test, dir(cls)):
            owners = [owner.__name__ for owner in cls.__mro__ if test in vars(owner)]
            if len(owners) > 1:
                raise TypeError(f"{owners[0]} overrides {test} of {owners[-1]}; a suite must run unchanged")
        if not namespace.get("__test__", True):
            raise TypeError(f"{name} sets __test__ to a false value; a suite must run unchanged")
        _refuse_excuses(name, namespace.get("pytestmark"))
        _refuse_excuses(name, getattr(sys.modules.get(cls.__module__), "pytestmark", None))

    def __setattr__(cls, name: str, value: Any) -> None:
        if _is_test(name) or (name == "__test__" and not value):
            raise TypeError(f"{cls.__name__}.{name} cannot be replaced; a suite must run unchanged")
        if name == "pytestmark":
            _refuse_excuses(cls.__name__, value)
        super().__setattr__(name, value)

    def __delattr__(cls, name: str) -> None:
        if _is_test(name):
            raise TypeError(f"{cls.__name__}.{name} cannot be removed; a suite must run unchanged")
        super().__delattr__(name)


def _is_test(name: str) -> bool:
    return name.startswith("test_")


def _refuse_excuses(where: str, marks: Any) -> None:
    for mark in marks if isinstance(marks, list | tuple) else [marks]:
        if getattr(mark, "name", None) in _EXCUSES:
            raise TypeError(f"{where} is marked {mark.name}; a suite must run unchanged")
