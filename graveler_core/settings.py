"""Settings from environment variables (`GRAVELER_…`), else from the file `.graveler/config` of the working directory or
a directory above it, else defaults. No other module of the library reads the environment.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from graveler_core.configuration import find, read
from graveler_core.errors import InvalidInput
from graveler_core.model.credentials import Credentials, credentials
from graveler_core.telemetry.secrets import without_password


def _local_data() -> str:
    return (Path.cwd() / ".graveler" / "data").as_uri()


class EnvironmentSettings(BaseSettings):
    """Defaults of a process, from environment variables only."""

    model_config = SettingsConfigDict(env_prefix="GRAVELER_", frozen=True)

    store: SecretStr = SecretStr("sqlite:///.graveler/meta.db")
    """URL of the key-value store. Secret, because it may contain a password."""
    repository: str | None = None
    """Default repository: the one that short URIs of the command line such as `main/raw` mean."""
    config: Path | None = None
    """Configuration file that was used. `GRAVELER_CONFIG` names one; if it is empty, none is used."""
    access_key_id: str | None = None
    """Access key id of the user, if access control is set up."""
    secret_access_key: SecretStr | None = None
    server_key: SecretStr | None = None
    """Keys that encrypt the secrets of access keys for signatures: see `graveler_core.model.secrets_keys`."""
    data: str = Field(default_factory=_local_data)
    """Storage root: URI of the directory below which new repositories keep their data, unless they have their own
    storage namespace.
    """
    cache_dir: Path | None = None
    """Directory that caches data of commits in remote object stores. By default nothing is cached on disk."""
    cache_bytes: int | None = None
    """Approximate maximum size of the cache in bytes. Default: 10 GiB."""
    memory_cache_bytes: int | None = None
    """Approximate maximum size of the cache of decoded commits in memory, in bytes. Default: 256 MiB."""
    committer: str | None = None
    """Name of the committer. Default: the name of the operating system's user."""
    log_level: str | None = None
    """Minimum level of the events that are logged to standard error: debug, info, warning or error. By default none are
    logged.
    """
    log_format: str = "text"
    """Format of logged events: text or json."""
    tag_verifier: str | None = None
    """Function that verifies tags on the command line and in the server, as module:function; see `connect`."""

    def __init__(self, **values: Any) -> None:
        """Read the settings.

        Raises:
            InvalidInput: A value is not valid.
        """
        try:
            super().__init__(**values)
        except ValidationError as e:
            raise InvalidInput(_explained(e)) from None  # the cause would show the values, which may be secret

    @property
    def credentials(self) -> Credentials | None:
        """Credentials to open a store with. Raises `InvalidInput` if only one part is set."""
        return credentials(self.access_key_id, self.secret_access_key)

    def shown(self) -> dict[str, object]:
        """Return the settings without secrets: URLs contain neither passwords nor query values."""
        told = {**self.model_dump(), "store": self.store.get_secret_value()}
        return {name: _shown(value) for name, value in told.items()}


class Settings(EnvironmentSettings):
    """Defaults of a process, from environment variables, else from the configuration file that applies."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Return where values come from, in order of precedence."""
        found = configured()
        path = InitSettingsSource(settings_cls, {"config": found.pop("config", None)})
        return init_settings, path, env_settings, InitSettingsSource(settings_cls, found)


def configured() -> dict[str, Any]:
    """Return the values of the configuration file that applies, and its path as `config`.

    Raises:
        InvalidInput: The file is not valid, or belongs to another user.
    """
    named = os.environ.get("GRAVELER_CONFIG")
    if named == "":
        return {"config": None}
    file = find(Path.cwd()) if named is None else Path(named)
    return {} if file is None else {"config": file.absolute(), **read(file, own=named is None).values()}


def sources() -> dict[str, str]:
    """Return the environment variables that are set and settings of the command line, by name of the setting."""
    prefix = Settings.model_config["env_prefix"]
    return {name: prefix + name.upper() for name in Settings.model_fields if prefix + name.upper() in os.environ}


def _explained(error: ValidationError) -> str:
    """Return a message that names the variable of the first value that is not valid, but not the value."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    variable = str(EnvironmentSettings.model_config["env_prefix"]) + "_".join(map(str, first["loc"])).upper()
    rule = "must be an integer" if first["type"].startswith("int") else f"is not valid: {first['msg']}"
    return f"environment variable {variable}: {rule}"


def _shown(value: object) -> object:
    if isinstance(value, SecretStr):
        return "***"
    return without_password(value) if isinstance(value, str) and "://" in value else value


def secret(variable: str) -> SecretStr | None:
    """Return the value of an environment variable that a user named, or `None` if it is not set or empty."""
    found = os.environ.get(variable)
    return SecretStr(found) if found else None
