"""Credentials show no secret, cross to other processes, and come whole or not at all."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError
from typing import Any

import pytest
from pydantic import SecretStr

from graveler_core import Credentials
from graveler_core.errors import InvalidInput
from graveler_core.model.credentials import credentials

SECRET = "hunter2-canary"


def test_the_secret_shows_nowhere() -> None:
    shown = Credentials("KEY", SECRET)
    assert SECRET not in f"{shown} {shown!r} {[shown]}"
    assert "KEY" in repr(shown)
    assert shown.secret_access_key.get_secret_value() == SECRET


def test_text_and_hidden_text_are_the_same() -> None:
    shown = Credentials("KEY", SecretStr(SECRET))
    assert shown == Credentials("KEY", SECRET)
    assert hash(shown) == hash(pickle.loads(pickle.dumps(shown)))
    with pytest.raises(FrozenInstanceError):
        shown.access_key_id = "OTHER"  # type: ignore[misc]


@pytest.mark.parametrize(("key", "secret"), [("", SECRET), ("KEY", ""), (None, SECRET), ("KEY", None), ("KEY", b"x")])
def test_a_part_that_is_missing_is_named(key: Any, secret: Any) -> None:
    with pytest.raises(InvalidInput, match="must be text and must not be empty") as refused:
        Credentials(key, secret)
    assert SECRET not in str(refused.value)


def test_settings_give_both_parts_or_none() -> None:
    assert credentials(None, None) is None
    assert credentials("", SecretStr("")) is None
    assert credentials("KEY", SECRET) == Credentials("KEY", SECRET)
    for given, missing in ((("KEY", None), "secret"), (("", SECRET), "access key id")):
        with pytest.raises(InvalidInput, match=f"the {missing} is missing") as refused:
            credentials(*given)
        assert SECRET not in str(refused.value)
