"""URL, creation and recognition of the table of a DynamoDB store.

An item has three binary attributes: the partition `p` (partition key), the key `k` (sort key) and the value `v`. A
table holds one store.
"""

from __future__ import annotations

import re
import time
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from graveler_core.errors import GravelerError, Kind, SlowDown, Unavailable
from graveler_core.kv.backends.dynamodb.requests import Requests, TableTarget
from graveler_core.kv.backends.schema_mark import MARK_KEY, check_mark, mark_value, not_a_store
from graveler_core.kv.backends.url_options import ANSWER_SECONDS, invalid_url, query_options, seconds
from graveler_core.kv.limits import MAX_PARTITION
from graveler_core.kv.schema_versions import Migrations

MIGRATIONS: Final[Migrations] = ()

_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{3,255}")
_OPTIONS: Final = frozenset(("region", "endpoint", "profile", "timeout"))
_PATIENCE: Final = 120
"""Maximum time in seconds until a new table can be used."""
_PAUSE: Final = 0.2
_SCHEMA: Final = [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "k", "KeyType": "RANGE"}]
_ATTRIBUTES: Final = [{"AttributeName": name, "AttributeType": "B"} for name in ("p", "k")]
_MARK: Final = {"p": {"B": bytes(MAX_PARTITION + 1)}, "k": {"B": MARK_KEY}}
"""Place of the mark: its partition is one byte longer than that of any row."""


def parse_url(url: str) -> TableTarget:
    """Parse `dynamodb://table?region=…&endpoint=…&profile=…`, or `dynamodb://access_key_id:secret_access_key@table?…`.

    The option `timeout` is the maximum time in seconds until an answer arrives.

    Raises:
        InvalidInput: Kind InvalidUrl.
    """
    place = url.partition("://")[2].partition("?")[0]
    login, at, table = place.rpartition("@")
    access_key_id, colon, secret = login.partition(":")
    if not _NAME.fullmatch(table):
        raise invalid_url(url, "the name of a table has 3 to 255 letters, digits, underscores, hyphens and dots")
    if at and not (access_key_id and colon and secret):
        raise invalid_url(url, "write access_key_id:secret_access_key@table, or no credentials")
    options = query_options(url, _OPTIONS)
    if "endpoint" in options and not _is_endpoint(options["endpoint"]):
        raise invalid_url(url, "the endpoint is http:// or https:// with a host, and without a user")
    return TableTarget(
        table,
        options.get("region"),
        options.get("endpoint"),
        options.get("profile"),
        unquote(access_key_id) or None,
        unquote(secret) or None,
        seconds(url, options.get("timeout"), ANSWER_SECONDS),
    )


def _is_endpoint(text: str) -> bool:
    """Return true if botocore accepts the URL. Its errors show the URL, so that it must not contain a secret."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and port != 0 and parts.username is None


def prepare(requests: Requests, migrations: Migrations = MIGRATIONS) -> None:
    """Create the table if it does not exist, and check that it is a store.

    Several processes may do this at once. One of them creates the table, and the others wait for it. A table with
    items but without the mark is refused. The mark is read again after an item was found, because another process may
    have written both in between.

    Raises:
        Unavailable: Kind NotAGravelerStore: the table has other keys, or contains something else. Kind NewerSchema: a
            newer version of the library created the store.
        GravelerError: The service refuses.
    """
    shown = requests.target.shown
    found = _table(requests)
    if found is None:
        _create(requests)
    if found is None or found["TableStatus"] == "CREATING":
        found = _waited_for(requests)
    if found["KeySchema"] != _SCHEMA or not all(each in found["AttributeDefinitions"] for each in _ATTRIBUTES):
        raise not_a_store(shown, "its keys are not the binary attributes p and k")
    mark = _mark(requests)
    if mark is None and requests.read("scan", Limit=1, ConsistentRead=True)["Items"]:
        mark = _mark(requests)
        if mark is None:
            raise not_a_store(shown, "it contains other items")
    if mark is None:
        # Without a condition: all processes that find no mark write the same one.
        mark = mark_value(migrations)
        requests.write("put_item", Item={**_MARK, "v": {"B": mark}})
    check_mark(mark, migrations, shown)


def _mark(requests: Requests) -> bytes | None:
    item = requests.read("get_item", Key=_MARK, ConsistentRead=True).get("Item")
    return None if item is None else bytes(item["v"]["B"])


def _table(requests: Requests) -> dict[str, Any] | None:
    """Return the description of the table, or `None` if it does not exist."""
    try:
        found: dict[str, Any] = requests.read("describe_table")["Table"]
    except Unavailable as error:
        if error.kind is not Kind.NotAGravelerStore:
            raise
        return None
    return found


def _create(requests: Requests) -> None:
    """Create the table with on-demand billing, unless another process creates it."""
    try:
        requests.write(
            "create_table", KeySchema=_SCHEMA, AttributeDefinitions=_ATTRIBUTES, BillingMode="PAY_PER_REQUEST"
        )
    except GravelerError as error:
        if error.details.get("code") != "ResourceInUseException":
            raise


def _waited_for(requests: Requests) -> dict[str, Any]:
    """Wait until the table can be used, and return its description."""
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        found = _table(requests)
        if found is not None and found["TableStatus"] == "ACTIVE":
            return found
        time.sleep(_PAUSE)
    raise SlowDown(f"the table {requests.target.shown} was not created within {_PATIENCE} seconds")
