"""Messages: they name options for users of the command line beside arguments, and numbers agree with their nouns."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

import typer

from graveler_core.cli.app import app
from graveler_core.facade.branch import Branch
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.facade.snapshot import Snapshot
from tests.house.project import Project, Source
from tests.house.test_prose import docstrings

OWN = ("cli", "facade", "testing")
"""Packages of `graveler_core` whose messages need one form only: users of the command line read those of `cli`, and
`facade` refuses values that only Python callers can give."""
NO_OPTION = {"on_conflict"}
"""Arguments and methods that the command line does not have."""
ARGUMENT = re.compile(r"\b(?P<name>[a-z_]+)=(True|False|timedelta|…)")
NAME = re.compile(r"(?<=[ (])[a-z]+(?:_[a-z]+)+\b")
OPTION = re.compile(r"(?P<option>--[a-z-]+) \($")
BESIDE = re.compile(r"(--[a-z-]+|`[^`]+`) \((\w+ with )?$|\bconnect\($")
"""Words before an argument or a method: an option, a command, or `connect`, whose arguments are settings."""
COUNT = re.compile(r" (?!of )(?:[a-z-]+ )?(?!was\b|its\b|does\b|is\b|has\b)[a-z]{2,}s\b")


def text(node: ast.AST) -> str:
    """Return a string with its values as `{}`."""
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)  # type: ignore[misc]
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def messages(source: Source) -> Iterator[tuple[int, str]]:
    """Yield the strings of a module that have several words, without docstrings."""
    inner = {id(part) for node in ast.walk(source.tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    inner |= {id(each) for each in docstrings(source)}
    for node in ast.walk(source.tree):
        if id(node) not in inner and " " in text(node):
            yield node.lineno, text(node)  # type: ignore[attr-defined]


def core(project: Project) -> Iterator[Source]:
    for source in project.sources("graveler_core"):
        if source.path.parts[1] not in OWN:
            yield source


@cache
def python_names() -> frozenset[str]:
    """Return the methods of the façade and their parameters, as far as their names have several words."""
    names = set[str]()
    for cls in (Branch, Graveler, Repository, Snapshot):
        for name, method in inspect.getmembers(cls, inspect.isfunction):
            if not name.startswith("_"):
                names |= {name, *inspect.signature(method).parameters}
    return frozenset(name for name in names if "_" in name) - NO_OPTION


def options(command: object) -> Iterator[str]:
    """Yield the options of a command and of those below it."""
    for parameter in command.params:  # type: ignore[attr-defined]
        yield from parameter.opts
    for below in getattr(command, "commands", {}).values():
        yield from options(below)


def test_an_argument_of_python_has_the_option_of_the_command_line_before_it(project: Project) -> None:
    known, wrong = set(options(typer.main.get_command(app))), []
    for source in core(project):
        for line, said in messages(source):
            found = [*ARGUMENT.finditer(said)]
            found += [match for match in NAME.finditer(said) if match[0] in python_names()]
            for match in found:
                before = said[: match.start()]
                option = OPTION.search(before)
                if not BESIDE.search(before) or (option and option["option"] not in known):
                    wrong.append(f"{source.path}:{line}: {match[0]}")
    assert not wrong, "write --option (argument=value), or `graveler command` (method)"


def test_a_number_agrees_with_its_noun(project: Project) -> None:
    """Of what people read most; `counted` chooses the noun."""
    wrong = [
        f"{source.path}:{node.lineno}: {ast.unparse(node)}"
        for source in project.sources("graveler_core", "graveler", "dagster_graveler")
        if source.path.parts[:2] in {("graveler_core", "cli"), ("graveler", "spark")} or source.path.parts[0][0] == "d"
        for node in ast.walk(source.tree)
        if isinstance(node, ast.JoinedStr)
        for number, words in pairwise(node.values)
        if isinstance(number, ast.FormattedValue) and number.format_spec is not None
        if "," in text(number.format_spec) and not ast.unparse(number.value).isupper()
        if isinstance(words, ast.Constant) and COUNT.match(str(words.value))
    ]
    assert not wrong
