"""Read and write the layers of an index."""

from __future__ import annotations

from graveler_core.codec.content_hash import ContentHash
from graveler_core.codec.elements import ElementAction, decode_elements, encode_elements
from graveler_core.committed.index.indexes import Indexes
from graveler_core.committed.index.layer import Layer, aged
from graveler_core.committed.trees import address
from graveler_core.errors import CorruptData, Kind, NotFound
from graveler_core.model.counting import counted
from graveler_core.model.entry import RECORD_SCHEMA
from graveler_core.model.ids import ObjectId
from graveler_core.model.index import Index, Run, RunLocation
from graveler_core.objects.objects import Write
from graveler_core.segments import format as segment_format

RUN_TAG = b"run"
_NOTHING = Layer(elements=[])


def layers(indexes: Indexes, index: Index) -> list[Layer]:
    """Return the layers above the metarange, newest first, without empty layers.

    Raises:
        CorruptData: A run is missing or damaged, or the inline index is malformed.
    """
    inline = [inline_layer(indexes, index)] if index.inline else []
    return [*inline, *(read_run(indexes, run) for run in index.runs)]


def inline_layer(indexes: Indexes, index: Index) -> Layer:
    """Return the inline index as a layer."""
    if not index.inline:
        return _NOTHING
    found: Layer | None = indexes.trees.cache.get(index.inline)
    if found is None:
        found = Layer(elements=decode_elements(index.inline, "inline index"))
        _hold(indexes, index.inline, found)
    return found


def inline_of(indexes: Indexes, layer: Layer) -> bytes:
    """Return the inline index with the elements of a layer, and cache the layer for later readers."""
    if not layer.elements:
        return b""
    data = encode_elements(layer.elements)
    _hold(indexes, data, layer)
    return data


def own_changes(indexes: Indexes, index: Index) -> Layer | None:
    """Return the changes that the commit of this index made, or `None` if it changed the metarange directly."""
    if index.own_run:
        return read_run(indexes, index.runs[0])
    if not index.inline:
        return None
    own = [e for e in inline_layer(indexes, index).elements if e.action in (ElementAction.ADD, ElementAction.REMOVE)]
    return Layer(elements=own)


def read_run(indexes: Indexes, run: Run) -> Layer:
    """Return a run from the cache or the store.

    Raises:
        CorruptData: The run is missing or damaged.
    """
    found: Layer | None = indexes.trees.cache.get(run.id)
    if found is None:
        found = _read(indexes, run)
        if len(found) != run.elements:
            what = f"run {run.id}: holds {counted(len(found), 'element')}, not {run.elements}"
            raise CorruptData(what, kind=Kind.CorruptObject, object=run.id)
        _hold(indexes, run.id, found)
    return found


def _read(indexes: Indexes, run: Run) -> Layer:
    name = f"run {run.id}"
    if run.place is RunLocation.OBJECT:
        return Layer(elements=decode_elements(indexes.objects.read(run.id), name))
    where = address(run.id)
    try:
        data = indexes.trees.blobs.read(where)
    except NotFound as e:
        raise CorruptData(f"{name}: is missing", kind=Kind.CorruptObject, object=run.id) from e
    return Layer(table=segment_format.decode(data, RECORD_SCHEMA, where))


def write_run(indexes: Indexes, layer: Layer) -> tuple[Run, list[Write]]:
    """Make a run from a layer. If the run is stored as a blob, the blob is stored when this returns.

    Returns:
        The run, and the writes that must complete before anything refers to it.
    """
    writes = []
    place = RunLocation.OBJECT if layer.size <= indexes.sizes.object_bytes else RunLocation.BLOB
    if place is RunLocation.OBJECT:
        layer = Layer(elements=aged(layer.elements))
        id, write = indexes.objects.prepare(encode_elements(layer.elements))
        writes.append(write)
    else:
        content = ContentHash(RUN_TAG, RECORD_SCHEMA)
        content.update(layer.table)
        id = ObjectId(content.hexdigest())
        indexes.trees.blobs.create(address(id), segment_format.encode(layer.table))
        layer = Layer(table=layer.table)
    _hold(indexes, id, layer)
    return Run(id=id, place=place, elements=len(layer), size=layer.size), writes


def _hold(indexes: Indexes, id: str | bytes, layer: Layer) -> None:
    indexes.trees.cache.put(id, layer, layer.memory)
