"""Names that cannot be both a path of a repository and a file of a directory."""

from __future__ import annotations

import os

from graveler_core.errors import InvalidInput
from graveler_core.local.index import FOLDER
from graveler_core.model.names import new_path_key


def refusal_of_path(path: str) -> str:
    """Return why a path of a repository, relative to the prefix, cannot be a file of a directory, or ""."""
    if path.endswith("/"):
        return "it marks a directory, and is no file"
    names = path.split("/")
    if any(name.casefold() == FOLDER for name in names):
        return f"{FOLDER} is kept for graveler itself"
    if "\0" in path or any(name in ("", ".", "..") for name in names) or (os.sep != "/" and os.sep in path):
        return "a name is empty, '.' or '..', or contains NUL"
    return ""


def refusal_of_file(path: str) -> str:
    """Return why a file cannot be a path of a repository, or ""."""
    try:
        path.encode()
        new_path_key(path)
    except UnicodeEncodeError:
        return "the name is not valid Unicode"
    except InvalidInput as e:
        return e.message
    return ""
