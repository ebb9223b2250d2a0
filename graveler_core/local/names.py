"""Names that cannot be both a path of a repository and a file of a directory."""

from __future__ import annotations

import os
from typing import Final

from graveler_core.errors import InvalidInput
from graveler_core.local.index import FOLDER
from graveler_core.model.names import new_path_key

_NAME_BYTES: Final = 255
"""Number of bytes of the longest name that common file systems allow."""


def refusal_of_names(path: str) -> str:
    """Return why a path would lead out of a directory or has no name as a file, or ""."""
    names = path.split("/")
    if "\0" in path or any(name in ("", ".", "..") for name in names) or (os.sep != "/" and os.sep in path):
        return "a name is empty, '.' or '..', or contains NUL"
    if os.sep != "/" and any(":" in name or name.endswith((".", " ")) for name in names):
        return "a name contains ':', or ends in '.' or a space"  # Windows would write to another file
    return ""


def refusal_of_path(path: str) -> str:
    """Return why a path of a repository, relative to the prefix, cannot be a file of a directory, or "".

    The rules of `refusal_of_file` apply here, too. Otherwise a scan would not find a file that a pull has brought, and
    a pull would remove a file that a commit has just uploaded.
    """
    if path.endswith("/"):
        return "it marks a directory, and is no file"
    if any(name.casefold() == FOLDER for name in path.split("/")):
        return f"{FOLDER} is kept for graveler itself"
    return refusal_of_names(path) or refusal_of_file(path)


def refusal_of_file(path: str) -> str:
    """Return why a file cannot be a path of a repository, or ""."""
    try:
        path.encode()
        new_path_key(path)
    except UnicodeEncodeError:
        return "the name is not valid Unicode"
    except InvalidInput as e:
        return e.message
    if any(len(name.encode()) > _NAME_BYTES for name in path.split("/")):
        return f"a name is longer than {_NAME_BYTES} bytes"
    return ""
