"""Groups and publications.

A group consists of tables of one repository that are published into one branch, with their blocking checks. A
publication consists of one group, or of several groups that one publish asset publishes in a declared order. It is
known to the process that loaded its definitions. Every process that executes a step loads them first.
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
    partitioned: frozenset[str] = frozenset()
    """Names of the blocking checks whose results are about single partitions."""

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
    """Tables that are published into one branch."""

    key: dg.AssetKey
    """Key of the asset of the published branch."""
    tables: tuple[GroupTable, ...]
    publish: Literal["group", "asset"] = "group"
    warn: Literal["refuse", "allow"] = "refuse"
    require: bool = False
    member_of: dg.AssetKey | None = None
    """Key of the publication, if it has several groups."""

    @property
    def name(self) -> str:
        """Name of the group, for people: that of the published branch."""
        return self.key.to_user_string()

    @property
    def publish_key(self) -> dg.AssetKey:
        """Key of the publish asset."""
        return dg.AssetKey([*(self.member_of or self.key).path, "publish"])

    @property
    def commit_label(self) -> str:
        """Metadata key of the published commit in materializations of the publish asset."""
        return "commit" if self.member_of is None else f"commit of {self.name}"

    @property
    def publish_asset(self) -> str:
        """Name of the publish asset, for people."""
        return self.publish_key.to_user_string()

    def table_of(self, path: str) -> GroupTable | None:
        """Return the table to which a path of the repository belongs, or `None`."""
        return next((table for table in self.tables if table.holds(path)), None)


@dataclass(frozen=True, slots=True)
class Publication:
    """Groups that one publish asset publishes, in this order."""

    key: dg.AssetKey
    """Key of the published branch; if there are several groups, a key of the publication's own."""
    groups: tuple[TableGroup, ...]

    @property
    def name(self) -> str:
        """Name of the publication, for people and run tags."""
        return self.key.to_user_string()

    @property
    def publish_key(self) -> dg.AssetKey:
        """Key of the publish asset."""
        return self.groups[0].publish_key

    @property
    def keys(self) -> frozenset[dg.AssetKey]:
        """Keys of the tables and of the publish asset."""
        return frozenset({self.publish_key, *(table.key for group in self.groups for table in group.tables)})

    def is_whole(self, planned: Collection[dg.AssetKey]) -> bool:
        """Return true if a run that materializes these assets covers all tables and the publish asset."""
        return self.keys <= set(planned)


_PUBLICATIONS: dict[dg.AssetKey, Publication] = {}


def register(publication: Publication) -> None:
    """Make a publication known to this process. A later one with the same assets replaces an earlier one."""
    _PUBLICATIONS.update(dict.fromkeys(publication.keys, publication))


def publications_of(keys: Iterable[dg.AssetKey]) -> tuple[Publication, ...]:
    """Return the publications to which assets belong. Assets of several components can be in one run."""
    found = {_PUBLICATIONS[key].key: _PUBLICATIONS[key] for key in keys if key in _PUBLICATIONS}
    return tuple(found.values())


def is_published_branch(key: dg.AssetKey) -> bool:
    """Return true if an asset is the published branch of a group that this process has loaded."""
    return any(group.key == key for publication in _PUBLICATIONS.values() for group in publication.groups)
