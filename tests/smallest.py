"""Every threshold of the library at its smallest value, at once. `docs/thresholds.md` says what each of them chooses.

Some values hide other thresholds: where every commit changes the metarange, no index has layers. These are the
`MASKING` ones. A caller draws which of them a run uses.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import graveler_core

VERY = 1 << 40
"""One of so many is none."""

SMALLEST = {
    "graveler_core.blobs.disk_cache._SHARE": VERY,
    "graveler_core.blobs.foreign.PAGE": 1,
    "graveler_core.blobs.local_listing.PAGE": 1,
    "graveler_core.blobs.local_writing._MAX_KNOWN": 1,
    "graveler_core.blobs.remote.PAGE": 1,
    "graveler_core.cli.deleted.CALL": 1,
    "graveler_core.cli.output.PAGE_ROWS": 1,
    "graveler_core.codec.blocks._SMALL_BYTES": 1,
    "graveler_core.codec.columns.SLICE_ROWS": 1,
    "graveler_core.codec.content_hash._SLICE_ROWS": 1,
    "graveler_core.codec.entry_columns._MUCH": 0,
    "graveler_core.committed.apply._WINDOW": 1,
    "graveler_core.committed.apply._WINDOWS_UNDER_WAY": 1,
    "graveler_core.committed.cache.DEFAULT_BYTES": 0,
    "graveler_core.committed.cache._REMEMBERED": 0,
    "graveler_core.committed.change_stream.MAX_TAKE_BYTES": 1,
    "graveler_core.committed.concatenation._OPEN_RANGES": 0,
    "graveler_core.committed.index.diff._KEYS_AT_ONCE": 1,
    "graveler_core.committed.index.indexes.Sizes.direct_share": VERY,
    "graveler_core.committed.index.indexes.Sizes.fan_out": 2,
    "graveler_core.committed.index.indexes.Sizes.few_keys": 0,
    "graveler_core.committed.index.indexes.Sizes.fold_at_once": 0,
    "graveler_core.committed.index.indexes.Sizes.fold_elements": 0,
    "graveler_core.committed.index.indexes.Sizes.fold_most": 0,
    "graveler_core.committed.index.indexes.Sizes.fold_share": VERY,
    "graveler_core.committed.index.indexes.Sizes.held_changes": 0,
    "graveler_core.committed.index.indexes.Sizes.held_bytes": 0,
    "graveler_core.committed.index.indexes.Sizes.inline_bytes": 1,
    "graveler_core.committed.index.indexes.Sizes.object_bytes": 0,
    "graveler_core.committed.index.indexes.Sizes.small_elements": 0,
    "graveler_core.committed.index.kept_differences.PAGE_ROWS": 1,
    "graveler_core.committed.index.layer._IN_PYTHON": 0,
    "graveler_core.committed.index.layer._MANY": 0,
    "graveler_core.committed.index.three_way.MAX_HELD_BYTES": 0,
    "graveler_core.committed.packed._BLOCK": 1,
    "graveler_core.committed.parts._FEW_KEYS": 1,
    "graveler_core.committed.plan.HELD_BYTES": 1,
    "graveler_core.committed.plan.OPEN_MEANS": 1,
    "graveler_core.committed.plan.REWRITE_MEANS": 1,
    "graveler_core.committed.split_point_alignment.LOOKED_AT_MEANS": 0,
    "graveler_core.committed.trees.PART_ROWS": 1,
    "graveler_core.engine.building.changes._DOUBTED": 0,
    "graveler_core.engine.cleaning.work.PAGE": 1,
    "graveler_core.engine.compacting.history._AT_ONCE": 1,
    "graveler_core.engine.compacting.index_maintenance._SMALL_SHARE": VERY,
    "graveler_core.engine.importing.gathering._SPARSE": 0,
    "graveler_core.blobs.inventory._ROWS": 1,
    "graveler_core.engine.importing.rows.PAGE_ROWS": 1,
    "graveler_core.engine.importing.sorting.RUN_ROWS": 1,
    "graveler_core.engine.importing.sorting._PAGE_ROWS": 1,
    "graveler_core.engine.protocol.swap.FEW_RECORDS": 0,
    "graveler_core.engine.protocol.write_counters.MANY_LAYERS": 2,
    "graveler_core.engine.reading.changed_keys._MOST_COMMITS": 0,
    "graveler_core.engine.reading.changed_keys._MOST_KEYS": 0,
    "graveler_core.engine.reading.content.CHUNK_BYTES": 1,
    "graveler_core.engine.reading.listing.PAGE_ROWS": 1,
    "graveler_core.engine.reading.expired.BATCH": 1,
    "graveler_core.engine.reading.expired.MAX_REVIVED": 0,
    "graveler_core.engine.references.events.AT_ONCE": 1,
    "graveler_core.engine.references.events.SHARE": 1,
    "graveler_core.engine.references.reflog.MANY": 0,
    "graveler_core.engine.references.reflog._PAGE": 1,
    "graveler_core.engine.staging.bulk.SEGMENT_ROWS": 1,
    "graveler_core.engine.staging.layer_room._CROWDED_BYTES": 1,
    "graveler_core.engine.staging.content.PART_BYTES": 1,
    "graveler_core.engine.staging.pressure.AT_ONCE": 1,
    "graveler_core.engine.staging.remove.FEW_PATHS": 0,
    "graveler_core.engine.staging.write.MOST_ROWS": 1,
    "graveler_core.facade.readable_ref.ARROW_PAGE_ROWS": 1,
    "graveler_core.gc.candidates._BATCH": 1,
    "graveler_core.gc.collection.DELETED_AT_ONCE": 1,
    "graveler_core.gc.collection_record.REPLACED": 1,
    "graveler_core.gc.deleted_sets.FALLEN": 1,
    "graveler_core.gc.deleted_sets.FOREVER_FILES": 2,
    "graveler_core.gc.deleted_sets.SETS": 1,
    "graveler_core.gc.data_check._LISTED": 1,
    "graveler_core.gc.data_check._READ": 1,
    "graveler_core.gc.data_check._READ_BYTES": 0,
    "graveler_core.gc.data_check_record.MOST_BYTES": 0,
    "graveler_core.gc.expected_objects._BATCH": 1,
    "graveler_core.gc.foreign_sizes._DENSE": 1,
    "graveler_core.gc.foreign_sizes._TASK_KEYS": 1,
    "graveler_core.gc.inspection._HELD_BYTES": 0,
    "graveler_core.gc.namespaces.DELETED_AT_ONCE": 1,
    "graveler_core.gc.examination_on_cluster._KNOWN": 1,
    "graveler_core.gc.examination_on_cluster._ROWS": 1,
    "graveler_core.gc.name_references._BATCH": 1,
    "graveler_core.gc.named_addresses._LAYOUTS": 1,
    "graveler_core.gc.object_listing._MANY": 1,
    "graveler_core.gc.object_listing._PAGE": 1,
    "graveler_core.gc.object_digests.CHUNK_BYTES": 1,
    "graveler_core.gc.sweep.BATCH": 1,
    "graveler_core.gc.sweep._DELETED_AT_ONCE": 1,
    "graveler_core.gc.unreached._BATCH": 1,
    "graveler_core.guard.addresses._FEW": 0,
    "graveler_core.iam.credentials._PAGE": 1,
    "graveler_core.iam.deletion._TOGETHER": 1,
    "graveler_core.iam.relations._PAGE": 1,
    "graveler_core.kv.backends.bigtable.store._BYTES": 1,
    "graveler_core.kv.backends.bigtable.store._PLACES": 1,
    "graveler_core.kv.backends.bucket.store._BATCH": 1,
    "graveler_core.kv.backends.bucket.requests._PAGE": 1,
    "graveler_core.kv.backends.bucket.scans.PAGE_ROWS": 1,
    "graveler_core.kv.backends.bucket.sweep._BATCH": 1,
    "graveler_core.kv.backends.cassandra.store._BYTES": 1,
    "graveler_core.kv.backends.cassandra.store._PLACES": 1,
    "graveler_core.kv.backends.cassandra.store._ROWS": 1,
    "graveler_core.kv.backends.cassandra.client._AT_ONCE": 1,
    "graveler_core.kv.backends.dynamodb.store._READ_BATCH": 1,
    "graveler_core.kv.backends.dynamodb.store._TOGETHER": 1,
    "graveler_core.kv.backends.dynamodb.store._TOGETHER_BYTES": 0,
    "graveler_core.kv.backends.dynamodb.store._WRITE_BATCH": 1,
    "graveler_core.kv.backends.etcd.store._BYTES": 1,
    "graveler_core.kv.backends.growing_pages.FIRST_ROWS": 1,
    "graveler_core.kv.backends.growing_pages.MOST_ROWS": 1,
    "graveler_core.kv.backends.etcd.store._OPERATIONS": 1,
    "graveler_core.kv.backends.mongodb.store._BYTES": 1,
    "graveler_core.kv.backends.mongodb.store._PLACES": 1,
    "graveler_core.kv.backends.mongodb.store._ROWS": 1,
    "graveler_core.kv.backends.mysql.store._PLACES": 1,
    "graveler_core.kv.backends.mysql.store._STATEMENT_BYTES": 1,
    "graveler_core.kv.backends.mysql.pages._FETCH_ROWS": 1,
    "graveler_core.kv.backends.redis.store._PLACES": 1,
    "graveler_core.kv.backends.sqlite.store._FETCH_ROWS": 1,
    "graveler_core.kv.backends.sqlite.columns._FIRST_ROWS": 1,
    "graveler_core.kv.backends.sqlite.columns._JOINED_ROWS": 1,
    "graveler_core.kv.paging.CHUNK_ROWS": 1,
    "graveler_core.kv.paging.FIRST_PAGE_ROWS": 1,
    "graveler_core.kv.paging.PAGE_BYTES": 1,
    "graveler_core.kv.paging.PAGE_ROWS": 1,
    "graveler_core.erasure.branches.REMOVED_AT_ONCE": 1,
    "graveler_core.erasure.standing.DELETED_AT_ONCE": 1,
    "graveler_core.objects.erased.LOOKED_UP": 1,
    "graveler_core.objects.commits.CACHED_COMMITS": 1,
    "graveler_core.objects.incomplete_commits.PAGE": 1,
    "graveler_core.objects.incomplete_commits.PART_BYTES": 1_000,
    "graveler_core.objects.sorted_files.FILES": 2,
    "graveler_core.objects.sorted_files.FILE_ROWS": 1,
    "graveler_core.refs.childless.HELD": 1,
    "graveler_core.refs.childless._AT_ONCE": 1,
    "graveler_core.refs.childless._MERGED": 1,
    "graveler_core.segments.operations._MANY_CHUNKS": 0,
    "graveler_core.segments.sorted_keys._ONE_BY_ONE": 0,
    "graveler_core.segments.streams.ROWS_AT_ONCE": 1,
    "graveler_core.segments.streams._FEW_RECORDS": 0,
    "graveler_core.staging.area._SMALL_PAGES": 0,
    "graveler_core.staging.segment_layer.PIECE_BYTES": 1,
    "graveler_core.staging.segment_layer.PIECE_ROWS": 1,
    "graveler_core.staging.stack.KEYS_AT_ONCE": 1,
    "graveler_core.staging.write_counts.LOOK": 1,
    "graveler_core.stores.executor._AHEAD": 1,
    "graveler_core.transfer.commit_rows.OBJECTS_AT_ONCE": 1,
    "graveler_core.transfer.files.PIECE_BYTES": 1,
    "graveler_core.transfer.files.WHOLE_BYTES": 0,
    "graveler_core.transfer.format.FRAME_BYTES": 1,
    "graveler_core.transfer.kv_copy_loading.FEW_ROWS": 0,
    "graveler_core.transfer.migrated.BATCH_BYTES": 1,
    "graveler_core.transfer.migrated.BATCH_COMMITS": 1,
    "graveler_core.transfer.lakefs.commits.PAGE_ENTRIES": 1,
    "graveler_core.transfer.lakefs.metaranges.HELD_ENTRIES": 1,
    "graveler_core.transfer.lakefs.metaranges.HELD_METARANGES": 1,
    "graveler_core.transfer.migration.source.IDS_AT_ONCE": 1,
    "graveler_core.transfer.migration.source.PAGE_ROWS": 1,
    "graveler_core.transfer.migration.write.SEGMENT_ROWS": 1,
    "graveler_core.transfer.named_files.FEW": 0,
    "graveler_core.transfer.nessie.contents.INLINE_BYTES": 0,
    "graveler_core.transfer.nessie.writing.COMMITS_AT_ONCE": 1,
    "graveler_core.transfer.nessie.writing.FILE_BYTES": 1,
    "graveler_core.transfer.restore.BATCH_BYTES": 1,
    "graveler_core.transfer.restore.BATCH_ROWS": 1,
}

_SIZES = "graveler_core.committed.index.indexes.Sizes."
MASKING = frozenset(
    {
        *(name for name in SMALLEST if name.startswith(_SIZES) and not name.endswith(".few_keys")),
        "graveler_core.committed.cache.DEFAULT_BYTES",
        "graveler_core.engine.staging.bulk.SEGMENT_ROWS",
        "graveler_core.engine.reading.changed_keys._MOST_COMMITS",
        "graveler_core.engine.staging.remove.FEW_PATHS",
        "graveler_core.objects.commits.CACHED_COMMITS",
        "graveler_core.staging.area._SMALL_PAGES",
    }
)
"""Thresholds whose smallest value keeps the library from reaching another threshold."""

Patch = tuple[Any, str, object]
"""An object, one of its attributes, and the value to set."""


def drawn(chance: random.Random) -> dict[str, int]:
    """Draw the thresholds of a run: all that mask none, and about half of those that do."""
    return {name: value for name, value in SMALLEST.items() if name not in MASKING or chance.random() < 0.5}


def fields(values: Mapping[str, int], of: str = _SIZES) -> dict[str, int]:
    """Return the values that are fields of a class, by the name of the field."""
    return {name.removeprefix(of): value for name, value in values.items() if name.startswith(of)}


@contextmanager
def patched(values: Mapping[str, int] = SMALLEST) -> Iterator[None]:
    """Set thresholds wherever the library binds them: in their module, in importing modules, and in defaults.

    Args:
        values: By full name: module and attribute, or module, class and field.
    """
    with ExitStack() as patches:
        wanted: dict[tuple[int, str], Patch] = {}
        for name, value in values.items():
            for owner, attribute, make in _bindings(name):
                before = wanted.get((id(owner), attribute))
                wanted[id(owner), attribute] = (owner, attribute, make(before[2] if before else None, value))
        for owner, attribute, instead in wanted.values():
            patches.enter_context(patch.object(owner, attribute, instead))
        yield


@cache
def _bindings(name: str) -> tuple[tuple[Any, str, Callable[[Any, int], object]], ...]:
    """Find all that has to be set for a threshold, each with what makes the new value of the former one."""
    module, attribute = _split(name)
    if "." in attribute:
        owner, _, field = attribute.partition(".")
        return (_default(getattr(module, owner).__init__, field),)
    found = []
    for importer, alias in ((module, attribute), *_importers(name)):
        found.append((importer, alias, lambda _, value: value))
        found += [_default(function, parameter) for function, parameter in _defaulted(importer, alias)]
    return tuple(found)


def _split(name: str) -> tuple[ModuleType, str]:
    """Return the module of a name, and what follows in it."""
    owner, _, attribute = name.rpartition(".")
    if owner.rpartition(".")[2][0].isupper():
        owner, _, middle = owner.rpartition(".")
        attribute = f"{middle}.{attribute}"
    return importlib.import_module(owner), attribute


def _default(function: Any, parameter: str) -> tuple[Any, str, Callable[[Any, int], object]]:
    """Return what sets the default of a parameter."""
    parameters = inspect.signature(function).parameters
    if parameters[parameter].kind is inspect.Parameter.KEYWORD_ONLY:
        return (
            function,
            "__kwdefaults__",
            lambda former, value: {**(former or function.__kwdefaults__), parameter: value},
        )
    positional = [p.name for p in parameters.values() if p.default is not p.empty and p.kind is not p.KEYWORD_ONLY]
    at = positional.index(parameter)

    def changed(former: tuple[Any, ...] | None, value: int) -> tuple[Any, ...]:
        kept = list(former or function.__defaults__)
        kept[at] = value
        return tuple(kept)

    return function, "__defaults__", changed


def _importers(name: str) -> list[tuple[ModuleType, str]]:
    """Return the modules that import a name, with the name that they use."""
    return [(importlib.import_module(module), alias) for module, alias in _imports().get(name, ())]


@cache
def _imports() -> dict[str, list[tuple[str, str]]]:
    """Return which modules import each name of the library, and under which name."""
    found: dict[str, list[tuple[str, str]]] = {}
    for module, tree in _trees().items():
        for node in tree.body:
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("graveler_core."):
                for alias in node.names:
                    found.setdefault(f"{node.module}.{alias.name}", []).append((module, alias.asname or alias.name))
    return found


def _defaulted(module: ModuleType, alias: str) -> Iterator[tuple[Any, str]]:
    """Yield the functions of a module whose parameters have a name as default, with the parameter."""
    for node in _trees()[module.__name__].body:
        for function, owner in _functions(node, module):
            arguments = function.args
            positional = [*arguments.posonlyargs, *arguments.args]
            given: list[tuple[ast.arg, ast.expr | None]] = [
                *zip(reversed(positional), reversed(arguments.defaults), strict=False)
            ]
            given += [*zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
            for argument, default in given:
                if isinstance(default, ast.Name) and default.id == alias:
                    yield getattr(owner, function.name), argument.arg
        if isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.AnnAssign) and isinstance(inner.value, ast.Name) and inner.value.id == alias:
                    yield getattr(module, node.name).__init__, ast.unparse(inner.target)


def _functions(node: ast.stmt, module: ModuleType) -> Iterator[tuple[ast.FunctionDef, Any]]:
    if isinstance(node, ast.FunctionDef):
        yield node, module
    if isinstance(node, ast.ClassDef):
        yield from ((inner, getattr(module, node.name)) for inner in node.body if isinstance(inner, ast.FunctionDef))


@cache
def _trees() -> dict[str, ast.Module]:
    """Return the syntax trees of the library's modules."""
    root = Path(graveler_core.__file__).parent
    paths = [path for path in root.rglob("*.py") if root / "testing" not in path.parents]
    names = [".".join(path.relative_to(root.parent).with_suffix("").parts) for path in paths]
    return {name: ast.parse(path.read_text("utf-8")) for name, path in zip(names, paths, strict=True)}
