"""Two processes on one store: every acknowledged put and commit of both is in the history, once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from contextlib import closing

import pytest

from graveler_core.errors import Unavailable
from graveler_core.facade.graveler import Graveler
from graveler_core.kv import open_store
from graveler_core.kv.store import Store
from tests.integration.stores.conftest import of_each_kind

TIMES = 12
WORK = """
import sys
import graveler_core as graveler
from graveler_core.errors import NoChanges

url, name, times = sys.argv[1], sys.argv[2], int(sys.argv[3])
with graveler.connect(url) as g:
    main = g.repository("lake").branch("main")
    for number in range(times):
        main.put(f"{name}/{number:05}", name.encode())
        print("put", number, flush=True)
        try:
            main.commit(f"{name} {number}")
            print("commit", number, flush=True)
        except NoChanges:
            pass  # the commit of the other process has this entry, too
"""


def start(url: str, name: str, times: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WORK, url, name, str(times)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
    )


def told(process: subprocess.Popen[str], what: str, output: str) -> list[int]:
    """The numbers that a process has reported. A last line without its end was cut off."""
    lines = [line.split() for line in output.splitlines(keepends=True) if line.endswith("\n")]
    return [int(number) for word, number in lines if word == what]


@of_each_kind
def test_two_processes_commit_to_one_branch(handles: tuple[Graveler, Graveler], store_url: str, namespace: str) -> None:
    lake = handles[0].create_repository("lake", storage_namespace=namespace)
    processes = {name: start(store_url, name, TIMES) for name in "ab"}
    committed = Counter[str]()
    for name, process in processes.items():
        output, _ = process.communicate(timeout=300)
        assert process.returncode == 0
        assert told(process, "put", output) == list(range(TIMES))
        committed.update(f"{name} {number}" for number in told(process, "commit", output))
    lake.branch("main").commit("rest", allow_empty=True)
    log = Counter(commit.message for commit in lake.log("main"))
    assert {message: count for message, count in log.items() if message[0] in "ab" and " " in message} == committed
    expected = {f"{name}/{number:05}" for name in "ab" for number in range(TIMES)}
    assert {entry.path for entry in lake.at("main@").list()} == expected


@of_each_kind
def test_a_killed_process_loses_nothing(handles: tuple[Graveler, Graveler], store_url: str, namespace: str) -> None:
    lake = handles[0].create_repository("lake", storage_namespace=namespace)
    victim, survivor = start(store_url, "victim", 100_000), start(store_url, "survivor", TIMES)
    assert victim.stdout is not None
    output = "".join(victim.stdout.readline() for _ in range(TIMES))
    victim.send_signal(signal.SIGKILL)
    output += victim.communicate()[0]
    other, _ = survivor.communicate(timeout=300)
    assert survivor.returncode == 0
    assert len(told(survivor, "put", other)) == TIMES
    log = Counter(commit.message for commit in lake.log("main"))
    assert set(log.values()) == {1}
    assert {f"victim {number}" for number in told(victim, "commit", output)} <= set(log)
    found = {entry.path for entry in lake.branch("main").list()}
    assert {f"victim/{number:05}" for number in told(victim, "put", output)} <= found
    assert {f"survivor/{number:05}" for number in range(TIMES)} <= found


def test_a_forked_process_has_connections_of_its_own(store_url: str, scheme: str) -> None:
    """Answers on a shared connection would be those to questions of the other process.

    The threads of obstore do not exist in the child, so a bucket refuses it, also when it is opened again.
    """

    def talk(store: Store, name: bytes) -> bool:
        for number in range(40):
            store.set(b"p", name, b"%s %d" % (name, number))
            found = store.get(b"p", name)
            if found is None or found.value != b"%s %d" % (name, number):
                return False
        return True

    def is_refused() -> bool:
        for use in (lambda: store.get(b"p", b"before"), lambda: open_store(store_url)):
            with pytest.raises(Unavailable, match="spawn or forkserver"):
                use()
        return True

    with closing(open_store(store_url)) as store:
        assert talk(store, b"before")
        child = os.fork()
        if not child:
            answered = False
            try:
                answered = talk(store, b"child") if scheme != "s3" else is_refused()
            finally:
                os._exit(0 if answered else 1)
        assert talk(store, b"parent")
        assert os.waitpid(child, 0)[1] == 0
        written = [b"before", b"parent"] if scheme == "s3" else [b"before", b"child", b"parent"]
        assert [row.key for row in store.scan(b"p")] == written
