"""Mutants of sweeps that delete too much, and of builds that rely on files without renewing them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from graveler_core.blobs.deletion import RefusedDeletions
from graveler_core.blobs.port import Data
from graveler_core.gc import contents, sweep
from graveler_core.model.entities import Upload, UploadState
from graveler_core.objects import build_time
from graveler_core.objects.kept_blobs import KeptBlobs
from graveler_core.objects.uploads import Uploads
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held
from tests.proofs.simulation.mutants.plant import GARBAGE, instead, mutant


@mutant(seed=110, breaks="8", theme="folds")
def sweep_ignores_superseded() -> Iterator[None]:
    """Files of a replaced layout count as unreferenced at once."""
    with instead((contents, "_former", lambda layout, since: [])):
        yield


@mutant(seed=37, breaks="8", theme="sweeps")
def sweep_without_grace() -> Iterator[None]:
    """A sweep deletes unreferenced files of any age."""
    with instead((sweep._Sweep, "cutoff", property(lambda work: work.began))):
        yield


@mutant(seed=190, breaks="8", theme="sweeps")
def sweep_does_not_look_again() -> Iterator[None]:
    """A sweep deletes a file that was old when it was listed, without reading its age again."""

    with instead((sweep, "_age", lambda work, id: sweep._Age.OLD)):
        yield


@mutant(seed=60, breaks="8", theme="sweeps")
def what_is_found_stored_is_not_renewed() -> Iterator[None]:
    """A build relies on a file that is already stored without renewing its age."""

    def create(self: KeptBlobs, address: str, data: Data, *, sure: bool = False) -> bool:
        return self.beneath.create(address, data, sure=sure)

    with instead((KeptBlobs, "create", create)):
        yield


@mutant(seed=17, breaks="8", theme="suspended builds")
def suspended_builds_go_on() -> Iterator[None]:
    """A build that was suspended for a day refers to its files, which a sweep has deleted."""
    with instead((build_time, "_is_late", lambda *_: False)):
        yield


@mutant(seed=4, breaks="8", theme="uploads")
def uploads_are_purged_without_a_claim() -> Iterator[None]:
    """A sweep deletes the objects of a running upload without a swap of the upload record."""
    with instead((Uploads, "purging", lambda self, id, held: held)):
        yield


@mutant(seed=108, breaks="8", theme="uploads")
def uploads_are_announced_without_a_swap() -> Iterator[None]:
    """A job announces the commit of its objects with a plain write of the upload record."""
    real = Uploads._swap

    def swap(self: Uploads, id: str, held: Held[Upload], state: UploadState) -> Held[Upload]:
        if state is not UploadState.NAMING:
            return real(self, id, held, state)
        where, record = keys.uploads(self.repository).at(id), self._now(state, held.value.target)
        access.write(self.kv, where, record)
        return access.read(self.kv, where) or held

    with instead((Uploads, "_swap", swap)):
        yield


@mutant(seed=3, breaks="8", theme="uploads")
def uploads_are_purged_although_announced() -> Iterator[None]:
    """A sweep treats an announced upload as one that is still running."""
    real = Uploads.standing

    def standing(self: Uploads, *given: Any) -> Iterator[tuple[str, Held[Upload]]]:
        for id, held in real(self, *given):
            announced = held.value.state is UploadState.NAMING
            yield (
                id,
                Held(held.value.model_copy(update={"state": UploadState.UPLOADING}), held.predicate)
                if (announced)
                else held,
            )

    with instead((Uploads, "standing", standing)):
        yield


@mutant(seed=26, breaks=GARBAGE, theme="uploads")
def uploads_are_forgotten_with_their_objects() -> Iterator[None]:
    """Abandoned uploads and their objects are never deleted."""
    with instead((Uploads, "delete", lambda self, id, deleted=None: RefusedDeletions())):
        yield
