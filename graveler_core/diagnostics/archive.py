"""Diagnostic archive: a .zip file with JSON documents and a page that explains them."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from graveler_core.diagnostics.section import Section
from graveler_core.errors import InvalidInput, Kind, NotUnique

README = """State of a graveler store at one time, for the analysis of problems.

versions.json         graveler, its formats, Python, the machine, libraries
settings.json         configuration of the process; only the names of options of object stores
store.json            description of the key-value store, and its response times
repositories.json     repositories with their states, and deleted repositories that wait for the cleaner
repositories/*.json   for each repository: storage namespace, counts, rules, log of references, items that wait for a
                      cleaner or a sweep, and its branches with their layers, pressure and last compaction
caches.json           contents of the caches of the process that wrote this archive

Time and numbers are bounded. In every document, `complete` is true if nothing was left out, and `errors` lists what
could not be read. A count with `at_least` ended early. Times are in UTC, durations in seconds, sizes in bytes.

The archive contains no passwords, keys or tokens. It contains names of repositories, branches and storage namespaces.
It contains no user data (paths, contents, commit messages, committers){exception}.
"""
_EXCEPTION = ", except what was requested: messages and committers of heads, and prefixes that were removed or restored"


@dataclass(frozen=True, slots=True)
class Archived:
    """Result of writing an archive."""

    path: Path
    sections: int
    incomplete: tuple[str, ...]
    """Names of incomplete documents."""
    errors: int


def archive(sections: Iterable[Section], path: Path, *, user_data: bool = False) -> Archived:
    """Write the documents to a new file. A failure leaves no file.

    Raises:
        NotUnique: The file exists (`BlobExists`).
        InvalidInput: No file can have this path.
        OSError: The file cannot be written.
    """
    number, errors, incomplete = 0, 0, list[str]()
    try:
        file = path.open("xb")
    except FileExistsError as e:
        raise NotUnique(f"{path}: already exists", kind=Kind.BlobExists, path=str(path)) from e
    except ValueError as e:
        raise InvalidInput(f"path {str(path)!r}: cannot be the name of a file") from e
    try:
        with file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as written:
            written.writestr("README.txt", README.format(exception=_EXCEPTION if user_data else ""))
            for section in sections:
                document = json.dumps(section.document(), indent=1, ensure_ascii=False, sort_keys=False)
                written.writestr(f"{section.name}.json", document.encode(errors="backslashreplace"))
                number += 1
                errors += len(section.errors)
                incomplete += [] if section.complete else [section.name]
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return Archived(path, number, tuple(incomplete), errors)
