"""Docstrings: they begin with an imperative or a noun phrase, and the public API documents what callers need."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

import pytest

from tests.house.project import Project, Source

RIDDLES = re.compile(r"\W*(What|Whether|Where|Of|So|Who|Whose|Which|How|When|That)\b")
"""Beginnings that delay the subject of a sentence, or leave it out."""
FACADE = "graveler_core/facade/"
DOORS = ("graveler/__init__.py", "graveler_core/__init__.py")
IMPORTED = re.compile(r"^from ((?:graveler|dagster_graveler)[\w.]*) import (?:\(([^)]*)\)|(.*))$", re.MULTILINE)
"""An import of the project in an example of the documentation."""
FACTORY = re.compile(r"make_\w+")


def docstrings(source: Source) -> Iterator[ast.Constant]:
    """The strings that document a module, a class, a function or an attribute."""
    for node in ast.walk(source.tree):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else []:
            value = getattr(statement, "value", None)
            if isinstance(statement, ast.Expr) and isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield value


def riddles(source: Source) -> Iterator[int]:
    for text in docstrings(source):
        if RIDDLES.match(str(text.value)):
            yield text.lineno


def operations(source: Source) -> Iterator[ast.FunctionDef]:
    """The methods that `@operation` decorates, without properties."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef):
            names = {ast.unparse(decorator).partition("(")[0] for decorator in node.decorator_list}
            if "operation" in names and "property" not in names:
                yield node


def exported(project: Project) -> Iterator[tuple[Source, ast.FunctionDef]]:
    """The functions that `graveler_core` re-exports, with the modules that define them."""
    sources = {source.module: source for source in project.production()}
    for door in (source for source in sources.values() if str(source.path) in DOORS):
        for node in ast.walk(door.tree):
            defining = sources.get(node.module or "") if isinstance(node, ast.ImportFrom) else None
            if isinstance(node, ast.ImportFrom) and defining is not None:
                names = {alias.name for alias in node.names}
                functions = (each for each in defining.tree.body if isinstance(each, ast.FunctionDef))
                yield from ((defining, function) for function in functions if function.name in names)


def taught(project: Project) -> Iterator[tuple[Source, ast.FunctionDef]]:
    """The functions, and the methods of classes, that examples of the documentation import, and Dagster's factories."""
    texts = [text for path, text in project.texts().items() if path.suffix == ".md"]
    lines = [line for text in texts for line in IMPORTED.findall(text)]
    names = {(module, name) for module, several, one in lines for name in re.findall(r"\w+", several or one)}
    for source in project.production():
        factories = source.module.startswith("dagster_graveler.")
        for node in source.tree.body:
            known = (source.module, getattr(node, "name", "")) in names
            if isinstance(node, ast.FunctionDef) and (known or (factories and FACTORY.match(node.name))):
                yield source, node
            if isinstance(node, ast.ClassDef) and known:
                yield from ((source, method) for method in node.body if public(method))


def public(method: ast.stmt) -> TypeGuard[ast.FunctionDef]:
    """Tell if a part of a class is a method that others call, and that its base class does not document."""
    if not isinstance(method, ast.FunctionDef) or method.name.startswith("_"):
        return False
    decorators = {ast.unparse(each) for each in method.decorator_list}
    return not decorators & {"property", "cached_property", "override", "pytest.fixture"}


def one_sentence(method: ast.FunctionDef) -> bool:
    """Tell if a method without arguments says in its first sentence what it returns."""
    return ast.unparse(method.args) == "self" and (ast.get_docstring(method) or "").startswith("Return ")


def raises(function: ast.FunctionDef) -> bool:
    return any(isinstance(node, ast.Raise) for node in ast.walk(function))


