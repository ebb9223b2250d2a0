"""Description of a MongoDB store: version, members, durability, storage engine, size and clock."""

from __future__ import annotations

import time
from datetime import UTC
from typing import Any

from graveler_core.errors import GravelerError
from graveler_core.kv.backends.clocks import instant_ahead
from graveler_core.kv.backends.mongodb.client import MongoDBClient
from graveler_core.kv.backends.mongodb.mark import deployment
from graveler_core.kv.store import Description


def described(client: MongoDBClient) -> Description:
    """Return the properties of a store by name. A property that the user may not see is `None`.

    Args:
        client: Client of the collection.
    """
    before = time.time()
    hello = client.ask({"hello": 1})
    after = time.time()
    status = _asked(client, {"serverStatus": 1}, "admin")
    config = _asked(client, {"replSetGetConfig": 1}, "admin").get("config", {})
    size = _asked(client, client.command("collStats"))
    engine = status.get("storageEngine", {})
    journaled = config.get("writeConcernMajorityJournalDefault", True) if config else None
    clock = hello["localTime"].replace(tzinfo=UTC).timestamp() if "localTime" in hello else None
    return {
        "backend": "mongodb",
        "version": _asked(client, {"buildInfo": 1}).get("version"),
        "durability": _durability(engine.get("persistent"), journaled),
        "database": client.target.database,
        "collection": client.target.collection,
        "deployment": deployment(hello),
        "replica_set": hello.get("setName"),
        "members": len(hello["hosts"]) if "hosts" in hello else None,
        "arbiters": len(hello.get("arbiters", ())),
        "majority_is_journaled": journaled,
        "storage_engine": engine.get("name"),
        "engine_persists": engine.get("persistent"),
        "size": size.get("size"),
        "clock_ahead": None if clock is None else instant_ahead(clock, before, after),
    }


def _durability(persists: bool | None, journaled: bool | None) -> str:
    """Return what an acknowledged write survives: `power`, `none` or `unknown`."""
    if persists is False or journaled is False:
        return "none"
    return "power" if persists else "unknown"


def _asked(client: MongoDBClient, command: dict[str, Any], database: str | None = None) -> dict[str, Any]:
    """Return the answer to a command, or nothing if the user may not send it or the server does not know it."""
    try:
        return client.ask(command, database)
    except GravelerError as error:
        if "code" in error.details and error.details["code"] is not None:
            return {}
        raise
