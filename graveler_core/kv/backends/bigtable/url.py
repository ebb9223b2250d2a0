"""URL of a Bigtable store."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from graveler_core.kv.backends.url_options import ANSWER_SECONDS, invalid_url, query_options, seconds

_PROJECT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9.:-]{0,62}")
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,49}")
_ADDRESS: Final = re.compile(r"[^\s:/]+:\d{1,5}")


@dataclass(frozen=True, slots=True)
class BigtableTarget:
    """Table to use, and how to reach it."""

    project: str
    instance: str
    table: str
    app_profile: str
    """Name of the app profile, or an empty text for the default one."""
    credentials: str | None
    """File with the credentials of a service account. Default: those that the client libraries of Google find."""
    emulator: str | None
    """Host and port of an emulator."""
    timeout: float
    """Maximum time in seconds until an answer arrives."""
    shown: str
    """URL for messages."""

    @property
    def instance_name(self) -> str:
        """Full name of the instance."""
        return f"projects/{self.project}/instances/{self.instance}"

    @property
    def table_name(self) -> str:
        """Full name of the table."""
        return f"{self.instance_name}/tables/{self.table}"


def parse_url(url: str) -> BigtableTarget:
    """Parse `bigtable://project/instance/table?app_profile=name&credentials=file`.

    Raises:
        InvalidInput: Kind InvalidUrl.
    """
    place = url.partition("?")[0]
    project, _, path = place.partition("://")[2].partition("/")
    instance, _, table = path.partition("/")
    rules = {"project": _PROJECT, "instance": _NAME, "table": _NAME}
    for (name, rule), given in zip(rules.items(), (project, instance, table), strict=True):
        if not rule.fullmatch(given):
            raise invalid_url(url, f"{given!r} is not a {name}; write bigtable://project/instance/table")
    options = query_options(url, ("app_profile", "credentials", "emulator", "timeout"))
    profile, credentials, emulator = (options.get(name) for name in ("app_profile", "credentials", "emulator"))
    if profile is not None and not _NAME.fullmatch(profile):
        raise invalid_url(url, f"{profile!r} is not the name of an app profile")
    if credentials is not None and not Path(credentials).is_file():
        raise invalid_url(url, f"there is no file {credentials!r} with credentials")
    if emulator is not None and not _ADDRESS.fullmatch(emulator):
        raise invalid_url(url, "write host:port for the emulator")
    return BigtableTarget(
        project=project,
        instance=instance,
        table=table,
        app_profile=profile or "",
        credentials=credentials,
        emulator=emulator,
        timeout=seconds(url, options.get("timeout"), ANSWER_SECONDS),
        shown=place,
    )
