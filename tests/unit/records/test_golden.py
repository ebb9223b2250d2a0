"""Records: the id of a commit, and damage refused by name. Their bytes are golden: `tests.golden`."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from graveler_core.codec.records import commit_id, decode, identify
from graveler_core.errors import CorruptData
from graveler_core.model.entities import Commit
from graveler_core.model.ids import CommitId
from tests.golden.formats import golden
from tests.unit.records.samples import RECORDS

GOLDEN = {name: golden(name.replace(" ", "_")) for name in RECORDS}
TEXT = [name for name in RECORDS if name != "layout"]


def test_commit_id() -> None:
    commit = RECORDS["commit"]
    assert isinstance(commit, Commit)
    wanted = CommitId("a909063a430a180ed7a84bc12510c597dfb596618a146b96f75ee1607c08283f")
    assert identify(commit) == commit_id(GOLDEN["commit"]) == wanted
    assert identify(commit.model_copy(update={"nonce": "n3"})) != wanted


def test_metadata_in_any_order_is_one_commit() -> None:
    commit = RECORDS["commit"]
    assert isinstance(commit, Commit)
    turned = Commit.model_validate(commit.model_dump() | {"metadata": dict(reversed(commit.metadata.items()))})
    assert identify(turned) == identify(commit)


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "version": lambda data: b"\x02" + data[1:],
    "cut": lambda data: data[:-1],
    "cut early": lambda data: data[:20],
    "no text": lambda data: data[:1],
    "null": lambda data: data[:1] + b"null",
    "no fields": lambda data: data[:1] + b"{}",
    "another field": lambda data: data[:-1] + b',"more":1}',
    "not UTF-8": lambda data: data.replace(b'"', b"\xff"),
    "more": lambda data: data + b"x",
}


@pytest.mark.parametrize("name", TEXT)
def test_damage_is_named(name: str) -> None:
    for what, damage in DAMAGES.items():
        with pytest.raises(CorruptData) as caught:
            decode(type(RECORDS[name]), damage(GOLDEN[name]), f"the {name}")
        assert caught.value.message.startswith(f"the {name}: "), what
