"""Paths of universal-pathlib: `UPath("graveler://repository/ref/path")`. Its entry point names this module."""

from __future__ import annotations

from upath import UPath


class GravelerPath(UPath):
    """A path of the file system."""
