"""Description of an etcd store: version, members, alarms, revisions, size and clock."""

from __future__ import annotations

import time
from typing import Any

from graveler_core.errors import GravelerError, PermissionDenied
from graveler_core.kv.backends.clocks import clock_ahead
from graveler_core.kv.backends.etcd.client import EtcdClient
from graveler_core.kv.store import Description


def described(client: EtcdClient) -> Description:
    """Return the properties of a store by name. A property that the user may not see is `None`.

    Args:
        client: Client of the cluster.
    """
    before = time.time()
    status = _asked(client, "maintenance/status")
    after = time.time()
    alarms = _asked(client, "maintenance/alarm", action="GET")
    members = _asked(client, "cluster/member/list")
    return {
        "backend": "etcd",
        "version": status.get("version"),
        "durability": "power",
        "prefix": client.target.prefix.decode(),
        "members": len(members["members"]) if members else None,
        "alarms": ",".join(sorted({alarm["alarm"] for alarm in alarms.get("alarms", ())})) if alarms else None,
        "revision": int(status["header"]["revision"]) if status else None,
        "compacted": _compacted(client),
        "size": int(status["dbSize"]) if status else None,
        "size_in_use": int(status["dbSizeInUse"]) if "dbSizeInUse" in status else None,
        "clock_ahead": clock_ahead(status.get("date"), before, after),
    }


def _compacted(client: EtcdClient) -> bool:
    """Return true if old revisions were removed: then the first one cannot be read."""
    try:
        client.read("kv/range", key="AA==", revision="1")
    except PermissionDenied:
        return True
    except GravelerError as error:
        if "compacted" not in error.message:
            raise
        return True
    return False


def _asked(client: EtcdClient, path: str, **body: Any) -> dict[str, Any]:
    try:
        return client.read(path, **body)
    except PermissionDenied:
        return {}
