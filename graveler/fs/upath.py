"""Paths of universal-pathlib: `UPath("graveler://repository/ref/path")`. Its entry point names this module."""

from __future__ import annotations

from fsspec import get_filesystem_class
from upath import UPath

get_filesystem_class("graveler")  # universal-pathlib takes its rules from a class that is loaded, and warns otherwise


class GravelerPath(UPath):
    """A path of the file system."""
