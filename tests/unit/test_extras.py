"""A missing extra is named."""

from __future__ import annotations

import pytest

from graveler_core.errors import Unavailable
from graveler_core.extras import requires


def test_a_missing_module_names_the_extra() -> None:
    with (
        pytest.raises(
            Unavailable, match=r"^the module no_such_module is not installed: pip install 'graveler\[iam\]'$"
        ),
        requires("iam"),
    ):
        import no_such_module  # noqa: F401


def test_other_errors_are_left_alone() -> None:
    with pytest.raises(ValueError, match=r"^broken$"), requires("iam"):
        raise ValueError("broken")
