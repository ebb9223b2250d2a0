"""Options of a read or write, validated completely before anything is opened.

Spark passes option names in lower case. Values may be secrets (a URL with a password, credentials), so errors
contain option names, never values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from pydantic import SecretStr

from graveler.spark.connection import Connection
from graveler_core.errors import InvalidInput
from graveler_core.facade.scan import PARTITION_ROWS
from graveler_core.model.credentials import Credentials, credentials
from graveler_core.settings import secret

STORAGE = "storage."
_STORE_VARIABLE = "GRAVELER_STORE"
_KEY = ("access_key_id", "secret_access_key")
PLACE = ("store", "store_env", "repository", *_KEY)
_WRITE = ("branch", "path", "file_bytes")
_COMMIT = ("message", "committer", "metadata")
_JOB = ("stage", "partition_column", "partitions")
_BOUNDS = ("prefix", "from", "to")
_SPAN = (*_BOUNDS, "partition_rows", "push_filters")


class Relation(StrEnum):
    """Relation to read."""

    ENTRIES = "entries"
    DIFF = "diff"
    LOG = "log"
    BRANCHES = "branches"
    TAGS = "tags"
    CHANGES = "changes"
    """Only for streams."""


_OPTIONS: Mapping[Relation, tuple[str, ...]] = {
    Relation.ENTRIES: ("ref", *_SPAN),
    Relation.DIFF: ("left", "right", "since_merge_base", *_SPAN),
    Relation.LOG: ("ref", "since", "prefix", "first_parent"),
    Relation.BRANCHES: _BOUNDS,
    Relation.TAGS: _BOUNDS,
    Relation.CHANGES: ("ref", "since", *_BOUNDS, "partition_rows", "max_commits"),
}


@dataclass(frozen=True)
class Source:
    """Relation of a repository in a store, with the remaining options."""

    connection: Connection
    repository: str
    relation: Relation
    options: Mapping[str, str] = field(repr=False)

    @property
    def for_workers(self) -> Source:
        """Return the source without credentials, which workers do not need."""
        kept = {name: value for name, value in self.options.items() if name not in _KEY}
        return replace(self, connection=self.connection.for_workers, options=kept)

    def text(self, name: str, default: str = "") -> str:
        """Return the value of an option."""
        return self.options.get(name, default)

    def flag(self, name: str) -> bool:
        """Return `True` if an option is set to true."""
        return flag(self.options, name)

    def number(self, name: str, default: int) -> int:
        """Return the value of an option that is a positive integer."""
        return whole_number(self.options, name, default)

    def keys(self) -> tuple[str, str, str | None]:
        """Return the keys to read: the options `prefix`, `from` and `to`. `None` for `to` means no end."""
        return self.text("prefix"), self.text("from"), self.text("to") or None

    def rows(self) -> int:
        """Return the approximate maximum number of entries per partition."""
        return self.number("partition_rows", PARTITION_ROWS)

    def require(self, *names: str) -> None:
        """Raise `InvalidInput` unless all of these options are set."""
        for name in names:
            if not self.text(name):
                raise InvalidInput(f"option {name!r}: is needed for relation {self.relation}", option=name)


def flag(options: Mapping[str, str], name: str) -> bool:
    """Return `True` if an option is set to true."""
    value = options.get(name, "false").lower()
    if value not in ("true", "false"):
        raise InvalidInput(f"option {name!r}: must be true or false", option=name)
    return value == "true"


def whole_number(options: Mapping[str, str], name: str, default: int) -> int:
    """Return the value of an option that is a positive integer."""
    value = options.get(name, str(default))
    if not (value.isascii() and value.isdigit() and int(value)):
        raise InvalidInput(f"option {name!r}: must be a whole number, 1 at least", option=name)
    return int(value)


def read_source(options: Mapping[str, str]) -> Source:
    """Return the source that the options of a read describe.

    Raises:
        InvalidInput: An option is unknown, missing, or not valid for the relation; the store is missing or in
        memory.
    """
    name = options.get("relation", Relation.ENTRIES).lower()
    if name not in tuple(Relation):
        raise InvalidInput(f"option 'relation': is {name!r}, must be one of {', '.join(Relation)}", option="relation")
    relation = Relation(name)
    allowed = ("relation", *PLACE, *_OPTIONS[relation])
    require_known(options, allowed, f"relation {relation}")
    connection, repository = place(options)
    return Source(connection, repository, relation, dict(options))


def write_options(options: Mapping[str, str], *, stream: bool) -> tuple[Connection, str]:
    """Return the store and the repository of a write, after checking that all its options are known.

    Raises:
        InvalidInput: An option is unknown or missing; the store is missing or in memory.
    """
    if stream:
        require_known(options, (*PLACE, *_WRITE, *_COMMIT, "query", "checkpointlocation"), "streams that are written")
    elif flag(options, "stage"):
        require_known(options, (*PLACE, *_WRITE, *_JOB), "writes that are staged")
    else:
        require_known(options, (*PLACE, *_WRITE, *_COMMIT, *_JOB, "idempotency_key"), "writes")
    for name in ("branch", "path"):
        if not options.get(name):
            raise InvalidInput(f"option {name!r}: is needed to write", option=name)
    return place(options)


def require_known(options: Mapping[str, str], allowed: tuple[str, ...], what: str) -> None:
    """Raise `InvalidInput` for an option that is neither allowed nor an option of the object store."""
    for name in options:
        if name not in allowed and not name.startswith(STORAGE):
            known = ", ".join((*allowed, f"{STORAGE}<name>"))
            raise InvalidInput(f"option {name!r}: unknown for {what}; allowed are {known}", option=name)


def place(options: Mapping[str, str]) -> tuple[Connection, str]:
    """Return the store, with the user's credentials, and the repository."""
    if "store" in options and "store_env" in options:
        raise InvalidInput("options 'store' and 'store_env': only one of them can be given", option="store_env")
    url = options.get("store") or _from_environment(options.get("store_env", _STORE_VARIABLE))
    if not options.get("repository"):
        raise InvalidInput("option 'repository': is needed", option="repository")
    storage = {name.removeprefix(STORAGE): value for name, value in options.items() if name.startswith(STORAGE)}
    return Connection(url, storage, credentials=_credentials(options)), options["repository"]


def _credentials(options: Mapping[str, str]) -> Credentials | None:
    """Return the credentials of the options, or else those of the driver's environment."""
    given: list[str | SecretStr | None] = [options.get(name) for name in _KEY]
    if not any(given):
        given = [secret(f"GRAVELER_{name.upper()}") for name in _KEY]
    id, key = given
    return credentials(id.get_secret_value() if isinstance(id, SecretStr) else id, key)


def _from_environment(variable: str) -> str:
    found = secret(variable)
    if found is None:
        raise InvalidInput(
            f"option 'store': is needed, or 'store_env', the name of an environment variable of the driver with the "
            f"URL; {variable} is not set",
            option="store",
        )
    return found.get_secret_value()
