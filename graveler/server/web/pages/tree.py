"""Pages of a tree: a directory, an object with a preview, and the content of an object."""

from __future__ import annotations

from starlette.responses import Response

from graveler.server.content_response import content_response
from graveler.server.web.page_call import PageCall
from graveler.server.web.preview import IMAGE_BYTES, image_type, preview_of
from graveler_core.model.entry import CommonPrefix


def show_tree(call: PageCall) -> Response:
    """List a directory of a ref. A branch includes its staged changes."""
    repo = call.repository
    ref, prefix = call.ref(repo), call.query.text("prefix")
    found = call.rows(repo.at(ref).list(prefix, call.query.text("after"), "/"))
    rows = [(item, isinstance(item, CommonPrefix)) for item in found.items]
    return call.page("tree", repo=repo, ref=ref, prefix=prefix, rows=rows, next=found.next, parents=parents(prefix))


def show_object(call: PageCall) -> Response:
    """Show an entry, and a preview of its content."""
    repo, path = call.repository, call.query.required("path")
    ref = call.ref(repo)
    content = repo.at(ref).open(path)
    shown = preview_of(content)
    return call.page(
        "object",
        repo=repo,
        ref=ref,
        path=path,
        entry=content.entry,
        size=content.size,
        preview=shown,
        parents=parents(path),
    )


def send_content(call: PageCall) -> Response:
    """Answer with the content of an entry: an image to be shown on a page, anything else to be saved."""
    repo = call.repository
    content = repo.at(call.ref(repo)).open(call.query.required("path"))
    shown = image_type(content.read_range(0, min(content.size, IMAGE_BYTES)))
    response = content_response(content, call.headers)
    response.headers["content-type"] = shown or "application/octet-stream"
    response.headers["content-disposition"] = "inline" if shown else "attachment"
    response.headers["content-security-policy"] = "default-src 'none'; sandbox"
    return response


def parents(path: str) -> list[tuple[str, str]]:
    """Return the names and the prefixes of the directories that lead to a path."""
    names = path.split("/")[:-1]
    return [(name, "/".join(names[: number + 1]) + "/") for number, name in enumerate(names)]
