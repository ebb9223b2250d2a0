"""URL of a MongoDB store: the connection string of MongoDB, with options of the store."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qsl, urlencode

from pymongo.errors import PyMongoError
from pymongo.uri_parser import parse_uri

from graveler_core.errors import InvalidInput
from graveler_core.kv.backends.url_options import ANSWER_SECONDS, invalid_url, seconds
from graveler_core.telemetry.secrets import without_password, without_passwords

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,60}")
_OPTIONS: Final = {"collection": "graveler", "deployment": "replica-set", "timeout": None}
"""Options of the store, and their defaults."""
DEPLOYMENTS: Final = ("replica-set", "standalone", "sharded")
_DRIVER: Final = frozenset(
    (
        *("appName", "authMechanism", "authMechanismProperties", "authSource", "compressors", "directConnection"),
        *("heartbeatFrequencyMS", "loadBalanced", "maxConnecting", "maxIdleTimeMS", "maxPoolSize", "replicaSet"),
        *("serverMonitoringMode", "srvMaxHosts", "srvServiceName", "ssl", "tls", "tlsAllowInvalidCertificates"),
        *("tlsAllowInvalidHostnames", "tlsCAFile", "tlsCertificateKeyFile", "tlsCertificateKeyFilePassword"),
        *("tlsDisableOCSPEndpointCheck", "tlsInsecure", "zlibCompressionLevel"),
    )
)
"""Options that the driver gets. The case of their letters does not matter."""
_SET_BY_THE_STORE: Final = {
    "journal": ("true",),
    "readpreference": ("primary",),
    "retryreads": ("true", "false"),
    "retrywrites": ("true", "false"),
    "w": ("majority",),
}
"""Options that connection strings often have, and the values that are accepted. They have no effect."""


@dataclass(frozen=True, slots=True)
class MongoDBTarget:
    """Collection to use."""

    uri: str = field(repr=False)
    """Connection string for the driver, with secrets."""
    database: str
    collection: str
    deployment: str
    """Kind of the servers: one of `DEPLOYMENTS`."""
    timeout: float
    """Maximum time in seconds until an answer arrives."""
    shown: str
    """URL without secrets, for messages."""


def parse_url(url: str) -> MongoDBTarget:
    """Parse `mongodb://user:password@host,host/database?replicaSet=name&collection=name` or a URL of `mongodb+srv`.

    Database and collection are `graveler` by default.

    Raises:
        InvalidInput: Kind InvalidUrl.
    """
    place, _, query = url.partition("?")
    scheme, _, rest = place.partition("://")
    hosts, _, path = rest.partition("/")
    database = path or "graveler"
    if scheme not in ("mongodb", "mongodb+srv"):
        raise invalid_url(url, "write mongodb:// or mongodb+srv://")
    own, passed = _options(url, query)
    for name, given in (("database", database), ("collection", own["collection"])):
        if not given or not _NAME.fullmatch(given):
            raise invalid_url(url, f"the {name} has 1 to 60 letters, digits, - and _")
    if own["deployment"] not in DEPLOYMENTS:
        raise invalid_url(url, f"the deployment is one of {', '.join(DEPLOYMENTS)}")
    target = MongoDBTarget(
        uri=f"{scheme}://{hosts}/{path}?{_encoded(url, passed)}",
        database=database,
        collection=str(own["collection"]),
        deployment=str(own["deployment"]),
        timeout=seconds(url, own["timeout"], ANSWER_SECONDS),
        shown=without_password(place),
    )
    _check_driver_part(url, target)
    return target


def _options(url: str, query: str) -> tuple[dict[str, str | None], dict[str, str]]:
    """Return the options of the store, and those of the driver."""
    own: dict[str, str | None] = dict(_OPTIONS)
    passed: dict[str, str] = {}
    driver = {name.lower() for name in _DRIVER}
    for name, value in parse_qsl(query, keep_blank_values=True):
        lower = name.lower()
        if name in own:
            own[name] = value
        elif lower in _SET_BY_THE_STORE:
            if value.lower() not in _SET_BY_THE_STORE[lower]:
                raise invalid_url(url, f"leave {name} out, because the store sets it")
        elif lower in driver and value:
            passed[name] = value
        else:
            names = ", ".join(sorted((*_OPTIONS, *_DRIVER)))
            raise invalid_url(url, f"the option {name!r} is unknown or empty; the options are {names}")
    return own, passed


def _encoded(url: str, options: dict[str, str]) -> str:
    """Return the options of the driver as a query."""
    try:
        return urlencode(options)
    except UnicodeEncodeError:
        # The original error is dropped, because it may contain a secret.
        raise invalid_url(url, "the value of an option is not valid Unicode") from None


def _check_driver_part(url: str, target: MongoDBTarget) -> None:
    """Check what the driver reads, with files of certificates. Hosts of `mongodb+srv` are looked up later."""
    try:
        parse_uri(target.uri.replace("mongodb+srv://", "mongodb://", 1))
    except (PyMongoError, ValueError, TypeError, OSError) as error:
        # The original error is dropped, because its message may contain the password.
        raise refused_by_driver(url, error) from None


def refused_by_driver(url: str, error: Exception) -> InvalidInput:
    """Return the error for a URL that the driver does not accept.

    Args:
        url: The URL.
        error: What the driver has raised.
    """
    text = without_passwords(str(error))
    secrets = [value for _, value in parse_qsl(url.partition("?")[2])]
    secrets.append(url.partition("://")[2].rpartition("@")[0].partition(":")[2])
    if any(secret and secret in text for secret in secrets):
        text = "the driver does not accept an option, or user and password"
    return invalid_url(url, text)
