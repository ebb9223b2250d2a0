"""What is staged on branches: tokens and files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from graveler_core.blobs.port import Blobs
from graveler_core.codec.staged_record import decode_record
from graveler_core.errors import CorruptData, Kind
from graveler_core.gc.findings import Finding, Thing, Trouble
from graveler_core.kv.store import Store
from graveler_core.model.layers import Layer, SealedToken, SegmentLayer
from graveler_core.records import layout as keys
from graveler_core.segments.sorted_keys import KEY
from graveler_core.staging import segment_layer


@dataclass(frozen=True, slots=True)
class Staged:
    """Looks at what is staged on branches."""

    kv: Store
    blobs: Blobs
    deep: bool

    def check(self, name: str, layer: Layer) -> Iterator[Finding]:
        """A layer of a branch: its files; deep, every record of it too."""
        if isinstance(layer, SegmentLayer):
            yield from self._segments(f"branch {name}", layer)
        elif isinstance(layer, SealedToken) and self.deep:
            for row in self.kv.scan(keys.staging(layer.token), prefix=keys.STAGED):
                path = row.key.removeprefix(keys.STAGED).decode(errors="backslashreplace")
                try:
                    decode_record(path, row.value)
                except CorruptData as e:
                    yield Finding(Trouble.CORRUPT, Thing.LAYER, layer.id, e.message, f"branch {name}", len(row.value))

    def _segments(self, named_by: str, layer: SegmentLayer) -> Iterator[Finding]:
        try:
            pieces = segment_layer.manifest(self.blobs, layer.id).pieces
        except CorruptData as e:
            yield _damaged(layer, e, named_by)
            return
        count = 0
        for piece in pieces:
            count += piece.count
            try:
                if self.deep:
                    keys_there = segment_layer.read_piece(self.blobs, layer.id, piece).column(KEY)
                    if (keys_there[0].as_py(), keys_there[-1].as_py()) != (piece.min_key, piece.max_key):
                        why = f"{segment_layer.address(layer.id, piece.name)} holds other keys than the manifest says"
                        yield Finding(Trouble.CORRUPT, Thing.LAYER, layer.id, why, named_by)
                elif self.blobs.head(segment_layer.address(layer.id, piece.name)) is None:
                    why = f"{segment_layer.address(layer.id, piece.name)} is not there"
                    yield Finding(Trouble.MISSING, Thing.LAYER, layer.id, why, named_by)
            except CorruptData as e:
                yield _damaged(layer, e, named_by)
        if count != layer.count:
            why = f"holds {count} records, its branch says {layer.count}"
            yield Finding(Trouble.INCONSISTENT, Thing.LAYER, layer.id, why, named_by)


def _damaged(layer: SegmentLayer, e: CorruptData, named_by: str) -> Finding:
    trouble = Trouble.MISSING if e.kind is Kind.CorruptLayer else Trouble.CORRUPT
    return Finding(trouble, Thing.LAYER, layer.id, e.message, named_by)
