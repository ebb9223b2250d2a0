"""Sizes of indexes: values with which an index could never be built are refused."""

from __future__ import annotations

import pytest

from graveler_core.committed.index.indexes import Sizes
from graveler_core.errors import InvalidInput


@pytest.mark.parametrize("given", [{"inline_bytes": 0}, {"fan_out": 1}])
def test_impossible_sizes_are_refused(given: dict[str, int]) -> None:
    with pytest.raises(InvalidInput, match="inline_bytes must be at least 1, fan_out at least 2"):
        Sizes(**given)


def test_the_smallest_sizes_are_accepted() -> None:
    assert Sizes(inline_bytes=1, fan_out=2).fan_out == 2
