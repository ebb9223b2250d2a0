"""The page on limits says what the constants are.

`tests/unit/facade/test_limits.py` tests the limits of values that users give.
"""

from __future__ import annotations

import re
from pathlib import Path

from graveler_core.blobs import addresses
from graveler_core.engine.staging.layer_room import MAX_LAYER_BYTES
from graveler_core.kv import limits
from graveler_core.model.layers import MAX_LAYERS
from graveler_core.stores import RetryBudget

PAGE = (Path(__file__).parents[2] / "docs" / "limits.md").read_text()


def sizes(heading: str) -> dict[str, str]:
    """Return the maximum of each row of a table below a heading."""
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return dict(re.findall(r"^\| ([^|]+?) \| (\d[^|]*?) \|", section, re.MULTILINE))


def test_values_in_the_stores() -> None:
    assert sizes("Values in the stores") == {
        "partition of a key-value store": f"{limits.MAX_PARTITION:,} bytes",
        "key of a key-value store": f"{limits.MAX_KEY:,} bytes",
        "value of a key-value store": f"{limits.MAX_VALUE:,} bytes",
        "address below a storage namespace": f"{addresses.MAX_ADDRESS_BYTES} bytes",
        "part of an address between two slashes": f"{addresses.MAX_SEGMENT_BYTES} bytes",
    }


def test_limits_after_which_a_retry_can_succeed() -> None:
    assert sizes("Limits after which a retry can succeed") == {
        "layers of a branch, for bulk writes and prefix operations": f"{MAX_LAYERS} layers",
        "branch record to which a layer is added": f"{MAX_LAYER_BYTES:,} bytes",
        "time that a call spends on retries": f"{RetryBudget().total:.0f} s",
    }
