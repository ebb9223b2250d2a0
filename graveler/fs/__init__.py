"""File system for `graveler://repository/ref/path`, for every tool that uses fsspec. Needs the extra `fs`."""

from graveler.fs.filesystem import GravelerFileSystem

__all__ = ["GravelerFileSystem"]
