"""The numbers and durations that a module names and that some code compares: thresholds, limits, grace periods."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta

from tests.house.project import Source

CHOOSING = {"min", "max", "range", "islice", "has_lapsed"}
"""Calls that choose by a number, as a comparison does."""
COUNTERS = (0, 1)
"""Defaults of fields that count, or that say yes or no."""
OPERATIONS = {ast.Add: int.__add__, ast.Sub: int.__sub__, ast.Mult: int.__mul__, ast.LShift: int.__lshift__}
OPERATIONS |= {ast.FloorDiv: int.__floordiv__}


@dataclass(frozen=True)
class Constant:
    """A number by its module and its name; the field of a class is named `Class.field`."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


@dataclass
class Numbers:
    """The named numbers of some sources, and those that are compared."""

    values: dict[Constant, int] = field(default_factory=dict)
    fields: dict[str, list[Constant]] = field(default_factory=dict)
    """Fields of classes by their own name: code names no class before an attribute."""
    compared: dict[Constant, list[str]] = field(default_factory=dict)
    """With the places."""


def numbers(sources: Iterable[Source]) -> Numbers:
    """Find the named numbers of sources, and where they are compared."""
    found, kept = Numbers(), list(sources)
    rounds = [len(kept)]
    while rounds[-1]:  # numbers that are computed from others are found in a later round
        rounds.append(sum(_define(found, source) for source in kept))
    for source in kept:
        _compare(found, source)
    return found


def _define(found: Numbers, source: Source) -> bool:
    """Take in what a module defines; say if there was anything new."""
    known, names = len(found.values), _names(source)
    for node in source.tree.body:
        for name, value in _assigned(node):
            number = _number(value, names, found)
            if number is not None:
                found.values[Constant(source.module, name)] = number
        if isinstance(node, ast.ClassDef):
            _define_fields(found, source, node, names)
    return len(found.values) > known


def _define_fields(found: Numbers, source: Source, node: ast.ClassDef, names: dict[str, Constant]) -> None:
    for inner in (inner for inner in node.body if isinstance(inner, ast.AnnAssign)):
        for name, value in _assigned(inner):
            constant, number = Constant(source.module, f"{node.name}.{name}"), _number(value, names, found)
            if number is not None and number not in COUNTERS and constant not in found.values:
                found.values[constant] = number
                found.fields.setdefault(name, []).append(constant)


def _assigned(node: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
        yield node.target.id, node.value
    if isinstance(node, ast.Assign):
        yield from ((target.id, node.value) for target in node.targets if isinstance(target, ast.Name))


def _number(node: ast.expr, names: dict[str, Constant], found: Numbers) -> int | None:
    """The whole number that an expression is, as far as that can be read from it; for a duration its microseconds."""
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if isinstance(node, ast.Name):
        return found.values.get(names[node.id]) if node.id in names else None
    if isinstance(node, ast.Call) and _last(node.func) == "timedelta" and not node.args:
        parts = {part.arg: part.value.value for part in node.keywords if isinstance(part.value, ast.Constant)}
        return timedelta(**parts) // timedelta(microseconds=1) if len(parts) == len(node.keywords) else None
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATIONS:
        left, right = (_number(side, names, found) for side in (node.left, node.right))
        return None if left is None or right is None else OPERATIONS[type(node.op)](left, right)
    return None


def _names(source: Source) -> dict[str, Constant]:
    """What the names of a module stand for: its own numbers, and those that it imports."""
    own = {name: Constant(source.module, name) for node in source.tree.body for name, _ in _assigned(node)}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            own |= {alias.asname or alias.name: Constant(node.module, alias.name) for alias in node.names}
    return own


def _compare(found: Numbers, source: Source) -> None:
    """Note the numbers of every comparison of a module; a parameter stands for the number that is its default."""
    module = _names(source)
    for scope in ast.walk(source.tree):
        if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef | ast.Module):
            names = module
            if not isinstance(scope, ast.Module):
                names = module | {
                    name: module[default.id]
                    for name, default in defaults(scope)
                    if isinstance(default, ast.Name) and default.id in module
                }
            for node in ast.walk(scope):
                if isinstance(node, ast.Compare) or (isinstance(node, ast.Call) and _last(node.func) in CHOOSING):
                    _note(found, f"{source.path}:{node.lineno}", _used(found, node, names))


def _used(found: Numbers, node: ast.expr, names: dict[str, Constant]) -> Iterator[Constant]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and names.get(inner.id) in found.values:
            yield names[inner.id]
        if isinstance(inner, ast.Attribute):
            yield from found.fields.get(inner.attr, ())
            owner = names.get(_last(inner.value))
            if owner and (constant := Constant(str(owner), inner.attr)) in found.values:
                yield constant


def _note(found: Numbers, place: str, constants: Iterable[Constant]) -> None:
    for constant in constants:
        places = found.compared.setdefault(constant, [])
        if place not in places:
            places.append(place)


def defaults(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[str, ast.expr]]:
    """The parameters of a function that have a default, with it."""
    positional = [*function.args.posonlyargs, *function.args.args]
    given = function.args.defaults
    yield from zip((arg.arg for arg in positional[len(positional) - len(given) :]), given, strict=True)
    for arg, default in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True):
        if default is not None:
            yield arg.arg, default


def _last(node: ast.expr) -> str:
    return ast.unparse(node).rpartition(".")[2]
