"""Operations on tags."""

from __future__ import annotations

from starlette.responses import Response as HttpResponse

from graveler.server.api.call import Call, answer, no_content
from graveler.server.api.records import ApiRef, TagCreation
from graveler_core.model.entities import Tag


def list_tags(call: Call) -> HttpResponse:
    """List tags with their commits."""
    query = call.query
    found = call.graveler.repository(call.repository).tags(query.text("prefix"), query.text("after"))
    return call.page(found, _tag_record, lambda tag: tag.id)


def create_tag(call: Call) -> HttpResponse:
    """Create a tag."""
    wanted: TagCreation = call.body
    return answer(201, _tag_record(call.graveler.repository(call.repository).create_tag(wanted.id, wanted.ref)))


def get_tag(call: Call) -> HttpResponse:
    """Show the commit of a tag."""
    return answer(200, _tag_record(call.graveler.repository(call.repository).tag(call.path["tag"])))


def delete_tag(call: Call) -> HttpResponse:
    """Delete a tag."""
    call.graveler.repository(call.repository).delete_tag(call.path["tag"])
    return no_content()


def _tag_record(tag: Tag) -> ApiRef:
    return ApiRef(id=tag.id, commit_id=tag.commit_id)
