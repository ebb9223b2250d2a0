"""Result of the comparison of the objects in a namespace with all names."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.gc.commit_groups import NamedBy
from graveler_core.gc.object_listing import ObjectListing
from graveler_core.model.collection import Reason
from graveler_core.objects.condemned import ADDRESSES, CONDEMNED
from graveler_core.stores import Stores

Measured = tuple[int, int]
"""Number and size in bytes of objects."""


@dataclass(frozen=True, slots=True)
class ExaminedObjects:
    """Objects of a namespace, by what names them."""

    unnamed: pa.Table
    """Objects that nothing names, except for expiring commits, in `CONDEMNED`, sorted."""
    named: Measured = (0, 0)
    """Objects that something names, except for expiring commits."""
    history: Measured = (0, 0)
    """Those among them that are named only by commits that are neither heads nor tags."""
    young: Measured = (0, 0)
    """Objects that are too young."""
    uploading: Measured = (0, 0)
    """Objects that belong to uploads in progress."""

    def plus(self, other: ExaminedObjects) -> ExaminedObjects:
        """Return the objects with the numbers of others added."""
        return ExaminedObjects(
            self.unnamed,
            added(self.named, other.named),
            added(self.history, other.history),
            added(self.young, other.young),
            added(self.uploading, other.uploading),
        )

    def looked_up(self, stores: Stores, listing: ObjectListing) -> ExaminedObjects:
        """Return the objects as they are now. Only an inventory may have listed others."""
        if listing.inventory is None or not self.unnamed.num_rows:
            return self
        old, young = listing.still_there(stores, self.unnamed)
        found = self.unnamed.filter(pc.is_in(self.unnamed.column("address"), value_set=old.column("address")))
        unnamed = found.set_column(1, CONDEMNED.field("size"), old.column("size"))
        return replace(self, unnamed=unnamed, young=added(self.young, measured(young)))


def with_reasons(objects: pa.Table, marks: npt.NDArray[np.int8]) -> pa.Table:
    """Return objects that nothing names, or only expiring commits, in `CONDEMNED`, with the reasons.

    Args:
        objects: Table whose first columns are those of `ADDRESSES`.
        marks: Value of `NamedBy` for each object.
    """
    reasons = np.where(marks == NamedBy.EXPIRING, Reason.EXPIRED.value, Reason.UNNAMED.value)
    columns = [objects.column(name) for name in ADDRESSES.names]
    return pa.table([*columns, pa.array(reasons, pa.string())], schema=CONDEMNED)


def measured(objects: pa.Table) -> Measured:
    """Return number and total size of objects."""
    return objects.num_rows, pc.sum(objects.column("size")).as_py() or 0


def added(one: Measured, other: Measured) -> Measured:
    """Return the sum of two measurements."""
    return one[0] + other[0], one[1] + other[1]
