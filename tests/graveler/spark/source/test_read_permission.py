"""The data source asks what the handle asks, before anything is planned."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pydantic import SecretStr
from pyspark import cloudpickle
from pyspark.sql.types import LongType, StructField, StructType

from graveler.spark.connection import Connection, guarded, opened
from graveler.spark.source.content import graveler_read
from graveler.spark.source.datasource import GravelerDataSource
from graveler.spark.source.options import place as place_of
from graveler_core import Credentials
from graveler_core.errors import Kind, PermissionDenied
from graveler_core.iam import principal as iam
from graveler_core.model.permission import Action
from tests.graveler.spark.source.lakes import Lake
from tests.unit.guard.principals import Says, Told, everything

SECRET = "hunter2-canary"
LET_IN = {"access_key_id": "KEY", "secret_access_key": SECRET}
ROWS = StructType([StructField("n", LongType())])
RELATIONS: Mapping[str, dict[str, str]] = {
    "entries": {"ref": "main", "prefix": "t/"},
    "diff": {"left": "main~1", "right": "main", "prefix": "t/"},
    "log": {"ref": "main"},
    "branches": {},
    "tags": {},
}
NEEDED: Mapping[str, tuple[Action, ...]] = {
    "entries": (Action.READ_REPOSITORY, Action.READ_COMMIT, Action.LIST_OBJECTS, Action.READ_OBJECT),
    "diff": (Action.READ_REPOSITORY, Action.READ_COMMIT, Action.LIST_OBJECTS, Action.READ_OBJECT),
    "log": (Action.READ_REPOSITORY, Action.LIST_COMMITS),
    "branches": (Action.READ_REPOSITORY, Action.LIST_BRANCHES),
    "tags": (Action.READ_REPOSITORY, Action.LIST_TAGS),
}


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Callable[[Told], None]:
    """Sets up access control, and says what `KEY` may."""

    def let_in(who: Told) -> None:
        def authenticate(kv: Any, clock: Any, id: str, secret: SecretStr) -> Told:
            assert (id, secret.get_secret_value()) == ("KEY", SECRET)
            return who

        monkeypatch.setattr(iam, "is_set_up", lambda kv: True)
        monkeypatch.setattr(iam, "authenticate", authenticate)

    return let_in


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_relation_is_read_by_those_who_may(lake: Lake, told: Callable[[Told], None], relation: str) -> None:
    options = lake.options(relation=relation, **RELATIONS[relation])
    for missing in NEEDED[relation]:
        told(everything(Says(missing, deny=True)))
        with pytest.raises(PermissionDenied) as refused:
            GravelerDataSource({**options, **LET_IN}).schema()
        assert refused.value.details["action"] == str(missing)
    told(Told(*(Says(action) for action in NEEDED[relation])))
    source = GravelerDataSource({**options, **LET_IN})
    reader = source.reader(source.schema())
    assert reader.partitions()
    assert SECRET.encode() not in pickle.dumps(reader)
    with pytest.raises(PermissionDenied) as refused:
        GravelerDataSource(options).schema()
    assert refused.value.kind is Kind.CredentialsRequired


def test_a_stream_is_read_by_those_who_may(lake: Lake, told: Callable[[Told], None]) -> None:
    options = lake.options(relation="changes", prefix="t/") | LET_IN
    for missing in (
        Action.READ_BRANCH,
        Action.LIST_COMMITS,
        Action.READ_COMMIT,
        Action.LIST_OBJECTS,
        Action.READ_OBJECT,
    ):
        told(everything(Says(missing, deny=True)))
        with pytest.raises(PermissionDenied):
            _stream(options)
    told(everything())
    reader = _stream(options)
    start, end = reader.initialOffset(), reader._head()
    assert reader.partitions(start, {"commit": end})
    told(everything(Says(Action.READ_OBJECT, deny=True)))
    with pytest.raises(PermissionDenied):  # a stream runs for long; what was allowed may be taken back
        reader.partitions(start, {"commit": end})


def test_a_stream_begins_where_one_may_read(lake: Lake, told: Callable[[Told], None]) -> None:
    others = [Says(action) for action in Action if action is not Action.READ_OBJECT]
    told(Told(*others, Says(Action.READ_OBJECT, branch="main")))
    options = lake.options(relation="changes", ref="main") | LET_IN
    _stream({**options, "since": "main"})
    with pytest.raises(PermissionDenied) as refused:
        _stream({**options, "since": "v1"})
    assert refused.value.details["action"] == str(Action.READ_OBJECT)


def _stream(options: Mapping[str, str]) -> Any:
    source = GravelerDataSource(options)  # type: ignore[arg-type]
    return source.streamReader(source.schema())


def test_a_stranger_writes_nothing(place: Lake, told: Callable[[Told], None]) -> None:
    options = {**place.options(branch="main", path="t"), **LET_IN}
    told(everything(Says(Action.READ_BRANCH, deny=True)))
    with pytest.raises(PermissionDenied):
        GravelerDataSource(options).writer(ROWS, overwrite=False)
    told(everything(Says(Action.WRITE_OBJECT, deny=True)))
    writer = GravelerDataSource(options).writer(ROWS, overwrite=False)
    message = writer.write(iter([pa.record_batch({"n": [1]})]))
    with pytest.raises(PermissionDenied):
        writer.commit([message])
    assert not list(place.repo.at("main").list("t/"))


def test_content_is_read_by_those_who_may(lake: Lake, told: Callable[[Told], None], spark: Any) -> None:
    told(everything(Says(Action.READ_OBJECT, deny=True)))
    with pytest.raises(PermissionDenied):
        graveler_read(spark, lake.options() | LET_IN, "main", "t")


def test_the_environment_of_the_driver_has_credentials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"store": f"sqlite:///{tmp_path / 'meta.db'}", "repository": "lake"}
    assert place_of(options)[0].credentials is None
    monkeypatch.setenv("GRAVELER_ACCESS_KEY_ID", "KEY")
    monkeypatch.setenv("GRAVELER_SECRET_ACCESS_KEY", SECRET)
    assert place_of(options)[0].credentials == Credentials("KEY", SECRET)
    assert place_of({**options, "access_key_id": "OTHER", "secret_access_key": "x"})[0].credentials == Credentials(
        "OTHER", "x"
    )


def test_workers_are_given_no_credentials(tmp_path: Path, told: Callable[[Told], None]) -> None:
    told(everything())
    made = Connection(f"sqlite:///{tmp_path / 'meta.db'}", credentials=Credentials("KEY", SECRET))
    assert SECRET not in f"{made!r} {made}"
    assert SECRET.encode() not in pickle.dumps(made.for_workers)
    assert opened(made.for_workers).principal is None
    assert guarded(made)._stores.principal is not None


def test_a_stream_reader_sends_no_credentials_to_workers(lake: Lake, told: Callable[[Told], None]) -> None:
    told(everything())
    options = lake.options(relation="changes", ref="main") | LET_IN
    reader = _stream(options)
    sent = cloudpickle.dumps(reader.read)
    assert SECRET.encode() not in sent
    parts = reader.partitions(reader.initialOffset(), reader.latestOffset(reader.initialOffset(), None))
    here = [batch.to_pylist() for part in parts for batch in reader.read(part)]
    there = [batch.to_pylist() for part in parts for batch in pickle.loads(sent)(part)]
    assert here == there
    assert here
    assert reader.source.connection.credentials is not None


def test_no_reader_sends_the_credentials_of_the_environment(
    lake: Lake, told: Callable[[Told], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    told(everything())
    monkeypatch.setenv("GRAVELER_ACCESS_KEY_ID", "KEY")
    monkeypatch.setenv("GRAVELER_SECRET_ACCESS_KEY", SECRET)
    source = GravelerDataSource(lake.options(ref="main"))  # type: ignore[arg-type]
    batch = source.reader(source.schema())
    stream = _stream(lake.options(relation="changes", ref="main"))
    for reader in (batch, stream):
        assert SECRET.encode() not in cloudpickle.dumps(reader.read)


def test_a_batch_writer_sends_credentials_only_to_its_commit(place: Lake, told: Callable[[Told], None]) -> None:
    told(everything())
    made = GravelerDataSource({**place.options(branch="main", path="t"), **LET_IN}).writer(ROWS, overwrite=False)
    to_tasks, to_commit = cloudpickle.dumps(made.write), cloudpickle.dumps(made)
    assert SECRET.encode() not in to_tasks
    message = pickle.loads(to_tasks)(iter([pa.record_batch({"n": [1]})]))
    pickle.loads(to_commit).commit([message])
    assert list(place.repo.at("main").list("t/"))


def test_a_stream_writer_sends_no_credentials(place: Lake, told: Callable[[Told], None]) -> None:
    told(everything())
    options = {**place.options(branch="main", path="t", query="q"), **LET_IN}
    made = GravelerDataSource(options).streamWriter(ROWS, overwrite=False)
    for sent in (cloudpickle.dumps(made.write), cloudpickle.dumps(made)):
        assert SECRET.encode() not in sent
    message = pickle.loads(cloudpickle.dumps(made.write))(iter([pa.record_batch({"n": [1]})]))
    GravelerDataSource(options).streamWriter(ROWS, overwrite=False).commit([message], 0)
    assert list(place.repo.at("main").list("t/"))
