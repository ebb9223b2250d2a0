"""Records: the id of a commit, and damage refused by name. Their bytes are golden: `tests.golden`."""

from __future__ import annotations

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


@pytest.mark.parametrize("name", TEXT)
@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: b"\x02" + data[1:],
        lambda data: data[:-1],
        lambda data: data[:20],
        lambda data: data[:1],
        lambda data: data[:1] + b"null",
        lambda data: data[:1] + b"{}",
        lambda data: data[:-1] + b',"more":1}',
        lambda data: data.replace(b'"', b"\xff"),
        lambda data: data + b"x",
    ],
    ids=["empty", "version", "cut", "cut early", "no text", "null", "no fields", "another field", "not UTF-8", "more"],
)
def test_damage_is_named(name: str, damage: object) -> None:
    assert callable(damage)
    with pytest.raises(CorruptData, match=f"^the {name}: "):
        decode(type(RECORDS[name]), damage(GOLDEN[name]), f"the {name}")
