"""Checks of a deployment and a collection of MongoDB that are to hold a store, and the mark of the store."""

from __future__ import annotations

from typing import Any, Final

from graveler_core.errors import Kind, Unavailable
from graveler_core.kv.backends.key_space import KeySpace
from graveler_core.kv.backends.mongodb.client import MongoDBClient
from graveler_core.kv.backends.schema_mark import check_mark, mark_value, not_a_store
from graveler_core.kv.schema_versions import Migrations

MIGRATIONS: Final[Migrations] = ()
_MARK: Final = KeySpace().mark.decode()
_ADVICE: Final = {
    "replica-set": "leave deployment out of the URL",
    "standalone": "make it a replica set, which may have one member, or write deployment=standalone in the URL, to"
    " accept that a reader may see a write that a power failure then undoes",
    "sharded": "write deployment=sharded in the URL if the collection is not sharded, or is sharded by _id alone",
}
"""Advice for servers of a kind that the URL does not name."""


def prepare(client: MongoDBClient, migrations: Migrations = MIGRATIONS) -> None:
    """Check deployment and collection, and write the mark into an empty collection.

    Processes that open an empty collection at the same time write the same mark. Rows are looked for before the mark:
    rows of another process that are found were written after its mark, which is then found, too.

    Raises:
        Unavailable: Kind StoreNotDurable: the deployment is not the one of the URL. Kind NotAGravelerStore: the
            collection has other documents, or other options. Kind NewerSchema: a newer version of the library created
            the store.
        GravelerError: The servers refuse, or cannot be reached.
    """
    shown = client.target.shown
    _check_deployment(client)
    _check_collection(client)
    rows = _found(client, {})
    marks = _found(client, {"_id": _MARK})
    if not marks and rows:
        raise not_a_store(shown, f"the collection {client.target.collection} has other documents")
    if not marks:
        document = {"_id": _MARK, "v": mark_value(migrations)}
        client.write(client.command("insert", documents=[document]))
        marks = _found(client, {"_id": _MARK})
    mark = marks[0].get("v")
    check_mark(mark if isinstance(mark, bytes) else repr(mark).encode(), migrations, shown)


def deployment(hello: dict[str, Any]) -> str:
    """Return the kind of the deployment, according to the answer of a server to `hello`."""
    if hello.get("msg") == "isdbgrid":
        return "sharded"
    return "replica-set" if hello.get("setName") else "standalone"


def _check_deployment(client: MongoDBClient) -> None:
    found, target = deployment(client.ask({"hello": 1})), client.target
    if found != target.deployment:
        raise Unavailable(
            f"{target.shown} is not of the kind {target.deployment}, but {found}: {_ADVICE[found]}",
            kind=Kind.StoreNotDurable,
            store=target.shown,
        )


def _check_collection(client: MongoDBClient) -> None:
    answer = client.ask({"listCollections": 1, "filter": {"name": client.target.collection}})
    for found in answer["cursor"]["firstBatch"]:
        wrong = [name for name in ("capped", "collation", "timeseries") if found.get("options", {}).get(name)]
        if found.get("type", "collection") != "collection":
            wrong.append(str(found["type"]))
        if wrong:
            raise not_a_store(client.target.shown, f"the collection {found['name']} is one with {', '.join(wrong)}")


def _found(client: MongoDBClient, query: dict[str, Any]) -> list[dict[str, Any]]:
    command = client.command("find", filter=query, sort={"_id": 1}, limit=1, singleBatch=True)
    documents: list[dict[str, Any]] = client.read(command)["cursor"]["firstBatch"]
    return documents
