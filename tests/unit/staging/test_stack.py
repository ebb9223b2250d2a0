"""Random stacks of layers against a walk through them, key by key."""

from __future__ import annotations

from dataclasses import replace
from itertools import count, pairwise

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graveler_core.blobs.open import open_blobs
from graveler_core.codec.entry import normalise_entry, record_table
from graveler_core.committed.cache import TreeCache
from graveler_core.kv.backends.memory import open_memory
from graveler_core.model.entry import TOMBSTONE, Entry
from graveler_core.model.ids import LayerId, StagingToken
from graveler_core.model.layers import Layer, PrefixRemoval, PrefixRestoration, SealedToken, SegmentLayer
from graveler_core.segments.sorted_keys import KEY
from graveler_core.staging import area, segment_layer
from graveler_core.staging.prefixes import LookupSource, hidden, spans
from graveler_core.staging.stack import Stack, Staged, drop, has_records, is_dirty, lookup, lookup_many, scan
from graveler_core.testing.counting_blobs import CountingBlobs
from graveler_core.testing.counting_store import Counting
from tests.unit.engine.world import entry

PATHS = ["a", "a/", "a/1", "a/1/x", "a/2", "b", "b/1", "é/1", "\U0010ffff", "\x01", "zz"]
Records = dict[str, int | None]
RECORDS = st.dictionaries(st.sampled_from(PATHS), st.one_of(st.none(), st.integers(0, 9)), max_size=6)
PREFIX = st.sampled_from(["", "a", "a/", "a/1", "b/", "é", "\U0010ffff", "z"])
WORDS = st.one_of(
    st.tuples(st.just("token"), RECORDS),
    st.tuples(st.just("segment"), RECORDS),
    st.tuples(st.sampled_from(["removal", "restoration", "exact restoration"]), PREFIX),
)
_fresh = count()


def staged(path: str, number: int | None) -> Entry | None:
    return None if number is None else normalise_entry(path, entry(number))


def table(records: Records) -> pa.Table:
    return record_table(sorted((path.encode(), staged(path, number)) for path, number in records.items()))


def stack_of(words: list[tuple[str, Records | str]]) -> Stack:
    """A stack, newest first, that holds what the words say."""
    kv, blobs = open_memory("memory://"), open_blobs("memory://staging/x")
    layers: list[Layer] = []
    for word, said in words:
        name = f"{next(_fresh)}"
        if isinstance(said, str):
            exact = {"exact": True} if word == "exact restoration" else {}
            kind = PrefixRemoval if word == "removal" else PrefixRestoration
            layers.append(kind(id=LayerId(name), prefix=said, **exact))
        elif word == "token":
            if said:
                area.put_table(kv, StagingToken(name), table(said))
            layers.append(SealedToken(token=StagingToken(name)))
        else:
            # Of two pieces wherever there are two records.
            segment_layer.write(blobs, LayerId(name), table(said))
            layers.append(SegmentLayer(id=LayerId(name), count=len(said)))
    return Stack(kv, blobs, tuple(layers))


def wanted(words: list[tuple[str, Records | str]], path: str) -> Staged | LookupSource:
    """The newest word on a path."""
    for word, said in words:
        if isinstance(said, str):
            if path == said or (path.startswith(said) and word != "exact restoration"):
                return LookupSource.NOTHING if word == "removal" else LookupSource.HEAD
        elif path in said:
            return Staged(staged(path, said[path]))
    return LookupSource.BASE


def test_many_keys_take_several_round_trips(monkeypatch: pytest.MonkeyPatch) -> None:
    words: list[tuple[str, Records | str]] = [("token", {"a": 1}), ("token", {"b": 2}), ("segment", {"zz": 3})]
    stack = stack_of(words)
    for at_once, round_trips in ((1, len(PATHS)), (4, 6), (len(PATHS) * 2, 1)):
        kv = Counting(stack.kv)
        monkeypatch.setattr("graveler_core.staging.stack.KEYS_AT_ONCE", at_once)
        assert lookup_many(replace(stack, kv=kv), PATHS) == [wanted(words, path) for path in PATHS]
        assert kv.counts == {"get_many": round_trips}


