"""Description of a DynamoDB store: billing, replication, size and clock."""

from __future__ import annotations

from typing import Any, Final

from graveler_core.kv.backends.clocks import clock_ahead
from graveler_core.kv.store import Description

_LOCAL: Final = ":ddblocal:"
"""Part of the names of tables in DynamoDB Local, which is a server for tests."""


def described(answer: dict[str, Any], before: float, after: float) -> Description:
    """Return the properties of a store by name.

    Args:
        answer: Answer of the operation `describe_table`.
        before: Time before the request, in seconds since 1970 by the clock of this machine.
        after: Time after the request, by the same clock.
    """
    table = answer["Table"]
    return {
        "backend": "dynamodb",
        "table": table["TableName"],
        "arn": table["TableArn"],
        "durability": "none" if _LOCAL in table["TableArn"] else "power",
        "status": table["TableStatus"],
        "billing": table.get("BillingModeSummary", {}).get("BillingMode", "PROVISIONED"),
        "replicas": len(table.get("Replicas", ())),
        "multi_region_consistency": table.get("MultiRegionConsistency", "EVENTUAL"),
        "deletion_protection": table.get("DeletionProtectionEnabled", False),
        "rows": table.get("ItemCount"),
        "size": table.get("TableSizeBytes"),
        "clock_ahead": clock_ahead(answer["ResponseMetadata"]["HTTPHeaders"].get("date"), before, after),
    }