def missing(function: ast.FunctionDef) -> list[str]:
    """The sections that the docstring of a public function lacks, and the arguments that it does not name."""
    text = ast.get_docstring(function) or ""
    arguments = [each.arg for each in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]
    arguments += [each.arg for each in (function.args.vararg, function.args.kwarg) if each is not None]
    arguments = [name for name in arguments if name != "self"]
    found = [name for name in arguments if not re.search(rf"^    \*{{0,2}}{name}: ", text, re.MULTILINE)]
    if arguments and not has(text, "Args"):
        found.append("Args")
    if function.returns is not None and ast.unparse(function.returns) != "None" and not has(text, "Returns", "Yields"):
        found.append("Returns")
    if not has(text, "Raises"):
        found.append("Raises")
    return found


def has(text: str, *sections: str) -> bool:
    return any(re.search(rf"^{section}:$", text, re.MULTILINE) for section in sections)


def test_docstrings_begin_with_their_subject(project: Project) -> None:
    assert not [f"{source.path}:{line}" for source in project.production() for line in riddles(source)]


def test_operations_are_documented(project: Project) -> None:
    sources = [source for source in project.production() if str(source.path).startswith(FACADE)]
    methods = [(source, method) for source in sources for method in operations(source)]
    assert len(methods) > 50
    assert not [f"{source.path}:{method.lineno} {lacks}" for source, method in methods if (lacks := missing(method))]


def test_exported_functions_are_documented(project: Project) -> None:
    functions = list(exported(project))
    assert {function.name for _, function in functions} >= {"connect", "copy_store", "compare_stores"}
    assert not [f"{source.path}:{each.lineno} {lacks}" for source, each in functions if (lacks := missing(each))]


def test_what_the_documentation_imports_is_documented(project: Project) -> None:
    functions = list(taught(project))
    assert {function.name for _, function in functions} >= {"make_import_job", "local_settings", "scan", "sort"}
    lacks = {(source.path, each.lineno): set(missing(each)) for source, each in functions}
    for source, each in functions:
        if not raises(each):
            lacks[source.path, each.lineno].discard("Raises")
        if one_sentence(each):
            lacks[source.path, each.lineno].discard("Returns")
    assert not [f"{path}:{line} {sorted(gaps)}" for (path, line), gaps in lacks.items() if gaps]


@pytest.mark.parametrize(
    "text",
    [
        '"""What it does."""',
        'class A:\n    """Whether it does."""',
        'def f():\n    """Of the file."""',
        'A = 1\n"""How many."""',
        'class A:\n    a: int\n    """So many."""',
        'def f():\n    """\n    Who may."""',
        'async def f():\n    """`Where` it is."""',
    ],
)
def test_a_planted_riddle_is_caught(text: str) -> None:
    assert list(riddles(Source(Path("jobs/read.py"), ast.parse(text))))


@pytest.mark.parametrize("text", ['"""Whatever is staged."""', 'def f():\n    """Offer."""', 'f("What it does")'])
def test_other_texts_pass(text: str) -> None:
    assert not list(riddles(Source(Path("jobs/read.py"), ast.parse(text))))


@pytest.mark.parametrize(
    ("signature", "text", "lacks"),
    [
        ("(self, path: str) -> None", "Remove.\n\n    Raises:\n        X: no.", ["path", "Args"]),
        ("(self, *, a: int) -> None", "Do.\n\n    Args:\n        b: B.\n\n    Raises:\n        X: no.", ["a"]),
        ("(self) -> int", "Count.\n\n    Raises:\n        X: no.", ["Returns"]),
        ("(self) -> None", "Do it. Raises an error.", ["Raises"]),
        ("(self, **o: int) -> None", "Do.\n\n    Args:\n        o: Options.\n\n    Raises:\n        X: no.", []),
        ("(self) -> Iterator[int]", "List.\n\n    Yields:\n        Numbers.\n\n    Raises:\n        X: no.", []),
    ],
)
def test_a_planted_gap_is_caught(signature: str, text: str, lacks: list[str]) -> None:
    planted = f'class A:\n  @operation("do")\n  def f{signature}:\n    """{text}\n    """'
    (method,) = operations(Source(Path(FACADE, "a.py"), ast.parse(planted)))
    assert missing(method) == lacks
