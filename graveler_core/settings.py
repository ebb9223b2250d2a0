"""Settings from the environment (`GRAVELER_…`): the only module that reads it. Nothing below imports it."""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from graveler_core.kv.display import without_password
from graveler_core.model.credentials import Credentials, credentials


def _local_data() -> str:
    return (Path.cwd() / ".graveler" / "data").as_uri()


class Settings(BaseSettings):
    """What a process works with unless told otherwise."""

    model_config = SettingsConfigDict(env_prefix="GRAVELER_", frozen=True)

    store: SecretStr = SecretStr("sqlite:///.graveler/meta.db")
    """URL of the key-value store. Secret, because it may hold a password."""
    access_key_id: str | None = None
    """Who opens it, where it was said who may do what."""
    secret_access_key: SecretStr | None = None
    data: str = Field(default_factory=_local_data)
    """Storage root: a new repository keeps its data below it unless it is given a namespace of its own."""
    cache_dir: Path | None = None
    """Directory for what is read of commits in remote object stores; nothing is kept on disk when not set."""
    cache_bytes: int | None = None
    """About how much it may hold; 10 GiB when not set."""
    committer: str | None = None
    """Who commits; the name of the operating system's user when not set."""
    log_level: str | None = None
    """Which events are logged to standard error: debug, info, warning, error; none when not set."""
    log_format: str = "text"
    """How: text or json."""
    tag_verifier: str | None = None
    """What verifies tags on the command line: a function, as module:function; see `connect(verify_tag=…)`."""

    @property
    def credentials(self) -> Credentials | None:
        """What is shown when a store is opened. Raises `InvalidInput` where only one part is set."""
        return credentials(self.access_key_id, self.secret_access_key)

    def shown(self) -> dict[str, object]:
        """The settings as they may be shown: of URLs neither passwords nor values of a query."""
        told = {**self.model_dump(), "store": self.store.get_secret_value()}
        return {name: _shown(value) for name, value in told.items()}


def _shown(value: object) -> object:
    if isinstance(value, SecretStr):
        return "***"
    return without_password(value) if isinstance(value, str) and "://" in value else value


def secret(variable: str) -> SecretStr | None:
    """What an environment variable that a user named holds; None where it is not set, or empty."""
    found = os.environ.get(variable)
    return SecretStr(found) if found else None