@given(st.lists(WORDS, max_size=6), st.sampled_from(PATHS), st.one_of(st.none(), st.sampled_from(PATHS)))
def test_a_stack_says_its_newest_word(words: list[tuple[str, Records | str]], start: str, end: str | None) -> None:
    words = [("token", {}), *words]
    stack = stack_of(words)
    answers = {path: wanted(words, path) for path in PATHS}
    assert lookup_many(stack, PATHS) == list(answers.values())
    assert lookup(stack, start) == answers[start]
    inside = [p for p in sorted(PATHS, key=str.encode) if p >= start and (end is None or p < end)]
    found: dict[str, bool] = {}
    for page in scan(stack, start=start.encode(), end=None if end is None else end.encode()):
        for key, tombstone in zip(page.column(KEY).to_pylist(), page.column(TOMBSTONE).to_pylist(), strict=True):
            assert key.decode() not in found
            found[key.decode()] = tombstone
    assert list(found) == sorted(found, key=str.encode)
    spoken = {p: said.entry is None for p in inside if isinstance(said := answers[p], Staged)}
    assert found == spoken


def test_layers_that_follow_each_other_are_read_one_after_the_other() -> None:
    words: list[tuple[str, Records | str]] = [
        ("segment", {"b": 1, "b/1": 2, "zz": 3}),
        ("token", {"b": 9}),
        ("segment", {"a": 1, "a/1": 2, "a/2": 3}),
    ]
    made = stack_of(words)
    blobs = CountingBlobs(made.blobs)
    stack = replace(made, blobs=blobs, cache=TreeCache())
    read = [(page.column(KEY).to_pylist(), blobs.calls["read"] - 2) for page in scan(stack)]  # two manifests
    assert read == [([b"a", b"a/1"], 1), ([b"a/2"], 2), ([b"b"], 3), ([b"b/1"], 3), ([b"zz"], 4)]


@given(st.lists(WORDS, max_size=6), st.sampled_from(PATHS), st.sampled_from(PATHS))
def test_spans_cover_all_keys_once(words: list[tuple[str, Records | str]], low: str, high: str) -> None:
    masks = [word for word in words if isinstance(word[1], str)]
    layers = stack_of(masks).layers
    cut = spans(layers)
    assert cut[0].start == b""
    assert cut[-1].end is None
    assert all(left.end == right.start for left, right in pairwise(cut))
    for path in PATHS:
        key = path.encode()
        (span,) = [s for s in cut if s.start <= key and (s.end is None or key < s.end)]
        answer = wanted(masks, path)
        assert span.source == answer
        assert any(a <= key and (b is None or key < b) for a, b in hidden(layers)) == (answer is not LookupSource.BASE)
        inside = [s for s in spans(layers, low.encode(), high.encode()) if s.start <= key < (s.end or b"")]
        assert [s.source for s in inside] == ([answer] if low.encode() <= key < high.encode() else [])


@given(st.lists(WORDS, max_size=4))
def test_dirty_is_a_matter_of_records(words: list[tuple[str, Records | str]]) -> None:
    stack = stack_of(words)
    says = [isinstance(said, str) or bool(said) for _, said in words]
    assert [has_records(stack, layer) for layer in stack.layers] == says
    assert is_dirty(stack) == any(says)
    drop(stack)
    for (_, said), layer in zip(words, stack.layers, strict=True):
        if isinstance(layer, SealedToken):
            assert area.is_empty(stack.kv, layer.token)
        elif isinstance(layer, SegmentLayer):
            assert list(stack.blobs.list(prefix=f"_graveler/staging/{layer.id}/")) == []
        else:
            assert isinstance(said, str)
