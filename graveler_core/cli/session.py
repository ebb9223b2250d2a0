"""State of one command: its options, its output, and the store, which is opened on first use.

`verb` registers a function as a command. It adds the shared options to every command, so that they may be given before
or after its name.
"""

from __future__ import annotations

import functools
import getpass
import importlib
import inspect
import io
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import typer
from typer.models import ArgumentInfo

from graveler_core.cli.clusters import ClusterOptions
from graveler_core.cli.logs import logged
from graveler_core.cli.options import Options, signature, taken
from graveler_core.cli.output import Output
from graveler_core.cli.progress import Progress, ProgressWork
from graveler_core.documents.errors import error_document
from graveler_core.errors import GravelerError, InvalidInput, NotFound

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

    from graveler_core.cli.uri import Uri
    from graveler_core.clusters import StoreAccess
    from graveler_core.documents.values import Document
    from graveler_core.facade.branch import Branch
    from graveler_core.facade.graveler import Graveler
    from graveler_core.facade.repository import Repository
    from graveler_core.facade.snapshot import Snapshot
    from graveler_core.model.secrets_keys import SecretsKeys
    from graveler_core.settings import EnvironmentSettings
    from graveler_core.stores import TagVerifier

P = ParamSpec("P")
T = TypeVar("T")
NOBODY_READS = 141
"""Exit code when the reader of the output has closed the pipe, as in `yes | head`."""


class Session:
    """State of a command. The store is opened on first use, so `--help` and invalid input do not open it."""

    def __init__(self, options: Options, verb: str = "", on_cluster: ClusterOptions | None = None) -> None:
        self.options = options
        self._verb = verb
        self._on_cluster = on_cluster or ClusterOptions()
        self.cluster = self._on_cluster.open(verb)
        self.out = Output(as_json=options.as_json)
        self._logs = ExitStack()
        self._logging = False
        self.shortened: dict[str, str] = {}
        """Full URIs by the short ones that were given."""

    @cached_property
    def settings(self) -> EnvironmentSettings:
        from graveler_core.settings import Settings

        return Settings()

    def ignore_configuration(self) -> None:
        """Use the environment and defaults, and no configuration file. Call this before the store is opened."""
        from graveler_core.settings import EnvironmentSettings

        self.settings = EnvironmentSettings()

    @cached_property
    def graveler(self) -> Graveler:
        return self.connect()

    def connect(self, metrics: CollectorRegistry | None = None) -> Graveler:
        """Open the store; see `graveler_core.connect`."""
        import graveler_core

        self.log()
        access = self._access()
        cluster = None if self.cluster is None else self.cluster.cluster(access)
        with self.working("opening the store"):
            return graveler_core.connect(
                access.url,
                credentials=access.credentials,
                storage_options=access.storage_options or None,
                cache_dir=access.cache_dir,
                cache_bytes=access.cache_bytes,
                memory_cache_bytes=self.settings.memory_cache_bytes,
                metrics=metrics,
                verify_tag=self.tag_verifier(),
                cluster=cluster,
            )

    @property
    def store_url(self) -> str:
        """URL of the store, which may contain a password."""
        return self.settings.store.get_secret_value() if self.options.store is None else self.options.store

    def secrets_keys(self, file: Path | None) -> SecretsKeys | None:
        """Return the keys that encrypt secrets: those of a file, else those of the environment, else `None`.

        Raises:
            InvalidInput: The file cannot be read, or a key is not valid.
        """
        from pydantic import SecretStr

        from graveler_core.model.secrets_keys import SecretsKeys

        given = self.settings.server_key
        if file is not None:
            try:
                given = SecretStr(file.read_text("utf-8"))
            except (OSError, UnicodeDecodeError) as e:
                raise InvalidInput(f"secrets key file {str(file)!r}: cannot be read ({e})") from e
        return None if given is None else SecretsKeys(given)

    def _access(self) -> StoreAccess:
        from graveler_core.clusters import StoreAccess

        settings = self.settings
        return StoreAccess(
            self.store_url,
            settings.credentials,
            self._on_cluster.storage_options,
            None if settings.cache_dir is None else str(settings.cache_dir),
            settings.cache_bytes,
        )

    def tag_verifier(self) -> TagVerifier | None:
        """Return the function that verifies tags, if the settings name one.

        Raises:
            InvalidInput: There is no such function.
        """
        name = self.settings.tag_verifier
        if name is None:
            return None
        module, _, function = name.partition(":")
        try:
            found: TagVerifier = getattr(importlib.import_module(module), function)
        except (ImportError, AttributeError, ValueError) as e:
            raise InvalidInput(f"GRAVELER_TAG_VERIFIER {name!r}: must be a function, as module:function ({e})") from e
        return found

    @cached_property
    def committer(self) -> str:
        name = self.options.committer or self.settings.committer
        if name:
            return name
        try:
            return getpass.getuser()
        except (OSError, KeyError) as e:
            raise InvalidInput("committer: the operating system has no name for this user; give --committer") from e

    def log(self) -> None:
        """Log events until the session is closed, with the level and format of options and settings. Idempotent."""
        if not self._logging:
            self._logging = True
            level = self.options.log_level or self.settings.log_level
            self._logs.enter_context(logged(level, self.options.log_format or self.settings.log_format))

    def close(self) -> None:
        """Close the store, if it was opened, and the cluster."""
        with self._logs, ExitStack() as opened:
            if self.cluster is not None:
                opened.callback(self.cluster.close)
            if "graveler" in self.__dict__:
                opened.callback(self.graveler.close)

    def full_uri(self, text: str) -> str:
        """Return the full URI of one that may be short. Settings are read only for a short one."""
        from graveler_core.cli.uri import expanded

        short = "://" not in text
        full = expanded(text, self.settings.repository if short else None)
        if short:
            self.shortened[text] = full
        return full

    def repository(self, uri: Uri) -> Repository:
        return self.graveler.repository(uri.repository)

    def branch(self, uri: Uri) -> Branch:
        return self.repository(uri).branch(uri.ref)

    def at(self, uri: Uri) -> Snapshot:
        return self.repository(uri).at(uri.ref)

    def working(self, description: str) -> Progress:
        """Return a spinner for a call that may take more than a second."""
        return self.counting(ProgressWork(description))

    def counting(self, work: ProgressWork) -> Progress:
        """Return a progress bar. It is hidden when a cluster is used, because the cluster reports progress itself."""
        return Progress(work, stream=None if self.cluster is None else io.StringIO())

    def result(self, document: Document, text: str) -> None:
        """Write the result of a command as JSON or as a line. With a cluster, the JSON also has `verb` and its
        facts."""
        if self.cluster is not None:
            document = {"verb": self._verb, **document, **self.cluster.facts()}
            self.cluster.report(document)
        self.out.result(document, text)

    @contextmanager
    def reporting(self) -> Iterator[None]:
        """With a cluster, also write an error as a JSON document and report it to the cluster. Raise the error
        again."""
        try:
            yield
        except GravelerError as error:
            if self.cluster is not None:
                document = error_document(error)
                self.out.document(document)
                self.cluster.report(document)
            raise


