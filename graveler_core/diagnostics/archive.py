"""The archive: a .zip with a JSON document for each part, and a page that says what is in it and what is not."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from graveler_core.diagnostics.section import Section
from graveler_core.errors import Kind, NotUnique

README = """What a graveler store looked like at one time, for people who look for what is wrong with it.

versions.json         graveler, its formats, Python, the machine, libraries
settings.json         what the process was set up with; of options of object stores only the names
store.json            what the key-value store tells of itself, and how fast it answers
repositories.json     repositories with their states, and what deleted ones left for the cleaner
repositories/*.json   of each: storage namespace, counts, rules, log of references, what waits for a cleaner or a
                      collection, and its branches with their layers, pressure and last compaction
caches.json           what the process that wrote this held in memory

In every document `complete` says whether all of it is there: time and numbers are bounded, and `errors` says what
could not be read. A count with `at_least` ended early. Times are in UTC, spans in seconds, sizes in bytes.

There are no passwords, keys or tokens in it. There are names of repositories, branches and storage namespaces. What
users wrote, paths, contents, messages of commits and who made them, is not in it{exception}.
"""
_EXCEPTION = (
    ", but for what was asked for: messages and committers of heads, and prefixes that were removed or restored"
)


@dataclass(frozen=True, slots=True)
class Archived:
    """An archive that was written."""

    path: Path
    sections: int
    incomplete: tuple[str, ...]
    """Names of the parts of which something is missing."""
    errors: int


def archive(sections: Iterable[Section], path: Path, *, user_data: bool = False) -> Archived:
    """Write the parts to a new file. What breaks off leaves none.

    Raises:
        NotUnique: (`BlobExists`) something is there already.
        OSError: it cannot be written.
    """
    number, errors, incomplete = 0, 0, list[str]()
    try:
        file = path.open("xb")
    except FileExistsError as e:
        raise NotUnique(f"{path}: is there already", kind=Kind.BlobExists, path=str(path)) from e
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
