"""A real process that copies between two SQLite files, killed at one call after another: the next one goes on."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from graveler_core.kv.registry import open_store
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.transfer.kv_copy import copy_store
from graveler_core.transfer.kv_copy_compare import compare_stores
from tests.unit.transfer.stores import lived_in

pytestmark = pytest.mark.ci

PROGRAM = """
import os, signal, sys
from graveler_core.kv.registry import open_store
from graveler_core.testing.faulty_store import Faulty
from graveler_core.transfer import kv_copy_loading
from graveler_core.transfer.kv_copy import copy_store

source, target, writes = sys.argv[1], sys.argv[2], int(sys.argv[3])
kv_copy_loading.FEW_ROWS = 50
done = []

def plan(call, number):
    if call.writes and call.verb != "drop_partition":
        done.append(call)
    if len(done) > writes:
        os.kill(os.getpid(), signal.SIGKILL)

copied = copy_store(open_store(source), Faulty(open_store(target), plan))
print(copied.resumed)
"""
"""Kills itself before the write that comes after so many."""


def test_killed_processes_are_gone_on_with(tmp_path: Path) -> None:
    source, target = (f"sqlite:///{tmp_path}/{name}.db?durability=process" for name in ("source", "target"))
    with closing(open_store(source)) as kv:
        copy_store(lived_in(staged=1_200).kv, kv)

    def run(writes: int) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", PROGRAM, source, target, str(writes)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    for writes in (1, 2, 5, 8):
        assert run(writes).returncode == -signal.SIGKILL
        with closing(open_store(target)) as kv:
            assert access.read(kv, keys.copying()) is not None
            assert not list(access.scan(kv, keys.REPOSITORIES))
    ended = run(1_000)
    assert (ended.returncode, ended.stdout) == (0, "True\n"), ended.stderr
    with closing(open_store(source)) as here, closing(open_store(target)) as there:
        assert compare_stores(here, there).differences == ()
        assert access.read(there, keys.copying()) is None
