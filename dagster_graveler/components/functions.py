"""Functions that `defs.yaml` names, such as `my_project.tables.daily_delays`."""

import functools
import importlib
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import dagster as dg

from dagster_graveler.beta import beta_accepted


def resolve_function(context: dg.ResolutionContext, path: str) -> Callable[..., Any]:
    """Return the function that a text names.

    Args:
        context: Context of the component.
        path: Path of the module and the function, with dots. If it begins with a dot, it is relative to the folder of
            `defs.yaml`.

    Raises:
        DagsterInvalidDefinitionError: The module cannot be imported, or has no such function.
    """
    module, _, name = path.rpartition(".")
    if not name or not module.strip("."):
        raise dg.DagsterInvalidDefinitionError(
            f"function {path!r}: must be a path such as my_project.tables.orders, or .tables.orders"
        )
    if path.startswith("."):
        load_context = dg.ComponentLoadContext.from_resolution_context(context)
        module = f"{load_context.defs_relative_module_name(load_context.path)}{module}"
    try:
        found = getattr(importlib.import_module(module), name, None)
    except (ImportError, ValueError) as error:
        raise dg.DagsterInvalidDefinitionError(f"function {path!r}: {error}") from error
    if not callable(found):
        raise dg.DagsterInvalidDefinitionError(f"function {path!r}: module {module!r} has no function {name!r}")
    function: Callable[..., Any] = found
    return function


LakeFunction = Annotated[Callable[..., Any], dg.Resolver(resolve_function, model_field_type=str)]
"""Field of a component: a function, given by its path."""


def code_references(function: Callable[..., Any]) -> dict[str, Any]:
    """Return metadata with the place of a function in the source code, or none if it has no source file.

    Args:
        function: The function that `defs.yaml` names.
    """
    original = inspect.unwrap(function)
    try:
        file, line = inspect.getsourcefile(original), inspect.getsourcelines(original)[1]
    except (OSError, TypeError):
        return {}
    if file is None:
        return {}
    with beta_accepted():
        place = dg.LocalFileCodeReference(file_path=str(Path(file).resolve()), line_number=line)
        return {"dagster/code_references": dg.CodeReferencesMetadataValue(code_references=[place])}


def called(function: Callable[..., Any], call: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function with the parameters and annotations of another.

    Dagster takes inputs, resources, config and context from them.

    Args:
        function: The function that has the parameters.
        call: The function to call, with the arguments.
    """

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return call(*args, **kwargs)

    return wrapper
