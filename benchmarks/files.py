"""The suite `files`: content of files through graveler, compared with the object store alone.

The object store alone is used through obstore: a directory, or what `--namespace` names, with the credentials of the
environment. graveler uses the same kind of store, and directories without obstore. Both take turns, so that a busy
machine slows both. graveler computes the checksum of what it writes, and compares that of what it reads as a whole.
"""

from __future__ import annotations

import io
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from urllib.parse import unquote, urlsplit

import obstore
from obstore.store import ObjectStore, from_url

from benchmarks.core import empty_repository
from benchmarks.scenario import Clocked, Measured, Place, clocked, scenario
from graveler.fs import GravelerFileSystem
from graveler.fs.handles import close_all
from graveler_core.local.concurrent import concurrently

_AT_ONCE = 16
"""Number of files that the compared copy writes at once, as many as `graveler put -r`."""
_REPEATS = 9
_SMALL = 1_000
"""Bytes of a small file."""
_PART = 1 << 20
"""Bytes that a generator yields at once."""


@scenario("files", empty_repository, sizes=(100_000_000,), counts="bytes")
def large_file(place: Place) -> Iterator[Measured]:
    """Write and read a file as a whole, and read its end."""
    content = os.urandom(place.size)
    with _opened(place) as (fs, plain):
        at = f"{place.repository}/main/large"
        yield from _compared(
            "write", lambda: fs.pipe_file(at, content), lambda: obstore.put(plain, "large", io.BytesIO(content))
        )
        yield from _compared("read", lambda: fs.cat_file(at), lambda: obstore.get(plain, "large").bytes().to_bytes())
        with fs.open(at) as file:
            if file.read() != content:
                raise RuntimeError("the content differs")
        unverified = GravelerFileSystem(store=place.store, verify=False)
        yield from _compared(
            "read without comparing checksums",
            lambda: unverified.cat_file(at),
            lambda: obstore.get(plain, "large").bytes().to_bytes(),
        )


@scenario("files", empty_repository, sizes=(1_000,), counts="files")
def small_files(place: Place) -> Iterator[Measured]:
    """Write small files, then open each and read it; one at a time."""
    content = os.urandom(_SMALL)
    with _opened(place) as (fs, plain):
        names = [f"small/{number:06}" for number in range(place.size)]

        def write(name: str) -> None:
            fs.pipe_file(f"{place.repository}/main/{name}", content)

        def read(name: str) -> None:
            with fs.open(f"{place.repository}/main/{name}") as file:
                file.read()

        for what, ours, theirs in (
            ("write", write, lambda name: obstore.put(plain, name, content)),
            ("open and read", read, lambda name: obstore.get(plain, name).bytes().to_bytes()),
        ):
            found, alone = Clocked(), Clocked()
            for name in names:
                alone += clocked(lambda name=name, call=theirs: call(name))  # type: ignore[misc]
                found += clocked(lambda name=name, call=ours: call(name))  # type: ignore[misc]
            yield found.named(f"{what} a small file")
            yield alone.named(f"{what} a small file, without graveler")


@scenario("files", empty_repository, sizes=(3_000,), runs=3, counts="files")
def put_directory(place: Place) -> Iterator[Measured]:
    """`graveler put -r`, as a process; the same puts in this process; and a copy of the same files by threads.

    A process of its own cannot use a store in memory. Then everything is in a temporary directory.
    """
    with tempfile.TemporaryDirectory() as directory:
        source = Path(directory, "source")
        source.mkdir()
        for number in range(place.size):
            (source / f"{number:06}").write_bytes(os.urandom(_SMALL))
        elsewhere = Place(
            f"sqlite:///{directory}/meta.db?durability=process", Path(directory, "lake").as_uri(), "files", place.size
        )
        used = elsewhere if place.store.startswith("memory") else place
        if used is elsewhere:
            empty_repository(used)
        command = [str(Path(sys.executable).with_name("graveler")), "put", "-r", str(source)]
        to = [f"graveler://{used.repository}/main/in/", "--store", used.store]
        yield clocked(lambda: subprocess.run([*command, *to], check=True, stdout=subprocess.DEVNULL)).named("put -r")
        with used.connect() as g:
            main = used.repo(g).branch("main")
            if sum(1 for _ in main.list("in/")) != place.size:
                raise RuntimeError("not all files were put")

            def put() -> None:
                for _ in concurrently(lambda file: main.put(f"again/{file.name}", file.read_bytes()), source.iterdir()):
                    pass

            yield clocked(put).named("put -r, without the start of a process")
        plain = _plain(used)
        with ThreadPoolExecutor(_AT_ONCE) as pool:

            def copy() -> None:
                list(pool.map(lambda file: obstore.put(plain, file.name, file.read_bytes()), source.iterdir()))

            yield clocked(copy).named("put -r, without graveler")


@scenario("files", empty_repository, sizes=(0,))
def program_start(place: Place) -> Iterator[Measured]:
    """Start processes that show the version, show the help, and import the library. Processor time is theirs."""
    program = str(Path(sys.executable).with_name("graveler"))
    for command in ([program, "--version"], [program, "--help"], [sys.executable, "-c", "import graveler"]):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # compiles what is not compiled yet
        wall, cpu = [], []
        for _ in range(_REPEATS):
            before, begun = _of_children(), time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            wall.append((time.perf_counter() - begun) * 1e3)
            cpu.append((_of_children() - before) * 1e3)
        yield Measured(" ".join(["start", Path(command[0]).name, *command[1:]]), "ms", tuple(wall), tuple(cpu))


@scenario("files", empty_repository, sizes=(1_000_000_000,), counts="bytes")
def stream(place: Place) -> Iterator[Measured]:
    """Put content that comes in parts. The peak memory is that of this scenario."""
    part = os.urandom(min(_PART, place.size))
    with place.connect() as g:
        main = place.repo(g).branch("main")
        parts = (part for _ in range(place.size // len(part)))
        yield clocked(lambda: main.put("stream", parts)).named("put a stream")


def _of_children() -> float:
    """Return the processor time of processes that have ended, in seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _compared(what: str, ours: Callable[[], object], theirs: Callable[[], object]) -> Iterator[Measured]:
    """Yield the times of both, and the median of the ratios of neighbours."""
    theirs()
    ours()
    found, alone = Clocked(), Clocked()
    for _ in range(_REPEATS):
        alone += clocked(theirs)
        found += clocked(ours)
    yield found.named(f"{what} a large file")
    yield alone.named(f"{what} a large file, without graveler")
    ratios = [mine / other for mine, other in zip(found.wall, alone.wall, strict=True)]
    yield Measured(f"{what} a large file", "times the store alone", (median(ratios),))


@contextmanager
def _opened(place: Place) -> Iterator[tuple[GravelerFileSystem, ObjectStore]]:
    """Yield a file system on the run's repository, and a store beside its namespace."""
    try:
        yield GravelerFileSystem(store=place.store), _plain(place)
    finally:
        close_all()


def _plain(place: Place) -> ObjectStore:
    """Return a store in a directory beside the namespace of a repository."""
    url = f"{place.data}-plain"
    if url.startswith("file:"):
        Path(unquote(urlsplit(url).path)).mkdir(parents=True, exist_ok=True)
    return from_url("memory:///" if url.startswith("memory") else url)
