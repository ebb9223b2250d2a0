"""Groups: tables that are published together, with their blocking checks, publish asset and published branch.

A group is known to the process that loaded its definitions. Every process that executes a step loads them first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal

import dagster as dg


@dataclass(frozen=True, slots=True)
class GroupTable:
    """A table of a group: its asset, its path in the repository, and the names of its blocking checks."""

    key: dg.AssetKey
    path: str
    checks: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Name of the asset, for people."""
        return self.key.to_user_string()

    def holds(self, path: str) -> bool:
        """Return true if a path of the repository belongs to the table."""
        return path.startswith(f"{self.path}/")

    def check_name(self, check: str) -> str:
        """Return the name under which a check is reported to the repository."""
        return f"{self.name}/{check}"


@dataclass(frozen=True, slots=True)
class TableGroup:
    """Tables that are published together."""

    key: dg.AssetKey
    """Key of the asset of the published branch."""
    tables: tuple[GroupTable, ...]
    publish: Literal["group", "asset"] = "group"
    warn: Literal["refuse", "allow"] = "refuse"
    require: bool = False

    @property
    def name(self) -> str:
        """Name of the group, for people and run tags: that of the published branch."""
        return self.key.to_user_string()

    @property
    def publish_key(self) -> dg.AssetKey:
        """Key of the publish asset."""
        return dg.AssetKey([*self.key.path, "publish"])

    @property
    def publish_asset(self) -> str:
        """Name of the publish asset, for people."""
        return self.publish_key.to_user_string()

    @property
    def keys(self) -> frozenset[dg.AssetKey]:
        """Keys of the tables and of the publish asset."""
        return frozenset({self.publish_key, *(table.key for table in self.tables)})

    def table_of(self, path: str) -> GroupTable | None:
        """Return the table to which a path of the repository belongs, or `None`."""
        return next((table for table in self.tables if table.holds(path)), None)

    def is_whole(self, planned: Collection[dg.AssetKey]) -> bool:
        """Return true if a run that materializes these assets covers all tables and the publish asset."""
        return self.keys <= set(planned)


_GROUPS: dict[dg.AssetKey, TableGroup] = {}


def register(group: TableGroup) -> None:
    """Make a group known to this process. A later group with the same assets replaces an earlier one."""
    _GROUPS.update(dict.fromkeys(group.keys, group))


def group_of(keys: Iterable[dg.AssetKey]) -> TableGroup | None:
    """Return the group to which assets belong, or `None` if they belong to no group or to several ones."""
    found = {_GROUPS[key].key: _GROUPS[key] for key in keys if key in _GROUPS}
    return next(iter(found.values())) if len(found) == 1 else None
