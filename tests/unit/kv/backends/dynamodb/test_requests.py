"""Requests to DynamoDB: repeated if refused, never otherwise; batches until nothing is left."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, ReadTimeoutError

from graveler_core.errors import GravelerError, OutcomeUnknown, PredicateFailed, SlowDown, Unavailable
from graveler_core.kv.backends import backing_off
from graveler_core.kv.backends.backing_off import ATTEMPTS
from graveler_core.kv.backends.dynamodb import table
from graveler_core.kv.backends.dynamodb.requests import Requests, TableTarget
from graveler_core.kv.backends.schema_mark import mark_value

KEYS = [{"p": {"B": b"p"}, "k": {"B": b"%d" % number}} for number in range(4)]
LOST = ReadTimeoutError(endpoint_url="http://host")
AWAY = EndpointConnectionError(endpoint_url="http://host")


class Client:
    """A client that gives prepared answers, the last one again and again, and keeps what it was asked."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[dict[str, Any]] = []

    def __getattr__(self, operation: str) -> Any:
        return self._answer

    def _answer(self, **request: Any) -> Any:
        self.asked.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


def refusal(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": 400}}, "PutItem")


def requests_to(client: Client) -> Requests:
    requests = Requests(TableTarget("table"))
    requests._client, requests._process = client, os.getpid()
    return requests


@pytest.fixture(autouse=True)
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    pauses: list[float] = []
    monkeypatch.setattr(backing_off, "time", SimpleNamespace(sleep=pauses.append))
    monkeypatch.setattr(backing_off.random, "uniform", lambda _, most: most)
    return pauses


@pytest.mark.parametrize("verb", ["read", "write"])
@pytest.mark.parametrize("code", ["ThrottlingException", "ProvisionedThroughputExceededException"])
def test_a_throttled_request_is_sent_again_later(slept: list[float], verb: str, code: str) -> None:
    client = Client(refusal(code), refusal(code), {"Item": 1})
    assert getattr(requests_to(client), verb)("put_item", Item={}) == {"Item": 1}
    assert client.asked == [{"TableName": "table", "Item": {}}] * 3
    assert slept == [0.025, 0.05]


def test_a_service_that_throttles_all_the_time(slept: list[float]) -> None:
    client = Client(refusal("ThrottlingException"))
    with pytest.raises(SlowDown):
        requests_to(client).write("put_item", Item={})
    assert (len(client.asked), len(slept)) == (ATTEMPTS, ATTEMPTS - 1)
    assert sum(slept) < 1


@pytest.mark.parametrize(
    ("failure", "error"),
    [(LOST, OutcomeUnknown), (AWAY, Unavailable), (refusal("ConditionalCheckFailedException"), PredicateFailed)],
)
def test_a_write_is_sent_once(failure: Exception, error: type[GravelerError]) -> None:
    client = Client(failure)
    with pytest.raises(error):
        requests_to(client).write("put_item", Item={})
    assert len(client.asked) == 1


def test_a_read_is_sent_twice() -> None:
    client = Client(LOST, {"Item": 1})
    assert requests_to(client).read("get_item", Key={}) == {"Item": 1}
    client = Client(LOST)
    with pytest.raises(Unavailable):
        requests_to(client).read("get_item", Key={})
    assert len(client.asked) == 2


def test_the_client_itself_repeats_nothing() -> None:
    client = TableTarget("table", "eu-central-1", access_key_id="a", secret_access_key="b").connect()
    assert client.meta.config.retries["total_max_attempts"] == 1


def left(keys: Any) -> dict[str, Any]:
    return {"Responses": {"table": []}, "UnprocessedKeys": {"table": {"Keys": keys, "ConsistentRead": True}}}


def test_what_a_batch_leaves_over_is_read_then(slept: list[float]) -> None:
    client = Client(
        {**left(KEYS[1:]), "Responses": {"table": KEYS[:1]}},
        left(KEYS[1:]),
        {"Responses": {"table": KEYS[1:]}, "UnprocessedKeys": {}},
    )
    assert list(requests_to(client).read_batch(KEYS)) == KEYS
    asked = [request["RequestItems"]["table"] for request in client.asked]
    assert [len(each["Keys"]) for each in asked] == [4, 3, 3]
    assert all(each["ConsistentRead"] for each in asked)
    assert slept == [0.025, 0.05]


def test_a_batch_without_progress() -> None:
    writes = [{"DeleteRequest": {"Key": key}} for key in KEYS]
    client = Client({"UnprocessedItems": {"table": writes}})
    with pytest.raises(SlowDown):
        requests_to(client).write_batch(writes)
    assert len(client.asked) == ATTEMPTS


def test_a_batch_that_makes_progress_is_not_given_up() -> None:
    writes = [{"DeleteRequest": {"Key": key}} for key in KEYS * 6]
    steps = [{"UnprocessedItems": {"table": writes[number:]}} for number in range(1, len(writes))]
    client = Client(*steps, {"UnprocessedItems": {}})
    requests_to(client).write_batch(writes)
    assert len(client.asked) == len(writes) > ATTEMPTS


def test_each_process_has_a_client_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    parent, child = Client({"Item": "parent"}), Client({"Item": "child"})
    requests = requests_to(parent)
    monkeypatch.setattr(TableTarget, "connect", lambda self: child)
    assert requests.read("get_item", Key={}) == {"Item": "parent"}
    requests._process = -1
    assert requests.read("get_item", Key={}) == {"Item": "child"}


def test_a_table_that_another_process_creates_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(table, "time", SimpleNamespace(sleep=pauses.append, monotonic=lambda: 0.0))
    keys = {"KeySchema": table._SCHEMA, "AttributeDefinitions": table._ATTRIBUTES}
    described = [{"Table": {**keys, "TableStatus": status}} for status in ("CREATING", "CREATING", "ACTIVE")]
    client = Client(*described, {"Item": {"v": {"B": mark_value(table.MIGRATIONS)}}})
    table.prepare(requests_to(client))
    assert (len(client.asked), len(pauses)) == (4, 1)
