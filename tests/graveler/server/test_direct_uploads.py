"""Signed URLs and uploads straight to the object store, by lakeFS's own clients."""

from __future__ import annotations

import json
import urllib.request

import lakefs
import lakefs_sdk
import pytest
from lakefs.client import Client
from lakefs_sdk import models as m
from lakefs_sdk.exceptions import ApiException

from graveler_core.model.entry import AddressType, Entry
from tests.graveler.server.conftest import Place
from tests.graveler.server.plain_http import Http


@pytest.fixture
def client(place: Place) -> Client:
    admin = place.server.admin
    return Client(host=place.server.url, username=str(admin.access_key_id), password=admin.secret.get_secret_value())


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_content_goes_past_the_server(place: Place, client: Client) -> None:
    name = place.repository()
    main = lakefs.Repository(name, client=client).branch("main")
    made = main.object("raw/a").upload(b"content", pre_sign=True, content_type="text/csv", metadata={"k": "v"})
    stat = made.stat()
    assert (stat.size_bytes, stat.content_type, stat.metadata) == (7, "text/csv", {"k": "v"})
    assert stat.physical_address.startswith(f"s3://{place.server.root.removeprefix('s3://')}/{name}/data/")
    assert place.server.graveler.repository(name).branch("main").read("raw/a") == b"content"
    with made.reader(mode="rb", pre_sign=True) as reader:
        assert reader.read(4) == b"cont"
        assert reader.read() == b"ent"
    signed = made.stat(pre_sign=True)
    assert signed.physical_address_expiry
    with urllib.request.urlopen(signed.physical_address) as response:
        assert response.read() == b"content"
    listed = lakefs_sdk.ObjectsApi(client.sdk_client._api).list_objects(name, "main", presign=True).results
    with urllib.request.urlopen(listed[0].physical_address) as response:
        assert response.read() == b"content"
    with pytest.raises(lakefs.exceptions.ObjectExistsException):
        main.object("raw/a").upload(b"other", mode="xb", pre_sign=True)


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_content_without_an_object_is_sent_by_the_server(place: Place, client: Client) -> None:
    name = place.repository()
    repo = place.server.graveler.repository(name)
    main = repo.branch("main")
    main.stage("inline", Entry(data=b"text", address_type=AddressType.INLINE))
    for path in ("erased", "kept"):
        main.put(path, path.encode())
    commit = main.commit("Add three").id
    repo.erase(["erased"], why="wish of a customer")
    api = lakefs_sdk.ObjectsApi(client.sdk_client._api)
    addresses = {each.path: each.physical_address for each in api.list_objects(name, commit, presign=True).results}
    assert addresses["inline"] == ""
    assert addresses["erased"].startswith("s3://")
    assert addresses["kept"].startswith("http")
    assert api.stat_object(name, commit, "inline", presign=True).physical_address_expiry is None
    assert api.get_object(name, commit, "inline", presign=True) == b"text"


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_a_store_that_signs_nothing_says_so(place: Place, client: Client) -> None:
    main = lakefs.Repository(place.repository(), client=client).branch("main")
    with pytest.raises(lakefs_sdk.exceptions.BadRequestException):
        main.object("a").upload(b"x", pre_sign=True)
    main.object("a").upload(b"x")
    with pytest.raises(lakefs.exceptions.BadRequestException):
        main.object("a").stat(pre_sign=True)
    status, said, _ = Http(place).send("POST", f"/repositories/{main.repo_id}/branches/main/staging/pmpu?path=a")
    assert (status, b"presigned URLs exist only for" in said) == (501, True)
    assert place.server.graveler.repository(main.repo_id).multipart_uploads() == []


