"""URL of a Cassandra store: `cassandra://user:password@host,host/keyspace?table=name&datacenter=name`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from graveler_core.kv.backends.cluster_url import TLS_OPTIONS, Encryption, parse_encryption, parse_place
from graveler_core.kv.backends.url_options import ANSWER_SECONDS, invalid_url, query_options, seconds
from graveler_core.telemetry.secrets import without_password

_PORT: Final = 9042
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,47}")
_OPTIONS: Final = TLS_OPTIONS | {"datacenter", "table", "timeout"}


@dataclass(frozen=True, slots=True)
class CassandraTarget:
    """Table to use."""

    endpoints: tuple[tuple[str, int], ...]
    """Host and port of nodes that are asked for the others."""
    keyspace: str
    table: str
    shown: str
    """URL without secrets, for messages."""
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    encryption: Encryption = field(default_factory=Encryption)
    datacenter: str | None = None
    """Data center whose nodes get the requests. Default: that of the node that is connected first."""
    timeout: float = ANSWER_SECONDS
    """Maximum time in seconds until an answer arrives."""

    @property
    def name(self) -> str:
        """Name of the table in statements."""
        return f'"{self.keyspace}"."{self.table}"'


def parse_url(url: str) -> CassandraTarget:
    """Parse `cassandra://user:password@host:port,host:port/keyspace?table=name&datacenter=name&tls=true`.

    The default port is 9042, the default table `graveler`. User, password and options are not required.

    Raises:
        InvalidInput: Kind InvalidUrl.
    """
    place = parse_place(url, _PORT)
    options = query_options(url, _OPTIONS)
    table = options.get("table", "graveler")
    for name, given in (("keyspace", place.path), ("table", table)):
        if not _NAME.fullmatch(given):
            raise invalid_url(
                url, f"the name of the {name} has 1 to 48 letters, digits and _, and begins with a letter"
            )
    return CassandraTarget(
        tuple((host.strip("[]"), port) for host, port in place.endpoints),
        place.path,
        table,
        without_password(url.partition("?")[0]),
        place.user,
        place.password,
        parse_encryption(url, options),
        options.get("datacenter"),
        seconds(url, options.get("timeout"), ANSWER_SECONDS),
    )
