"""Suites that cannot be weakened: no test of theirs is overridden, removed, skipped or expected to fail."""

from __future__ import annotations

import sys
from typing import Any

_EXCUSES = frozenset(("skip", "skipif", "xfail"))


class Sealed(type):
    """The metaclass of shipped suites. A subclass offers fixtures and may add tests of its own.

    Raises:
        TypeError: When a class is made, or changed, that hides or excuses a test it inherits.
    """

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any) -> None:
        super().__init__(name, bases, namespace, **options)
        for test in filter(_is_test, dir(cls)):
            owners = [owner.__name__ for owner in cls.__mro__ if test in vars(owner)]
            if len(owners) > 1:
                raise TypeError(f"{owners[0]} overrides {test} of {owners[-1]}; a suite is passed whole or not at all")
        if not namespace.get("__test__", True):
            raise TypeError(f"{name} keeps its suite from running")
        _refuse_excuses(name, namespace.get("pytestmark"))
        _refuse_excuses(name, getattr(sys.modules.get(cls.__module__), "pytestmark", None))

    def __setattr__(cls, name: str, value: Any) -> None:
        if _is_test(name) or (name == "__test__" and not value):
            raise TypeError(f"{cls.__name__}.{name} cannot be replaced; a suite is passed whole or not at all")
        if name == "pytestmark":
            _refuse_excuses(cls.__name__, value)
        super().__setattr__(name, value)

    def __delattr__(cls, name: str) -> None:
        if _is_test(name):
            raise TypeError(f"{cls.__name__}.{name} cannot be removed; a suite is passed whole or not at all")
        super().__delattr__(name)


def _is_test(name: str) -> bool:
    return name.startswith("test_")


def _refuse_excuses(where: str, marks: Any) -> None:
    for mark in marks if isinstance(marks, list | tuple) else [marks]:
        if getattr(mark, "name", None) in _EXCUSES:
            raise TypeError(f"{where} is marked {mark.name}; a suite is passed whole or not at all")