def test_only_what_was_stored_is_linked(place: Place, client: Client) -> None:
    name = place.repository()
    staging = lakefs_sdk.StagingApi(client.sdk_client._api)
    begun = staging.get_physical_address(name, "main", "a")
    assert begun.presigned_url is None

    def linked(size: int, address: str = begun.physical_address, checksum: str = '"tag"') -> int:
        wanted = m.StagingMetadata(
            staging=m.StagingLocation(physical_address=address), checksum=checksum, size_bytes=size
        )
        try:
            staging.link_physical_address(name, "main", "a", wanted)
        except ApiException as error:
            return int(error.status)
        return 200

    assert linked(5) == 410  # nothing is there
    blobs = place.server.graveler._stores.blobs.at(f"{place.server.root}/{name}")
    blobs.create(f"data/{begun.physical_address.rpartition('/')[2]}", b"bytes")
    assert linked(4) == 400
    assert linked(5, checksum='" "') == 400
    assert linked(5, address=begun.physical_address + "/../x") == 400
    assert linked(5) == 200
    entry = place.server.graveler.repository(name).branch("main").get("a")
    assert (entry.size, entry.checksum) == (5, "tag")
    body = json.dumps({"staging": {"physical_address": "s3://other/data"}, "checksum": "1", "size_bytes": 4}).encode()
    for condition, status in (("", 200), ("*", 412), ('"tag"', 501)):
        link = f"/repositories/{name}/branches/main/staging/backing?path=b"
        assert Http(place).send("PUT", link, body, {"If-None-Match": condition})[0] == status
    assert Http(place).send("GET", f"/repositories/{name}/refs/main/objects?path=a")[1] == b"bytes"


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_parts_go_past_the_server(place: Place, client: Client) -> None:
    name = place.repository()
    g = place.server.graveler
    g.repository(name).branch("main").put("source", b"0123456789")
    api = lakefs_sdk.ExperimentalApi(client.sdk_client._api)
    begun = api.create_presign_multipart_upload(name, "main", "a/b", parts=2)
    id, at = begun.upload_id, begun.physical_address
    again = api.upload_part(name, "main", id, "a/b", 1, m.UploadPartFrom(physical_address=at))

    def sent(url: str, data: bytes) -> str:
        headers = {"Content-Type": "application/octet-stream"}
        with urllib.request.urlopen(urllib.request.Request(url, data, headers, method="PUT")) as response:
            return str(response.headers["ETag"])

    sent(begun.presigned_urls[0], b"wrong")
    first, second = sent(again.presigned_url, b"first "), sent(begun.presigned_urls[1], b"second ")
    copy = m.UploadPartCopyFrom(
        physical_address=at, copy_source=m.CopyPartSource(repository=name, ref="main", path="source", range="bytes=1-3")
    )
    copied = api.upload_part_copy_with_http_info(name, "main", id, "a/b", 3, copy)

    def completed(etag: str, address: str = at) -> m.ObjectStats:
        numbered = enumerate((etag, second, str(copied.headers["ETag"])), 1)
        return api.complete_presign_multipart_upload(
            name,
            "main",
            id,
            "a/b",
            complete_presign_multipart_upload=m.CompletePresignMultipartUpload(
                physical_address=address,
                parts=[m.UploadPart(part_number=number, etag=each) for number, each in numbered],
                content_type="text/plain",
                user_metadata={"k": "v"},
            ),
        )

    for wrong in (('"0"',), (first, at + "0")):
        with pytest.raises(lakefs_sdk.exceptions.BadRequestException):
            completed(*wrong)
    made = completed(first)
    assert (made.size_bytes, made.content_type, made.metadata) == (16, "text/plain", {"k": "v"})
    entry = g.repository(name).branch("main").get("a/b")
    assert (entry.checksum or "").startswith("sha256:")
    sent(begun.presigned_urls[1], b"later")  # changes nothing
    assert g.repository(name).branch("main").read("a/b") == b"first second 123"
    assert completed(first) == made  # a client that has not got the answer repeats the request
    g.repository(name).branch("main").put("a/b", b"other")
    with pytest.raises(lakefs_sdk.exceptions.NotFoundException):
        completed(first)
    begun = api.create_presign_multipart_upload(name, "main", "c")
    assert begun.presigned_urls is None
    aborted = m.AbortPresignMultipartUpload(physical_address=begun.physical_address)
    api.abort_presign_multipart_upload(name, "main", begun.upload_id, "c", abort_presign_multipart_upload=aborted)
    assert g.repository(name).multipart_uploads() == []
