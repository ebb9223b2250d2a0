"""Mutants of merges that depend on prefixes of the destination."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from graveler_core.engine.merging import merge
from graveler_core.engine.merging.chain import MergeCall
from graveler_core.stores import Registers, Stores
from tests.proofs.simulation.mutants.plant import instead, mutant

UNCHANGED = "a merge depends on its prefixes"


@mutant(seed=21, breaks=UNCHANGED, theme="merges")
def merge_checks_its_prefixes_once() -> Iterator[None]:
    """A merge checks the prefixes on which it depends only in its first attempt."""
    real, begun = merge._decided, list[MergeCall]()

    def decided(stores: Stores, registers: Registers, call: MergeCall, **options: Any) -> Any:
        again = any(call is known for known in begun)
        begun.append(call)
        request = replace(call.request, unchanged=()) if again else call.request
        return real(stores, registers, replace(call, request=request), **options)

    with instead((merge, "_decided", decided)):
        yield
