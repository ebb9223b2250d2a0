"""Description of a Redis store: version, durability, memory, clients and clock; and what the store requires of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from redis.exceptions import ResponseError

from graveler_core.errors import Kind, Unavailable
from graveler_core.kv.store import Description

SETTINGS = ("appendonly", "appendfsync", "maxmemory", "maxmemory-policy")

Ask = Callable[..., Any]
"""Function that sends a command and returns the answer."""


def settings(ask: Ask) -> dict[str, str]:
    """Return the settings of the server that matter, or nothing if the service does not report them."""
    found: dict[str, str] = {}
    for name in SETTINGS:
        try:
            answer = ask("CONFIG", "GET", name)
        except ResponseError:
            return {}
        found.update(zip(*[iter(word.decode() for word in answer)] * 2, strict=True))
    return found


def durability(found: Mapping[str, str]) -> str:
    """Return what an acknowledged write survives, according to the settings: `power`, `none` or `unknown`."""
    if not found:
        return "unknown"
    return "power" if found["appendonly"] == "yes" and found["appendfsync"] == "always" else "none"


def evicts(found: Mapping[str, str]) -> bool:
    """Return true if the server deletes rows when its memory is full. The rows have no time to live."""
    return found.get("maxmemory", "0") != "0" and found["maxmemory-policy"].startswith("allkeys-")


def require(found: Mapping[str, str], shown: str) -> None:
    """Refuse a server whose settings would lose acknowledged writes.

    Raises:
        Unavailable: The message names the settings, and the option of the URL that accepts the loss.
    """
    wrong = []
    if durability(found) == "none":
        wrong.append(f"appendonly {found['appendonly']} and appendfsync {found['appendfsync']}, not yes and always")
    if evicts(found):
        wrong.append(f"maxmemory-policy {found['maxmemory-policy']}, not noeviction")
    if wrong:
        raise Unavailable(
            f"{shown} would lose acknowledged writes: the server has {', and '.join(wrong)}; change its settings, or"
            " add durability=none to the URL to accept the loss",
            kind=Kind.StoreNotDurable,
            store=shown,
        )


def described(ask: Ask, before: Callable[[], float]) -> Description:
    """Return the properties of a store by name.

    Args:
        ask: Function that sends a command and returns the answer.
        before: Clock of this machine, in seconds since 1970.
    """
    found = settings(ask)
    info = dict(line.split(":", 1) for line in ask("INFO").decode().splitlines() if ":" in line)
    began = before()
    whole, micro = map(int, ask("TIME"))
    ended, clock = before(), whole + micro / 1e6
    off_by = 0.0 if began <= clock <= ended else clock - (began + ended) / 2
    return {
        "backend": "redis",
        "server": info.get("server_name", "redis"),
        "version": info.get("valkey_version") or info["redis_version"],
        "durability": durability(found),
        "appendonly": found.get("appendonly"),
        "appendfsync": found.get("appendfsync"),
        "maxmemory": int(found["maxmemory"]) if found else None,
        "maxmemory_policy": found.get("maxmemory-policy"),
        "evicts": evicts(found) if found else None,
        "role": info.get("role"),
        "replicas": int(info.get("connected_slaves", 0)),
        "connections": int(info.get("connected_clients", 0)),
        "size": int(info.get("used_memory", 0)),
        "clock_ahead": round(off_by, 3),
    }
