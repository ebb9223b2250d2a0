"""Readers and listers, as `engine.reading.branch`: each page from one record, proved by the closing re-read."""

from __future__ import annotations

from collections.abc import Generator

from graveler_core.model.layers import PrefixRemoval, PrefixRestoration, SegmentLayer
from tests.proofs.model.flows.registers import Registers, cached, closing, same_content, same_token, spent
from tests.proofs.model.operation import Operation
from tests.proofs.model.state import KEYS, Steps, Tree
from tests.proofs.model.world import Broken, World


def read(w: World, op: Operation, key: str) -> Steps:
    """Look a key up."""
    found = yield from _proved(w, (yield from cached(w)), (key,))
    w.seen.append((op, key, found[key]))


def list_all(w: World, op: Operation) -> Steps:
    """List all keys in two pages."""
    used = yield from cached(w)
    for keys in (KEYS[:2], KEYS[2:]):
        page = yield from _proved(w, used, keys)
        for key, value in page.items():
            w.seen.append((op, key, value))
        if len(page) > 1:
            w.pages.append((op, page))
        used = w.past[-1]


def _proved(w: World, used: Registers, keys: tuple[str, ...]) -> Generator[None, None, Tree]:
    for _ in range(5):
        found, missed = yield from _evaluated(w, used, keys)
        if w.former.reader_no_reread and missed is None:
            return found
        now = yield from closing(w, used)
        same = same_token if w.former.reader_compares_token else same_content
        if same(used, now):
            if missed is not None:
                raise Broken(f"{missed} is listed, and has no data")
            return found
        used = now
    raise spent()


def _evaluated(w: World, used: Registers, keys: tuple[str, ...]) -> Generator[None, None, tuple[Tree, str | None]]:
    """What the keys hold, one step a layer, and a segment layer that was missing."""
    record = used[1]
    found: Tree = {}
    left = list(keys)
    missed = None
    for layer in record.layers():
        kind = type(layer)
        if kind is PrefixRemoval or kind is PrefixRestoration:
            tree = record.commit_id.tree if kind is PrefixRestoration else {}
            for key in [key for key in left if key.startswith(layer.prefix)]:  # type: ignore[union-attr]
                found[key] = tree.get(key)
                left.remove(key)
            continue
        if not left:
            break
        yield
        records = w.data.get(layer.id)
        if records is None:
            if kind is SegmentLayer:
                missed = layer.id
            continue
        for key in [key for key in left if key in records]:
            found[key] = records[key]
            left.remove(key)
    base = record.base()
    for key in left:
        found[key] = base[key]
    return found, missed
