"""Copy and comparison of whole key-value stores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from graveler_core.wiring.wrong_values import explained, require_characters

if TYPE_CHECKING:
    from graveler_core.kv.store import Store
    from graveler_core.transfer.kv_copy import Copied
    from graveler_core.transfer.kv_copy_compare import StoreComparison

_Place = tuple[str, "Mapping[str, str] | None"]
"""URL of a store, and options of object stores."""


@explained
def copy_store(  # noqa: PLR0913 - one call, all of it optional
    source: str,
    target: str,
    *,
    source_options: Mapping[str, str] | None = None,
    target_options: Mapping[str, str] | None = None,
    dry_run: bool = False,
    progress: Callable[[int], object] = lambda more: None,
) -> Copied:
    """Copy a whole key-value store into an empty one, and compare both: see `graveler_core.transfer.kv_copy`.

    Neither store may be in use. An interrupted copy is continued by the next call. Files in storage namespaces are
    not copied.

    Args:
        source: URL of a store, as for `connect`.
        target: URL of a store that is empty, or contains a part of this copy.
        source_options: Options of object stores (credentials, region, …) for a source in a bucket, as `storage_options`
            of `connect`. By default, they come from the environment.
        target_options: The same for the target.
        dry_run: Only count what would be copied.
        progress: Called with the number of rows copied or compared since the last call.

    Returns:
        Numbers of the copied rows.

    Raises:
        InvalidInput: a URL is not valid; the source is empty, or is itself an incomplete copy.
        NotUnique: (`StoreNotEmpty`) the target contains other data.
        Conflict: (`StoreChanged`) the source has changed during the copy; (`LostRace`) another process copies into
        the target.
        Unavailable: a store cannot be reached, or the SQLite file of the source does not exist.
    """
    from graveler_core.kv.backends.sqlite.file import require_file
    from graveler_core.transfer import kv_copy

    require_file(source)
    with _opened((source, source_options), (target, target_options)) as (here, there):
        return kv_copy.measure(here, there) if dry_run else kv_copy.copy_store(here, there, progress=progress)


@explained
def finish_copy(target: str, *, target_options: Mapping[str, str] | None = None) -> None:
    """Let a store count as complete although a copy into it was interrupted at its last step. Change nothing else.

    Call it only if the store has been in use since then. Otherwise repeat the copy.

    Args:
        target: URL of the store.
        target_options: Options of object stores (credentials, region, …) for a store in a bucket, as `storage_options`
            of `connect`. By default, they come from the environment.

    Raises:
        InvalidInput: the URL is not valid, no copy was interrupted, or it had not written any repository.
        Conflict: (`LostRace`) the copy is going on.
        Unavailable: the store cannot be reached, or the SQLite file does not exist.
    """
    from graveler_core.kv.backends.sqlite.file import require_file
    from graveler_core.kv.registry import open_store
    from graveler_core.transfer import kv_copy

    require_file(target)
    require_characters(target)
    with closing(open_store(target, target_options)) as there:
        kv_copy.finish_copy(there)


@explained
def compare_stores(
    source: str,
    target: str,
    *,
    source_options: Mapping[str, str] | None = None,
    target_options: Mapping[str, str] | None = None,
    progress: Callable[[int], object] = lambda more: None,
) -> StoreComparison:
    """Compare all data of two key-value stores, row by row. Change nothing. Neither store may be in use.

    Args:
        source: URL of a store, as for `connect`.
        target: URL of the other store.
        source_options: Options of object stores (credentials, region, …) for a source in a bucket, as `storage_options`
            of `connect`. By default, they come from the environment.
        target_options: The same for the target.
        progress: Called with the number of rows compared since the last call.

    Returns:
        Numbers of equal and different rows, with examples.

    Raises:
        InvalidInput: a URL is not valid.
        Unavailable: a store cannot be reached, or a SQLite file does not exist.
    """
    from graveler_core.kv.backends.sqlite.file import require_file
    from graveler_core.transfer import kv_copy_compare

    for url in (source, target):
        require_file(url)
    with _opened((source, source_options), (target, target_options)) as (here, there):
        return kv_copy_compare.compare_stores(here, there, progress)


@contextmanager
def _opened(source: _Place, target: _Place) -> Iterator[tuple[Store, Store]]:
    from graveler_core.kv.registry import open_store

    for url, _ in (source, target):
        require_characters(url)
    with closing(open_store(*source)) as here, closing(open_store(*target)) as there:
        yield here, there
