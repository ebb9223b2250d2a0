"""Creation and recognition of a store in an etcd cluster."""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Final

from graveler_core.kv.backends.etcd.client import EtcdClient
from graveler_core.kv.backends.schema_mark import check_mark, mark_value, not_a_store
from graveler_core.kv.schema_versions import Migrations

MIGRATIONS: Final[Migrations] = ()


def prepare(client: EtcdClient, migrations: Migrations = MIGRATIONS) -> None:
    """Check that the keys with the prefix are a store, and write the mark if there are none.

    Processes that open an empty prefix at the same time write the same mark. One of them may write rows before another
    one looks for them, so the mark and the number of rows are read in one transaction.

    Raises:
        Unavailable: Kind NotAGravelerStore: there are rows without the mark. Kind NewerSchema: a newer version of the
            library created the store.
        GravelerError: The cluster refuses, or cannot be reached.
    """
    space, shown = client.target.key_space, client.target.shown
    name, bounds = b64encode(space.mark).decode(), space.all
    first, last = (b64encode(each or b"").decode() for each in (bounds.lower, bounds.upper))
    reads = [
        {"request_range": {"key": name}},
        {"request_range": {"key": first, "range_end": last, "count_only": True}},
    ]
    mark, rows = (each["response_range"] for each in client.read("kv/txn", success=reads)["responses"])
    if mark.get("kvs"):
        check_mark(b64decode(mark["kvs"][0].get("value", "")), migrations, shown)
    elif int(rows.get("count", 0)):
        raise not_a_store(shown, "there are other keys with this prefix")
    else:
        client.write("kv/put", key=name, value=b64encode(mark_value(migrations)).decode())
