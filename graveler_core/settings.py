"""Settings from environment variables (`GRAVELER_…`). No other module of the library reads the environment."""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from graveler_core.model.credentials import Credentials, credentials
from graveler_core.telemetry.secrets import without_password


def _local_data() -> str:
    return (Path.cwd() / ".graveler" / "data").as_uri()


class Settings(BaseSettings):
    """Defaults of a process."""

    model_config = SettingsConfigDict(env_prefix="GRAVELER_", frozen=True)

    store: SecretStr = SecretStr("sqlite:///.graveler/meta.db")
    """URL of the key-value store. Secret, because it may contain a password."""
    access_key_id: str | None = None
    """Access key id of the user, if access control is set up."""
    secret_access_key: SecretStr | None = None
    data: str = Field(default_factory=_local_data)
    """Storage root: URI of the directory below which new repositories keep their data, unless they have their own
    storage namespace.
    """
    cache_dir: Path | None = None
    """Directory that caches data of commits in remote object stores. By default nothing is cached on disk."""
    cache_bytes: int | None = None
    """Approximate maximum size of the cache in bytes. Default: 10 GiB."""
    committer: str | None = None
    """Name of the committer. Default: the name of the operating system's user."""
    log_level: str | None = None
    """Minimum level of the events that are logged to standard error: debug, info, warning or error. By default none are
    logged.
    """
    log_format: str = "text"
    """Format of logged events: text or json."""
    tag_verifier: str | None = None
    """Function that verifies tags on the command line, as module:function; see `connect(verify_tag=…)`."""

    @property
    def credentials(self) -> Credentials | None:
        """Credentials to open a store with. Raises `InvalidInput` if only one part is set."""
        return credentials(self.access_key_id, self.secret_access_key)

    def shown(self) -> dict[str, object]:
        """Return the settings without secrets: URLs contain neither passwords nor query values."""
        told = {**self.model_dump(), "store": self.store.get_secret_value()}
        return {name: _shown(value) for name, value in told.items()}


def _shown(value: object) -> object:
    if isinstance(value, SecretStr):
        return "***"
    return without_password(value) if isinstance(value, str) and "://" in value else value


def secret(variable: str) -> SecretStr | None:
    """Return the value of an environment variable that a user named, or `None` if it is not set or empty."""
    found = os.environ.get(variable)
    return SecretStr(found) if found else None
