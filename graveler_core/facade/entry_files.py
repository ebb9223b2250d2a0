"""Entries as files of an Arrow dataset."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import pyarrow as pa
from pyarrow import fs

from graveler_core.engine.reading.content import StoredContent
from graveler_core.errors import InvalidInput, Kind, NotFound
from graveler_core.facade.content_file import ContentFile

if TYPE_CHECKING:
    import pyarrow.dataset as ds

_IGNORED = (".", "_")
"""First characters of names that a dataset leaves out, as Arrow does for directories."""


def dataset_of(
    contents: Iterable[StoredContent], prefix: str, format: str, partitioning: Any, schema: pa.Schema | None
) -> ds.Dataset:
    """Return a dataset of files.

    Args:
        contents: The files: contents of entries.
        prefix: Beginning of the paths of all entries. The part up to its last `/` is no partition.
        format: Format of the files, as for `pyarrow.dataset.dataset`, like the further arguments.
        partitioning: Partitioning of the directories below the prefix.
        schema: Schema of the dataset. `None` means that of the first file.

    Raises:
        NotFound: There is no entry (`PathNotFound`).
        InvalidInput: Arrow cannot read the files with these arguments.
    """
    import pyarrow.dataset as ds  # imports pandas

    found = {content.entry.path: content for content in contents}
    paths = [path for path in found if not path.rpartition("/")[2].startswith(_IGNORED)]
    if not paths:
        raise NotFound(f"prefix {prefix!r}: there is no entry below it", kind=Kind.PathNotFound, path=prefix)
    try:
        return ds.dataset(
            paths,
            schema=schema,
            format=format,
            filesystem=fs.PyFileSystem(_EntryFiles(found)),
            partitioning=partitioning,
            partition_base_dir=prefix.rpartition("/")[0],
        )
    except (TypeError, ValueError) as e:
        raise InvalidInput(f"prefix {prefix!r}: Arrow cannot read its files as a dataset: {e}") from e


class _EntryFiles(fs.FileSystemHandler):  # type: ignore[misc]  # pyarrow has no types
    """File system of some entries. The content of an entry never changes, so nothing is looked up again."""

    def __init__(self, contents: dict[str, StoredContent]) -> None:
        self.contents = contents

    def get_type_name(self) -> str:
        return "graveler"

    def normalize_path(self, path: str) -> str:
        return path

    def get_file_info(self, paths: Sequence[str]) -> list[fs.FileInfo]:
        return [self._info(path) for path in paths]

    def open_input_file(self, path: str) -> pa.PythonFile:
        if path not in self.contents:
            raise FileNotFoundError(path)
        return pa.PythonFile(ContentFile(self.contents[path]), mode="r")

    def open_input_stream(self, path: str) -> pa.PythonFile:
        return self.open_input_file(path)

    def get_file_info_selector(self, selector: fs.FileSelector) -> list[fs.FileInfo]:
        inside = selector.base_dir.rstrip("/") + "/" if selector.base_dir else ""
        return [self._info(path) for path in self.contents if path.startswith(inside)]

    def _info(self, path: str) -> fs.FileInfo:
        content = self.contents.get(path)
        if content is None:
            return fs.FileInfo(path, fs.FileType.NotFound)
        return fs.FileInfo(path, fs.FileType.File, size=content.entry.size)

    def _refuse(self, *arguments: object, **options: object) -> NoReturn:
        raise io.UnsupportedOperation("the files of a dataset are read-only; write with put, or with graveler.fs")

    create_dir = delete_dir = delete_dir_contents = delete_root_dir_contents = delete_file = _refuse
    move = copy_file = open_output_stream = open_append_stream = _refuse
