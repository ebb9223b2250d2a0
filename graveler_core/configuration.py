"""The file `.graveler/config` of a directory: which store and repository the commands below the directory use.

    store = "sqlite:///.graveler/meta.db"
    repository = "flights"

The file is TOML and holds only text. It is found from the working directory upwards, as Git finds a repository.
Relative paths are relative to the directory that contains `.graveler`. Environment variables and options take
precedence: see `graveler_core.settings`. The file contains no secrets and runs no code. A file of another user is
refused, because it could lead a command in a shared directory to a store of that user.
"""

from __future__ import annotations

import json
import os
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

from graveler_core.errors import InvalidInput, NotUnique
from graveler_core.telemetry.secrets import without_secrets

FOLDER: Final = ".graveler"
NAME: Final = "config"
KEYS: Final = ("store", "repository", "data")
"""Names of the values of a file: URL of the key-value store, default repository, storage root of new repositories."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """Content of a configuration file. A value that the file does not name is `None`."""

    file: Path
    store: str | None = None
    repository: str | None = None
    data: str | None = None

    @property
    def directory(self) -> Path:
        """The directory that contains the folder of the file."""
        return self.file.parent.parent

    def values(self) -> dict[str, str]:
        """Return the values as settings: paths are absolute, and the storage root is beside the file by default."""
        found = {"data": (self.directory / FOLDER / "data").as_uri() if self.data is None else self.data}
        if self.store is not None:
            found["store"] = anchored(self.store, self.directory)
        if self.repository is not None:
            found["repository"] = self.repository
        return found


def find(start: Path) -> Path | None:
    """Return the configuration file of a directory or of the nearest directory above it.

    Raises:
        InvalidInput: It cannot be told whether a directory has the file, such as below a private folder of another
            user.
    """
    for directory in (start, *start.parents):
        file = directory / FOLDER / NAME
        try:
            if file.is_file():
                return file
        except OSError as e:
            raise InvalidInput(
                f"configuration file {str(file)!r}: cannot be read ({e}); set GRAVELER_CONFIG to the path of another "
                "one, or to an empty text for none"
            ) from e
    return None


def read(file: Path, *, own: bool = True) -> Configuration:
    """Read a configuration file.

    Args:
        file: The file.
        own: Refuse a file that belongs to neither the user nor root.

    Raises:
        InvalidInput: The file cannot be read, is not TOML of this form, contains a secret, or belongs to another
            user.
    """
    file = file.absolute()
    try:
        with file.open("rb") as opened:
            owner = os.fstat(opened.fileno()).st_uid
            found = tomllib.load(opened)
    except (OSError, ValueError, RecursionError) as e:
        raise InvalidInput(f"configuration file {str(file)!r}: cannot be read ({e})") from e
    if own and hasattr(os, "geteuid") and owner not in (0, os.geteuid()):
        raise InvalidInput(
            f"configuration file {str(file)!r}: belongs to another user (id {owner}); if you trust it, "
            "set GRAVELER_CONFIG to its path, otherwise to an empty text"
        )
    for key, value in found.items():
        if key not in KEYS:
            raise InvalidInput(f"configuration file {str(file)!r}: {key!r} must be one of {', '.join(KEYS)}")
        if not isinstance(value, str) or not value:
            raise InvalidInput(f"configuration file {str(file)!r}: {key} must be text")
        if without_secrets(value) != value:
            raise InvalidInput(
                f"configuration file {str(file)!r}: {key} contains a secret, which does not belong in a file; "
                f"set GRAVELER_{key.upper()} instead"
            )
    return Configuration(file, **found)


def write(configuration: Configuration) -> None:
    """Create the file. It appears complete or not at all.

    Raises:
        NotUnique: The file exists.
    """
    file = configuration.file
    file.parent.mkdir(parents=True, exist_ok=True)
    values = {key: getattr(configuration, key) for key in KEYS}
    # A JSON string is a TOML string: both escape the same characters, except for DEL, which no value here contains.
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in values.items() if value is not None]
    temporary = file.with_name(f".{NAME}-{os.getpid()}")
    try:
        with temporary.open("w", encoding="utf-8") as opened:
            opened.writelines(
                ["# Written by graveler init. Environment variables and options take precedence.\n", *lines]
            )
            opened.flush()
            os.fsync(opened.fileno())
        os.link(temporary, file)
    except FileExistsError as e:
        raise NotUnique(f"configuration file {str(file)!r}: exists") from e
    finally:
        temporary.unlink(missing_ok=True)


def anchored(url: str, directory: Path) -> str:
    """Return the URL of a SQLite file with an absolute path, because other processes have other directories."""
    path = url.removeprefix("sqlite:///")
    return url if path == url or path.startswith("/") else f"sqlite:///{quote(str(directory))}/{path}"
