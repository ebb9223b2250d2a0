"""Sweeps that take more than nobody needs, and builds that rely on what they did not make sure of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from graveler_core.blobs.port import Data
from graveler_core.committed.trees import address
from graveler_core.gc import contents, sweep
from graveler_core.model.ids import ObjectId
from graveler_core.objects.kept_blobs import KeptBlobs
from tests.simulation.mutants.plant import instead, mutant


@mutant(seed=110, breaks="8", theme="folds")
def sweep_ignores_superseded() -> Iterator[None]:
    """What a layout named before it was replaced counts as named by nothing, at once."""
    with instead((contents, "_former", lambda layout, since: [])):
        yield


@mutant(seed=35, breaks="8", theme="sweeps")
def sweep_without_grace() -> Iterator[None]:
    """A sweep deletes what nothing names, however young it is."""
    with instead((sweep._Sweep, "cutoff", property(lambda work: work.began))):
        yield


@mutant(seed=190, breaks="8", theme="sweeps")
def sweep_does_not_look_again() -> Iterator[None]:
    """A sweep deletes a blob that was old when it was listed."""

    def delete(work: Any, in_time: Callable[[], bool], id: ObjectId) -> Any:
        work.stores.blobs.at(work.repository.storage_namespace).delete(address(id))
        return sweep._Fate.DELETED

    with instead((sweep, "_delete_blob", delete)):
        yield


@mutant(seed=60, breaks="8", theme="sweeps")
def what_is_found_stored_is_not_renewed() -> Iterator[None]:
    """A build takes a blob that is there already for one that stays."""

    def create(self: KeptBlobs, address: str, data: Data) -> bool:
        return self.beneath.create(address, data)

    with instead((KeptBlobs, "create", create)):
        yield
