"""Mutants of collections of content: each is a way in which a collector has deleted, or could delete, live data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.engine.committing import transact
from graveler_core.engine.staging import bulk, kept_content, write
from graveler_core.gc import candidates, collection, namespaces
from graveler_core.gc.candidates import Candidates
from graveler_core.gc.collection import _Collection
from graveler_core.gc.commit_groups import CommitGroups
from graveler_core.gc.expiry import CommitStates
from graveler_core.gc.named_addresses import _Walk
from graveler_core.model.collection import Collections, CollectionState
from graveler_core.model.entry import AddressType
from graveler_core.model.layers import SealedToken, SegmentLayer
from graveler_core.records import access
from graveler_core.records import layout as keys
from tests.proofs.simulation import collecting
from tests.proofs.simulation.mutants.plant import GARBAGE, instead, mutant


@mutant(seed=88, breaks="8", theme=collecting.THEME)
def collection_reads_names_once() -> Iterator[None]:
    """A collection deletes what it condemned after the grace period, without a second reading of names."""

    def verify(work: Any, current: Any, listed: Any) -> None:
        deleting = work.record.verify(listed.objects, None)
        if deleting is not None:
            work._delete(deleting, current.since)

    with instead((_Collection, "_verify", verify)):
        yield


@mutant(seed=1705, breaks="8", theme=collecting.RACES)
def collection_waits_for_no_grace() -> Iterator[None]:
    """A collection verifies and deletes condemned objects immediately, without waiting for the grace period."""
    real = _Collection.finish

    def finish(work: Any) -> None:
        plan, work.plan = work.plan, replace(work.plan, grace=timedelta(0), alone=True)
        real(work)
        work.plan = plan

    with instead((_Collection, "finish", finish)):
        yield


@mutant(seed=0, breaks="8", theme=collecting.THEME)
def full_addresses_are_not_compared() -> Iterator[None]:
    """A collection compares only relative addresses with the objects, and not the other spelling of an address."""

    def relative(objects: pa.Table, uri: str) -> pa.ChunkedArray:
        own = pc.equal(objects.column("address_type"), AddressType.RELATIVE)
        return pc.if_else(own, objects.column("address"), None)

    with instead((candidates, "relative_addresses", relative)):
        yield


@mutant(seed=0, breaks="8", theme=collecting.THEME)
def other_repositories_are_not_read() -> Iterator[None]:
    """A collection reads only the names in its own repository."""

    def names(stores: Any, uri: str, own: Any, progress: Any, groups: Any) -> Iterator[Any]:
        for by, table in candidates.named_addresses(stores, own, progress, groups):
            yield by, candidates.relative_addresses(table, uri).drop_null()

    with instead((candidates, "_names", names)):
        yield


@mutant(seed=3, breaks="8", theme=collecting.THEME)
def staging_tokens_are_not_read() -> Iterator[None]:
    """A collection does not read the staging tokens of branches."""
    real = _Walk._of_layer

    def of_layer(walk: Any, layer: Any) -> Iterator[Any]:
        return iter(()) if isinstance(layer, SealedToken) else real(walk, layer)

    with instead((_Walk, "_of_layer", of_layer)):
        yield


@mutant(seed=114, breaks="8", theme=collecting.THEME)
def segment_layers_are_not_read() -> Iterator[None]:
    """A collection does not read the files of staged changes."""
    real = _Walk._of_layer

    def of_layer(walk: Any, layer: Any) -> Iterator[Any]:
        return iter(()) if isinstance(layer, SegmentLayer) else real(walk, layer)

    with instead((_Walk, "_of_layer", of_layer)):
        yield


@mutant(seed=99, breaks="8", theme=collecting.THEME)
def compacted_trees_are_not_read() -> Iterator[None]:
    """A collection does not read the compacted trees of branches."""
    real = _Walk._of_record

    def of_record(walk: Any, branch: Any) -> Iterator[Any]:
        return real(walk, branch.model_copy(update={"compacted_metarange": None}))

    with instead((_Walk, "_of_record", of_record)):
        yield


@mutant(seed=1, breaks="8", theme=collecting.THEME)
def only_heads_are_read() -> Iterator[None]:
    """A collection reads only the commits that are heads of branches, and not those to which a branch may return."""

    real = candidates.named_addresses

    def named(stores: Any, repo: Any, progress: Any, groups: Any) -> Iterator[Any]:
        heads = {held.value.commit_id for _, held in access.scan(stores.kv, keys.branches(repo))}
        others = {id for id, _ in access.scan(stores.kv, keys.commit_layouts(repo))} - heads
        return real(stores, repo, progress, CommitGroups(expired=others))

    with instead((candidates, "named_addresses", named)):
        yield


@mutant(seed=38, breaks="8", theme=collecting.THEME)
def single_writes_ask_no_collection() -> Iterator[None]:
    """A write of a single entry does not check whether its content is condemned."""
    with instead((write, "require_kept", lambda *_, **__: None)):
        yield


@mutant(seed=15, breaks="8", theme=collecting.THEME)
def bulk_writes_ask_no_collection() -> Iterator[None]:
    """A bulk write does not check whether the content of its rows is condemned."""
    with instead((bulk, "require_kept_rows", lambda *_, **__: None)):
        yield


@mutant(seed=159, breaks="8", theme=collecting.RACES)
def transactions_ask_no_collection() -> Iterator[None]:
    """A transaction does not check whether the content of its entries is condemned."""
    with instead((transact, "require_kept", lambda *_, **__: None)):
        yield


@mutant(seed=38, breaks="8", theme=collecting.THEME)
def full_addresses_are_staged_unasked() -> Iterator[None]:
    """A write checks only relative addresses, and not the other spelling of an address."""
    with instead((kept_content, "owners_of_directories", lambda *_: {})):
        yield


@mutant(seed=15, breaks="8", theme=collecting.THEME)
def flag_is_never_set() -> Iterator[None]:
    """A collection does not tell writers that addresses must be checked."""
    unset = SimpleNamespace(**vars(collection.repositories) | {"check_addresses": lambda kv, ids, repo: repo})
    with instead((collection, "repositories", unset)):
        yield


@mutant(seed=28, breaks="8", theme=collecting.THEME)
def deleted_addresses_are_forgotten() -> Iterator[None]:
    """The addresses of deleted content can be staged again."""
    with instead((Collections, "sets", property(lambda record: () if record.current is None else (record.current,)))):
        yield


@mutant(seed=4, breaks="8", theme=collecting.EMPTIED)
def namespaces_are_emptied_whoever_names_their_content() -> Iterator[None]:
    """The content of a removed repository is deleted although another repository names it."""
    unread = SimpleNamespace(mark_named=lambda *_: None)

    class Unmarked(Candidates):
        mark_named = unread.mark_named

    with instead((namespaces, "Candidates", Unmarked)):
        yield


@mutant(seed=474, breaks=GARBAGE, theme=collecting.THEME)
def deletions_are_not_resumed() -> Iterator[None]:
    """A collection does not go on with a set that another one was deleting when it died."""
    real = _Collection.finish

    def finish(work: Any) -> None:
        mine = work.current
        if mine is None or mine.state is CollectionState.CONDEMNED:
            real(work)

    with instead((_Collection, "finish", finish)):
        yield


@mutant(seed=595, breaks="8", theme=collecting.RETENTION)
def announced_commits_expire_whatever_keeps_them_now() -> Iterator[None]:
    """A collection does not find out again which commits are kept, after the grace period."""
    with instead((CommitStates, "due", property(lambda states: states.announced))):
        yield


@mutant(seed=3, breaks="8", theme=collecting.LONG)
def deleted_repositories_are_not_read() -> Iterator[None]:
    """A collection does not read the names in deleted repositories that can be restored."""
    with instead((candidates, "all_repositories", lambda kv: [r.value for _, r in access.scan(kv, keys.REPOSITORIES)])):
        yield


@mutant(seed=4, breaks="8", theme=collecting.LONG)
def uploads_in_progress_are_collected() -> Iterator[None]:
    """A collection condemns objects whose upload has not ended."""
    with instead((candidates, "Uploads", lambda *_: SimpleNamespace(standing_ids=set))):
        yield
