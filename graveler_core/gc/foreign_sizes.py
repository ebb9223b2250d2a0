"""Sizes of objects outside of a storage namespace.

Objects in buckets are listed in pages. After a page with few wanted keys, the listing starts again at the next wanted
key. There are hardly more requests than wanted objects, and far fewer if their keys are close together. Stores whose
listings cannot start at any key, and local directories, are asked for each object. An object that is listed
as empty is looked up too, because it may be the marker of a directory.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.blobs.port import Foreign, starts_at_any_key
from graveler_core.blobs.unreadable import is_unreadable
from graveler_core.errors import InvalidInput, Kind, NotFound, Unavailable
from graveler_core.gc.relative_addresses import unquoted
from graveler_core.gc.stock import Progress
from graveler_core.model.address import Namespace, parted
from graveler_core.stores import Stores

Sizes = npt.NDArray[np.int64]
MISSING = -1
"""Size of an object that does not exist."""
UNREADABLE = -2
"""Size of an object that cannot be read."""
_PLACE_AND_KEY = r"\A(?P<place>file://.*|[a-z0-9]+://[^/]*)/(?P<key>.*)\z"
"""As `model.address.parted`: directory and name of a file, otherwise bucket and key."""
_TASK_KEYS = 10_000
"""Number of keys that one task lists or asks for."""
_DENSE = 10
"""A listing is continued after a page if one of this many listed objects is wanted. Otherwise it starts again at the
next wanted key.
"""


def foreign_sizes(stores: Stores, addresses: pa.ChunkedArray, progress: Progress) -> Sizes:
    """Return the sizes of objects.

    Args:
        stores: Stores of the flow.
        addresses: Full addresses.
        progress: Called with the number of objects examined since the last call.

    Returns:
        The size of each object in bytes, or `MISSING` or `UNREADABLE`.
    """
    sizes = np.full(len(addresses), MISSING, np.int64)
    tasks = list[tuple[npt.NDArray[np.int64], Namespace, pa.Array]]()
    for rows, place, keys in _by_place(addresses):
        tasks += [
            (rows[start : start + _TASK_KEYS], place, keys.slice(start, _TASK_KEYS))
            for start in range(0, len(keys), _TASK_KEYS)
        ]
    found = stores.executor.map(lambda task: _sizes(stores.blobs.foreign(task[1]), task[1], task[2]), tasks)
    for (rows, _, _), of_task in zip(tasks, found, strict=True):
        sizes[rows] = of_task
        progress(len(rows))
    return sizes


def _by_place(addresses: pa.ChunkedArray) -> Iterator[tuple[npt.NDArray[np.int64], Namespace, pa.Array]]:
    """Yield the row numbers and keys of the addresses of each bucket or directory, sorted by key."""
    split = pc.extract_regex(addresses, _PLACE_AND_KEY).combine_chunks()
    places = pc.struct_field(split, "place").dictionary_encode()
    keys = unquoted(pa.chunked_array([pc.struct_field(split, "key")])).combine_chunks().cast(pa.large_binary())
    table = pa.table({"place": places.indices, "key": keys})
    order = pc.sort_indices(table, [("place", "ascending"), ("key", "ascending")]).to_numpy()
    numbers = places.indices.to_numpy()[order]
    bounds = [*np.flatnonzero(np.r_[True, numbers[1:] != numbers[:-1]]).tolist(), len(order)]
    for start, end in pairwise(bounds):
        rows = order[start:end].astype(np.int64)
        yield rows, parted(addresses[int(rows[0])].as_py())[0], keys.take(pa.array(rows))


def _sizes(objects: Foreign, place: Namespace, keys: pa.Array) -> Sizes:
    """Return the sizes of the objects at sorted keys."""
    if len(keys) == 1 or not starts_at_any_key(place):
        return _asked(objects, keys)
    try:
        return _without_markers(objects, keys, _listed(objects, keys))
    except Unavailable as e:
        if e.kind is not Kind.BucketNotFound:
            raise
        return np.full(len(keys), MISSING, np.int64)
    except InvalidInput:  # the place also contains an object with a key that cannot be listed
        return _asked(objects, keys)


def _asked(objects: Foreign, keys: pa.Array) -> Sizes:
    return np.array([_size(objects, key.decode()) for key in keys.to_pylist()], np.int64)


def _size(objects: Foreign, key: str) -> int:
    try:
        info = objects.head(key)
    except NotFound:
        return MISSING
    except Unavailable as e:
        if not is_unreadable(e):
            raise
        return UNREADABLE
    return MISSING if info is None else info.size


def _listed(objects: Foreign, keys: pa.Array) -> Sizes:
    sizes = np.full(len(keys), MISSING, np.int64)
    through = keys[len(keys) - 1].as_py().decode()
    done = 0
    while done < len(keys):
        start = done
        for page in objects.pages(_before(keys[start].as_py().decode()), through):
            if not page.num_rows:
                continue
            listed = page.column("key").combine_chunks().cast(pa.large_binary())
            positions = pc.index_in(keys, value_set=listed)
            rows = np.flatnonzero(positions.is_valid().to_numpy(zero_copy_only=False))
            sizes[rows] = page.column("size").take(positions.drop_null()).to_numpy()
            done = pc.sum(pc.less_equal(keys, listed[len(listed) - 1])).as_py()
            if start < done < len(keys) and len(rows) * _DENSE < page.num_rows:
                break
        else:
            return sizes
    return sizes


def _without_markers(objects: Foreign, keys: pa.Array, sizes: Sizes) -> Sizes:
    """Return the sizes, with `MISSING` for markers of directories.

    Some stores list a marker `x/` without the slash, like an empty object `x`. So each empty object is looked up.
    """
    for row in np.flatnonzero(sizes == 0).tolist():
        sizes[row] = _size(objects, keys[row].as_py().decode())
    return sizes


def _before(key: str) -> str:
    """Return a key that is less than a key, with few or no other keys between them."""
    code = ord(key[-1]) - 1
    return key[:-1] if not chr(code).isalnum() else f"{key[:-1]}{chr(code)}zz"
