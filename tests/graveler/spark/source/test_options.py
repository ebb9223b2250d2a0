"""Options: checked whole, one clear error each, and no secret in any of them."""

from __future__ import annotations

import pickle

import pytest

from graveler.spark.source.options import Relation, read_source
from graveler_core.errors import InvalidInput
from graveler_core.model.scan import scanned_keys

PLACE = {"store": "sqlite:////tmp/x.db", "repository": "lake"}
SECRET = "postgresql://ada:geheim@host/db"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"foo": "1"}, r"option 'foo': unknown for relation entries; allowed are relation, store, .*storage\.<name>"),
        ({"path": "t/"}, "option 'path': unknown"),
        ({"relation": "tables"}, "'relation': is 'tables', must be one of entries, diff, log"),
        ({"relation": "log", "from": "a"}, "option 'from': unknown for relation log"),
        ({"relation": "branches", "ref": "main"}, "option 'ref': unknown for relation branches"),
        ({"right": "main"}, "option 'right': unknown for relation entries"),
        ({"start": "a"}, "option 'start': unknown for relation entries"),
        ({"store_env": "X"}, "'store' and 'store_env': only one"),
        ({"store": "memory://"}, "memory"),
        ({"repository": ""}, "'repository': is needed"),
        ({"store": ""}, "'store': is needed, or 'store_env'"),
    ],
)
def test_wrong_options(options: dict[str, str], message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAVELER_STORE", "")
    with pytest.raises(InvalidInput, match=message):
        read_source({**PLACE, **options})


@pytest.mark.parametrize(
    ("option", "value"),
    [("partition_rows", "0"), ("partition_rows", "-3"), ("partition_rows", "many"), ("partition_rows", "²")],
)
def test_numbers(option: str, value: str) -> None:
    with pytest.raises(InvalidInput, match=f"'{option}': must be a whole number, 1 at least"):
        read_source({**PLACE, option: value}).number(option, 1)


def test_flags() -> None:
    source = read_source({**PLACE, "relation": "diff", "since_merge_base": "True", "push_filters": "yes"})
    assert source.flag("since_merge_base")
    with pytest.raises(InvalidInput, match="'push_filters': must be true or false"):
        source.flag("push_filters")


def test_keys() -> None:
    def intervals(**options: str) -> tuple[tuple[bytes, bytes | None], ...]:
        return scanned_keys(
            *read_source({**PLACE, **{name.rstrip("_"): value for name, value in options.items()}}).keys()
        )

    assert intervals() == ((b"", None),)
    assert intervals(to="") == ((b"", None),)
    assert intervals(prefix="a/") == ((b"a/", b"a0"),)
    assert intervals(prefix="a/", from_="a/k", to="b") == ((b"a/k", b"a0"),)
    assert intervals(from_="b", to="b") == ()


def test_the_store_may_stand_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKE_URL", SECRET)
    assert read_source({"repository": "lake", "store_env": "LAKE_URL"}).connection.url == SECRET
    monkeypatch.setenv("GRAVELER_STORE", SECRET)
    assert read_source({"repository": "lake"}).connection.url == SECRET
    with pytest.raises(InvalidInput, match="NO_SUCH_VARIABLE is not set"):
        read_source({"repository": "lake", "store_env": "NO_SUCH_VARIABLE"})


def test_no_secret_is_shown() -> None:
    given = {"store": SECRET, "repository": "lake", "storage.aws_secret_access_key": "geheim", "foo": "geheim"}
    with pytest.raises(InvalidInput) as e:
        read_source(given)
    assert "geheim" not in str(e.value) + repr(e.value.details)
    del given["foo"]
    source = read_source(given)
    assert source.connection.storage_options == {"aws_secret_access_key": "geheim"}
    assert "geheim" not in repr(source)
    assert pickle.loads(pickle.dumps(source)) == source


def test_every_relation_is_known() -> None:
    assert {read_source({**PLACE, "relation": name.upper()}).relation for name in Relation} == set(Relation)
