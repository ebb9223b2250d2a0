"""Checks of permissions before calls that belong together."""

from __future__ import annotations

import pytest

import graveler
from graveler_core.errors import InvalidInput
from graveler_core.facade.preflight import require_on_repository, require_to_commit
from graveler_core.model.permission import Action


def test_without_access_control_everything_is_permitted_and_names_must_be_valid() -> None:
    with graveler.connect("memory://") as g:
        require_on_repository(g, "new", Action.UPDATE_REPOSITORY)
        with pytest.raises(InvalidInput):
            require_on_repository(g, "Not a name", Action.UPDATE_REPOSITORY)
        require_to_commit(g, "new", "main", ["a"])
        with pytest.raises(InvalidInput):
            require_to_commit(g, "new", "no/../branch", ["a"])
