"""Functions that `defs.yaml` names, such as `my_project.tables.daily_delays`."""

import functools
import importlib
from collections.abc import Callable
from typing import Annotated, Any

import dagster as dg


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
