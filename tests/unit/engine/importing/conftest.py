"""Nothing of what the developer's environment says about stores."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(autouse=True)
def _no_credentials_of_the_developer(monkeypatch: pytest.MonkeyPatch) -> None:
    """obstore reads its stores' own variables."""
    for name in list(os.environ):
        if name.startswith(("AWS_", "GOOGLE_", "AZURE_")):
            monkeypatch.delenv(name)
