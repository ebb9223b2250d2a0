"""Whether anything is staged where an import has a say: only then is it refused.

What is staged elsewhere on the branch stays staged, untouched. Staged where the import writes means: a layer down to
the first restoration over a path has a record of it or a removal over it, or the compacted tree differs from the head
there. It would hide what is imported, and the next commit would take the import back.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from graveler_core.committed.diff import KEYS
from graveler_core.committed.index.diff import diff
from graveler_core.engine.importing.gathered import Gathered
from graveler_core.engine.importing.sources import SHOWN
from graveler_core.engine.view import View
from graveler_core.errors import DirtyBranch
from graveler_core.model.ids import BranchId
from graveler_core.segments.sorted_keys import KEY
from graveler_core.staging import stack as staged
from graveler_core.staging.prefixes import Source, spans, within


def require_unstaged(view: View, gathered: Gathered, branch: BranchId) -> None:
    """Raise `DirtyBranch` if something is staged where the import has a say: `details["paths"]` has the first hundred.

    A write that is acknowledged after this check orders after the import, and stays staged on top of it.
    """
    paths = [key.decode() for key in islice(_staged(view, gathered), SHOWN)]
    if paths:
        raise DirtyBranch(
            f"import: some of its paths are staged on branch {branch!r}, the first is {paths[0]!r}; "
            "commit or reset them first",
            branch=branch,
            paths=paths,
        )


def _staged(view: View, gathered: Gathered) -> Iterator[bytes]:
    start, end = gathered.span()
    for page in staged.scan(view.stack, start=start, end=end):
        yield from gathered.among(page.column(KEY).to_pylist())
    for span in spans(view.stack.layers):
        part = within(span, start, end)
        if part is not None and part.source is Source.NOTHING:
            first = gathered.first_of(part.start, part.end)
            if first is not None:
                yield first
        elif part is not None and part.source is Source.BASE and view.compacted is not None:
            for found in diff(view.indexes, view.head, view.compacted, start=part.start, end=part.end, wanted=KEYS):
                yield from gathered.among(found.keys.to_pylist())
