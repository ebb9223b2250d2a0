"""Arguments with which a program opened its stores, so that another process can open a pickled handle again.

A pickle contains no secrets: they come from the environment of the process that reads it, or pickling is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from graveler_core.errors import InvalidInput, Kind
from graveler_core.model.credentials import Credentials
from graveler_core.stores.hooks import Hook, TagVerifier
from graveler_core.telemetry.secrets import without_secrets

_PUBLIC_OPTION = re.compile(
    r"(?i)(?:aws_|azure_storage_|azure_|google_)?(?:default_)?"
    r"(?:region|endpoint|endpoint_url|bucket|account_name|allow_http|virtual_hosted_style_request|skip_signature)"
)
"""Options of object stores that are no secrets. All others might be."""


@dataclass(frozen=True, slots=True)
class Reopening:
    """Picklable description of an opened store. If `url` is `None`, the URL comes from the environment."""

    reopen: Callable[[Reopening, bool], Any]
    """Function of a module that opens a handle: one of its own if the flag is true, else one that is shared by the
    process.
    """
    url: str | None
    with_credentials: bool
    storage_options: tuple[tuple[str, str], ...]
    cache_dir: str | None
    cache_bytes: int | None
    memory_cache_bytes: int | None
    verify_tag: TagVerifier | None
    hooks: tuple[Hook, ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class Opening:
    """Arguments with which a store was opened."""

    reopen: Callable[[Reopening, bool], Any]
    environment: Callable[[], tuple[str, Credentials | None]]
    """Function that returns URL and credentials of the environment."""
    url: str
    credentials: Credentials | None
    storage_options: Mapping[str, str]
    cache_dir: str | None
    cache_bytes: int | None
    memory_cache_bytes: int | None
    verify_tag: TagVerifier | None
    hooks: tuple[Hook, ...] = ()

    def portable(self) -> Reopening:
        """Return the description of the store that a pickle contains.

        Raises:
            InvalidInput: It would contain a secret, or the store exists in this process only.
        """
        if self.url.startswith("memory://"):
            raise _refused("its store is in memory, which other processes cannot open")
        url, credentials = self.environment()
        if self.credentials is not None and self.credentials != credentials:
            raise _refused(
                "its credentials are not those of the environment; set GRAVELER_ACCESS_KEY_ID and "
                "GRAVELER_SECRET_ACCESS_KEY, here and where it is read"
            )
        secret = without_secrets(self.url) != self.url
        if secret and self.url != url:
            raise _refused(
                "the URL of its store contains a secret and is not that of the environment; set GRAVELER_STORE, here "
                "and where it is read"
            )
        for name, value in self.storage_options.items():
            if not _PUBLIC_OPTION.fullmatch(name) or without_secrets(value) != value:
                raise _refused(
                    f"the storage option {name!r} may be a secret; give it in the environment variables of the object "
                    "store"
                )
        return Reopening(
            self.reopen,
            None if secret else self.url,
            self.credentials is not None,
            tuple(sorted(self.storage_options.items())),
            self.cache_dir,
            self.cache_bytes,
            self.memory_cache_bytes,
            self.verify_tag,
            self.hooks,
        )


def portable(opening: Opening | None) -> Reopening:
    """Return the description of the stores of a handle that its pickle contains.

    Raises:
        InvalidInput: The stores were not opened by `connect`, need a secret, or exist in this process only.
    """
    if opening is None:
        raise _refused("it was not opened by connect")
    return opening.portable()


def _refused(reason: str) -> InvalidInput:
    return InvalidInput(f"this handle cannot be pickled: {reason}", kind=Kind.InvalidValue)
