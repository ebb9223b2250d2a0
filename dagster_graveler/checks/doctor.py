"""Check that the doctor finds no problem of a store. It does not block: it says nothing about the data of the asset."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dagster as dg

from dagster_graveler.leftovers import LEFTOVERS
from dagster_graveler.resources.graveler import GravelerResource

if TYPE_CHECKING:
    from graveler_core.diagnostics.doctor.diagnosis import Diagnosis, Examined

CHECK = "healthy"
SECONDS = 60.0
"""Default time limit of an examination."""
_SHOWN = 100
_COLUMNS = ("severity", "ailment", "where", "what", "remedy", "command")


def make_doctor_check(
    *,
    asset: dg.CoercibleToAssetKey = LEFTOVERS,
    repository: str | None = None,
    deep: bool = False,
    budget: float = SECONDS,
) -> dg.AssetChecksDefinition:
    """Return the check `healthy`, which runs the doctor.

    It passes if every examination was complete and found nothing worse than wasted space. It fails with severity
    `ERROR` if data is lost or may be lost, otherwise with `WARN`.

    Args:
        asset: Key of the asset that shows the check. Default: `graveler/leftovers`.
        repository: Name of the only repository to examine. `None` means the whole store.
        deep: Read all stored data, too.
        budget: Time limit of an examination in seconds.

    Returns:
        The check. It needs the resource `graveler`.
    """

    @dg.asset_check(name=CHECK, asset=asset, description="The doctor finds no problem of the store.")
    def healthy(graveler: GravelerResource) -> dg.AssetCheckResult:
        """Examine the store. Change nothing."""
        return _result(graveler.graveler().doctor(budget=budget, repository=repository, deep=deep))

    return healthy


def _result(examined: Examined) -> dg.AssetCheckResult:
    from graveler_core.diagnostics.doctor.diagnosis import Severity

    serious = [each for each in examined.found if each.severity is not Severity.NOTICE]
    critical = any(each.severity is Severity.CRITICAL for each in serious)
    unseen = [f"{what}: {why}" for what, why in examined.unseen[:_SHOWN]]
    return dg.AssetCheckResult(
        passed=not serious and not examined.unseen,
        severity=dg.AssetCheckSeverity.ERROR if critical else dg.AssetCheckSeverity.WARN,
        metadata={
            "problems": len(serious),
            "notices": len(examined.found) - len(serious),
            "findings": _table(examined.found[:_SHOWN]),
            "not examined": dg.MetadataValue.json(unseen),
        },
    )


def _table(found: tuple[Diagnosis, ...]) -> dg.TableMetadataValue:
    """Return a table of findings, the most severe first."""
    schema = dg.TableSchema([dg.TableColumn(name) for name in _COLUMNS])
    rows = [
        (str(each.severity), str(each.ailment), each.where, each.what, each.remedy, " ".join(each.command))
        for each in found
    ]
    return dg.MetadataValue.table([dg.TableRecord(dict(zip(_COLUMNS, row, strict=True))) for row in rows], schema)