def verb(
    app: typer.Typer, name: str, *, clusters: bool = False
) -> Callable[[Callable[Concatenate[Session, P], None]], Callable[..., None]]:
    """Register `function(session, …)` as a command with the shared options.

    Arguments whose metavar ends in URI may be short: the function receives the full URI.

    Args:
        app: Application that gets the command.
        name: Name of the command.
        clusters: Add the options of a cluster to the command.
    """

    def register(function: Callable[Concatenate[Session, P], None]) -> Callable[..., None]:
        @functools.wraps(function)
        def command(ctx: typer.Context, **given: Any) -> None:
            options = taken(Options, given).over(ctx.obj)
            on_cluster = taken(ClusterOptions, given) if clusters else None
            try:
                with closing(Session(options, name, on_cluster)) as session, session.reporting():
                    for uri in uris & given.keys():
                        given[uri] = given[uri] and session.full_uri(given[uri])
                    with _short_uris_named(session):
                        function(session, **given)  # type: ignore[call-arg]
            except BrokenPipeError as e:  # typer would exit with 1, which means an error
                raise typer.Exit(NOBODY_READS) from e

        _, *own = inspect.signature(function, eval_str=True).parameters.values()
        uris = {each.name for each in own if _is_uri(each)}
        context = inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
        added = (Options, ClusterOptions) if clusters else (Options,)
        command.__signature__ = signature([*own, context], *added)  # type: ignore[attr-defined]
        app.command(name)(command)
        return command

    return register


def _is_uri(parameter: inspect.Parameter) -> bool:
    """Return whether a parameter is an argument whose metavar says that it is a URI of graveler."""
    marks = getattr(parameter.annotation, "__metadata__", ())
    return any(isinstance(mark, ArgumentInfo) and str(mark.metavar).strip("[]").endswith("URI") for mark in marks)


@contextmanager
def _short_uris_named(session: Session) -> Iterator[None]:
    """Add the full forms of short URIs to an error about something that does not exist."""
    try:
        yield
    except NotFound as error:
        for short, full in session.shortened.items():
            error.add_note(f"{short!r} means {full}")
        raise
