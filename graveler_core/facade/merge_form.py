"""The words `squash` and `replay` of a merge, and the former meaning of `squash`: decision 044.

`squash=True` was the default and made a merge commit with two parents; `squash=False` repeated the source's commits.
For one release, the second is refused, and the first warns that one parent is missing now. The server is not warned:
its clients use the word of the API of lakeFS, which has always had the present meaning.
"""

from __future__ import annotations

import sys
import warnings
from types import FrameType

from graveler_core.errors import InvalidInput
from graveler_core.model.changes import MergeForm

_PACKAGE = f"{__name__.partition('.')[0]}."
_PRESENT_MEANING = "graveler.server."
"""Package whose calls use the present meaning of `squash`."""


def merge_form(squash: bool | None, replay: bool) -> MergeForm:
    """Return the commits that a merge makes.

    Args:
        squash: Make one commit with one parent. `None` if the caller does not give it.
        replay: Repeat the source's commits.

    Raises:
        InvalidInput: `squash` is false, as it was to repeat the source's commits, or both are true.
    """
    if squash is False:
        raise InvalidInput(
            "merge: squash=False is refused, because it used to repeat the commits of the source; "
            "give replay=True to repeat them, or leave squash out to make one merge commit with two parents"
        )
    if squash and replay:
        raise InvalidInput("merge: squash=True and replay=True exclude each other: give one of them")
    depth, caller = _caller()
    if squash and not caller.startswith(_PRESENT_MEANING):
        warnings.warn(
            "merge: squash=True makes one commit with one parent, as in Git; it used to make a merge commit with two "
            "parents, which is the default: leave squash out for it",
            FutureWarning,
            stacklevel=depth,
        )
    return MergeForm.SQUASH if squash else MergeForm.REPLAY if replay else MergeForm.COMMIT


def _caller() -> tuple[int, str]:
    """Return the number of frames up to the first one outside of this package, and the name of its module."""
    depth = 0
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith(_PACKAGE):
        depth, frame = depth + 1, frame.f_back
    return depth + 1, "" if frame is None else str(frame.f_globals.get("__name__", ""))
