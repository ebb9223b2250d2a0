"""Metadata of asset checks: the results of a group's checks name the branch that they measured.

Dagster has no hook that adds to the result of an asset check. Therefore the function of each check is wrapped when the
definitions are built. The rest of the check stays as its author wrote it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import dagster as dg

from dagster_graveler.publishing.loaded_digests import loaded_digest
from dagster_graveler.publishing.written import BRANCH, CONTENT

if TYPE_CHECKING:
    from dagster_graveler.resources.graveler_branch import GravelerBranch

Paths = Mapping[dg.AssetKey, str]


def with_branch_metadata(check: dg.AssetChecksDefinition, branch: str, paths: Paths) -> dg.AssetChecksDefinition:
    """Return a check whose results have the metadata `graveler/branch` and `graveler/content`.

    The tables are measured before the function of the check runs, and those that `GravelerIOManager` loads as inputs
    before they are loaded. Metadata that the function returns take precedence.

    Args:
        check: A check, or several that one function measures.
        branch: Key of the resource `GravelerBranch`.
        paths: Paths of the tables in the repository, by asset key.

    Returns:
        The new check. A check that is not a Python function is returned unchanged.
    """
    node = check.node_def
    compute: Any = node.compute_fn if isinstance(node, dg.OpDefinition) else None
    if not isinstance(node, dg.OpDefinition) or not hasattr(compute, "decorated_fn"):
        return check
    measure = functools.partial(_measure, branch, {spec.asset_key: paths[spec.asset_key] for spec in check.check_specs})
    op = dg.OpDefinition(
        compute_fn=compute._replace(decorated_fn=_wrapped(compute.decorated_fn, measure)),
        name=node.name,
        ins=node.ins,
        outs=node.outs,
        description=node.description,
        config_schema=node.config_schema,
        required_resource_keys={*node.required_resource_keys, branch},
        tags=node.tags,
        retry_policy=node.retry_policy,
        pool=node.pool,
    )
    made: dg.AssetChecksDefinition = dg.AssetChecksDefinition.create(
        keys_by_input_name=check.node_keys_by_input_name,
        node_def=op,
        check_specs_by_output_name=check.check_specs_by_output_name,
        can_subset=check.can_subset,
        resource_defs=check.resource_defs,
    )
    return made


def _measure(branch: str, paths: Paths) -> Callable[[Any], Any]:
    """Measure the tables of a check, and return a function that adds the metadata to its results."""
    context = dg.OpExecutionContext.get()  # of every check, however its function annotates the context
    resource: GravelerBranch = getattr(context.resources, branch)
    step = context.get_step_execution_context()
    measured = {key: _of_table(resource, step, path) for key, path in paths.items()}

    def add_to(result: Any) -> Any:
        if not isinstance(result, dg.AssetCheckResult):
            return result  # Dagster refuses it
        key = result.asset_key or next(iter(measured))  # Dagster demands the key where there are several
        return result.with_metadata({**measured.get(key, {}), **result.metadata})

    return add_to


def _of_table(resource: GravelerBranch, step: object, path: str) -> dict[str, Any]:
    """Return the metadata of a table, with the digest of what the step has loaded, or of the table as it is now."""
    digest = loaded_digest(step, resource.repository, path)
    return resource.measured(path) if digest is None else {BRANCH: resource.name, CONTENT: digest}


def _wrapped(function: Callable[..., Any], measure: Callable[[], Callable[[Any], Any]]) -> Callable[..., Any]:
    """Return a function of the same kind and with the same parameters, which adds the metadata to each result."""
    if inspect.isasyncgenfunction(function):

        @functools.wraps(function)
        async def yielded_later(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
            add_to = measure()
            async for result in function(*args, **kwargs):
                yield add_to(result)

        return yielded_later
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            add_to = measure()
            return add_to(await function(*args, **kwargs))

        return awaited
    if inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def yielded(*args: Any, **kwargs: Any) -> Iterator[Any]:
            add_to = measure()
            for result in function(*args, **kwargs):
                yield add_to(result)

        return yielded

    @functools.wraps(function)
    def returned(*args: Any, **kwargs: Any) -> Any:
        add_to = measure()
        result = function(*args, **kwargs)
        if inspect.isgenerator(result):
            return (add_to(each) for each in result)
        return add_to(result)

    return returned
