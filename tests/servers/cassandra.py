"""Apache Cassandra for tests: one node. Tests use tables of their own in one keyspace.

Maven fetches the server once into the cache of the checkout. It is an error if that fails. A start takes 15 seconds on
a quiet machine, and a minute on a busy one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from tests.servers.maven import jars, java
from tests.servers.process import ServerProcess, free_port, running, says

VERSION = "5.0.5"
KEYSPACE = "lakes"
_MAIN = "org.apache.cassandra.service.CassandraDaemon"
_ONE_REPLICA = "{'class': 'SimpleStrategy', 'replication_factor': 1}"
_PATIENCE = 60
_OPENED = (
    *("java.base/java.io", "java.base/java.lang", "java.base/java.lang.module", "java.base/java.lang.reflect"),
    *("java.base/java.nio", "java.base/java.util", "java.base/jdk.internal.loader", "java.base/jdk.internal.math"),
    *("java.base/jdk.internal.module", "java.base/jdk.internal.ref", "java.base/jdk.internal.reflect"),
    *("java.base/jdk.internal.util.jar", "java.base/sun.nio.ch", "jdk.management/com.sun.management.internal"),
)
_EXPORTED = (
    *("java.base/java.lang.ref", "java.base/jdk.internal.misc", "java.management.rmi/com.sun.jmx.remote.internal.rmi"),
    *("java.rmi/sun.rmi.registry", "java.rmi/sun.rmi.server", "jdk.unsupported/sun.misc"),
)
"""Packages of Java that the server uses although they are internal."""
_SETTINGS = """
cluster_name: tests
num_tokens: 1
listen_address: 127.0.0.1
storage_port: {storage_port}
rpc_address: 127.0.0.1
native_transport_port: {port}
start_native_transport: true
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
endpoint_snitch: SimpleSnitch
seed_provider:
  - class_name: org.apache.cassandra.locator.SimpleSeedProvider
    parameters:
      - seeds: "127.0.0.1:{storage_port}"
paxos_variant: {paxos}
commitlog_sync: batch
commitlog_directory: {data}/commitlog
data_file_directories:
  - {data}/data
saved_caches_directory: {data}/saved_caches
hints_directory: {data}/hints
auto_snapshot: false
cas_contention_timeout: 10s
range_request_timeout: 10s
read_request_timeout: 10s
request_timeout: 10s
write_request_timeout: 10s
"""
"""The times are longer than the defaults, because a busy machine does not answer within one or two seconds."""
_GUARDED = """
authenticator: PasswordAuthenticator
authorizer: CassandraAuthorizer
client_encryption_options:
  enabled: true
  optional: true
  ssl_context_factory:
    class_name: org.apache.cassandra.security.PEMBasedSslContextFactory
  keystore: {certificates}/chain.pem
  truststore: {certificates}/ca.pem
"""
"""Users with passwords, and encrypted connections beside others. The chain is the key and the certificate."""
_HELLO = bytes.fromhex("04 00 00 00 05 00 00 00 00")
"""A request for the options of the server, in version 4 of the protocol. The answer has a body."""
_ANSWER = bytes.fromhex("84 00 00 00 06")


@contextmanager
def cassandra_server(paxos: str = "v2", certificates: Path | None = None) -> Iterator[ServerProcess]:
    """A running server with an empty keyspace.

    Args:
        paxos: The setting `paxos_variant`.
        certificates: Directory with certificates. The server then also has encrypted connections, and requires
            passwords; user and password of the administrator are `cassandra`.
    """
    library = jars(f"cassandra-{VERSION}", f"org.apache.cassandra:cassandra-all:{VERSION}")
    storage_port = free_port()

    def command(port: int, directory: Path) -> list[str]:
        data = directory / "data"
        settings = directory / "cassandra.yaml"
        text = _SETTINGS.format(port=port, storage_port=storage_port, data=data, paxos=paxos)
        guarded = _GUARDED.format(certificates=certificates) if certificates else ""
        settings.write_text(text + guarded, "utf-8")
        opened = [f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED]
        exported = [f"--add-exports={package}=ALL-UNNAMED" for package in _EXPORTED]
        properties = {
            "cassandra.config": settings.as_uri(),
            "cassandra.foreground": "yes",
            "cassandra.ring_delay_ms": "1",
            "cassandra.skip_wait_for_gossip_to_settle": "0",
            "cassandra.storagedir": str(data),
            "cassandra.superuser_setup_delay_ms": "0",
            "jdk.attach.allowAttachSelf": "true",
        }
        given = [f"-D{name}={value}" for name, value in properties.items()]
        return [java(), "-Xms512m", "-Xmx512m", "-Xss512k", *opened, *exported, *given, "-cp", f"{library}/*", _MAIN]

    def ready(port: int) -> bool:
        return says(port, _HELLO, _ANSWER)

    with running(command, ready, dict(os.environ)) as server:
        administer(
            server.port, f"CREATE KEYSPACE {KEYSPACE} WITH replication = {_ONE_REPLICA}", certificates is not None
        )
        yield server


def fresh_table(port: int, options: str = "") -> str:
    """The URL of a table that does not exist.

    Args:
        port: Port of the server, or of a network before it.
        options: Further options of the URL.
    """
    return f"cassandra://127.0.0.1:{port}/{KEYSPACE}?table=test_{uuid4().hex}{options}"


def administer(port: int, statement: str, with_password: bool = False) -> None:
    """Execute a statement as the administrator, who is made after the server has begun to answer."""
    from cassandra.auth import PlainTextAuthProvider
    from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, NoHostAvailable
    from cassandra.policies import RoundRobinPolicy

    profiles = {EXEC_PROFILE_DEFAULT: ExecutionProfile(load_balancing_policy=RoundRobinPolicy())}
    login = PlainTextAuthProvider("cassandra", "cassandra") if with_password else None
    options = {"protocol_version": 4, "execution_profiles": profiles, "auth_provider": login}
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            with Cluster(["127.0.0.1"], port=port, **options) as cluster:
                cluster.connect().execute(statement, timeout=_PATIENCE)
            return
        except NoHostAvailable:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
