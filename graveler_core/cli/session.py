"""One run of a verb: its options, its output, and the store it works on, opened when first asked for.

`verb` registers a function as a command and gives every command the options that all share, so that they may stand
before or after the verb.
"""

from __future__ import annotations

import functools
import getpass
import importlib
import inspect
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, ParamSpec

import typer

from graveler_core.cli.logs import logged
from graveler_core.cli.output import Output
from graveler_core.cli.progress import Progress, Work
from graveler_core.errors import InvalidInput

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

    from graveler_core.cli.uri import Uri
    from graveler_core.facade.branch import Branch
    from graveler_core.facade.graveler import Graveler
    from graveler_core.facade.repository import Repository
    from graveler_core.facade.snapshot import Snapshot
    from graveler_core.settings import Settings
    from graveler_core.stores import TagVerifier

P = ParamSpec("P")
NOBODY_READS = 141
"""Exit code when the reader of the output has gone, as `yes | head` has it."""
_SHARED = "Shared options"

StoreOption = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="URL",
        rich_help_panel=_SHARED,
        help="Key-value store, else GRAVELER_STORE, else .graveler here.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", rich_help_panel=_SHARED, help="Write JSON, one document a line.")]
CommitterOption = Annotated[
    str | None,
    typer.Option(
        "--committer", metavar="NAME", rich_help_panel=_SHARED, help="Who commits, else GRAVELER_COMMITTER, else you."
    ),
]

LogLevelOption = Annotated[
    str | None,
    typer.Option(
        "--log-level",
        metavar="LEVEL",
        rich_help_panel=_SHARED,
        help="Log to stderr: debug, info, warning or error; else GRAVELER_LOG_LEVEL, else nothing.",
    ),
]
LogFormatOption = Annotated[
    str | None,
    typer.Option(
        "--log-format", metavar="FORMAT", rich_help_panel=_SHARED, help="text or json, else GRAVELER_LOG_FORMAT."
    ),
]


@dataclass(frozen=True, slots=True)
class Options:
    """The options that all verbs share, as given."""

    store: str | None = None
    as_json: bool = False
    committer: str | None = None
    log_level: str | None = None
    log_format: str | None = None

    def over(self, outer: Options) -> Options:
        """These options, completed by those given before the verb."""
        return Options(
            self.store or outer.store,
            self.as_json or outer.as_json,
            self.committer or outer.committer,
            self.log_level or outer.log_level,
            self.log_format or outer.log_format,
        )


class Session:
    """What a verb works with. Opening the store waits for the first use, so `--help` and bad input cost nothing."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.out = Output(as_json=options.as_json)
        self._logs = ExitStack()
        self._logging = False

    @cached_property
    def settings(self) -> Settings:
        from graveler_core.settings import Settings

        return Settings()

    @cached_property
    def graveler(self) -> Graveler:
        return self.connect()

    def connect(self, metrics: CollectorRegistry | None = None) -> Graveler:
        """Open the store; see `graveler_core.connect`."""
        import graveler_core

        self.log()
        with self.working("opening the store"):
            return graveler_core.connect(
                self.options.store or self.settings.store.get_secret_value(),
                credentials=self.settings.credentials,
                cache_dir=self.settings.cache_dir,
                cache_bytes=self.settings.cache_bytes,
                metrics=metrics,
                verify_tag=self._tag_verifier(),
            )

    def _tag_verifier(self) -> TagVerifier | None:
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
            raise InvalidInput("committer: the operating system knows no name for this user; give --committer") from e

    def log(self) -> None:
        """Log events from now on until the session is closed, as options and settings say. Idempotent."""
        if not self._logging:
            self._logging = True
            level = self.options.log_level or self.settings.log_level
            self._logs.enter_context(logged(level, self.options.log_format or self.settings.log_format))

    def close(self) -> None:
        """Close the store, if it was opened."""
        with self._logs:
            if "graveler" in self.__dict__:
                self.graveler.close()

    def repository(self, uri: Uri) -> Repository:
        return self.graveler.repository(uri.repository)

    def branch(self, uri: Uri) -> Branch:
        return self.repository(uri).branch(uri.ref)

    def at(self, uri: Uri) -> Snapshot:
        return self.repository(uri).at(uri.ref)

    def working(self, description: str) -> Progress:
        """A spinner for a call that may take more than a second."""
        return Progress(Work(description))


def verb(app: typer.Typer, name: str) -> Callable[[Callable[Concatenate[Session, P], None]], Callable[..., None]]:
    """Register `function(session, …)` as a command with the shared options."""

    def register(function: Callable[Concatenate[Session, P], None]) -> Callable[..., None]:
        @functools.wraps(function)
        def command(ctx: typer.Context, **given: Any) -> None:
            options = Options(**{field.name: given.pop(field.name) for field in fields(Options)}).over(ctx.obj)
            try:
                with closing(Session(options)) as session:
                    function(session, **given)  # type: ignore[call-arg]
            except BrokenPipeError as e:  # typer would call it 1, which is for errors
                raise typer.Exit(NOBODY_READS) from e

        command.__signature__ = _signature(function)  # type: ignore[attr-defined]
        app.command(name)(command)
        return command

    return register


def _signature(function: Callable[..., None]) -> inspect.Signature:
    """The function's own parameters without the session, then the context and the shared options."""
    _, *own = inspect.signature(function, eval_str=True).parameters.values()
    keyword = inspect.Parameter.KEYWORD_ONLY
    shared = [
        inspect.Parameter("ctx", keyword, annotation=typer.Context),
        inspect.Parameter("store", keyword, annotation=StoreOption, default=None),
        inspect.Parameter("as_json", keyword, annotation=JsonOption, default=False),
        inspect.Parameter("committer", keyword, annotation=CommitterOption, default=None),
        inspect.Parameter("log_level", keyword, annotation=LogLevelOption, default=None),
        inspect.Parameter("log_format", keyword, annotation=LogFormatOption, default=None),
    ]
    return inspect.Signature([p.replace(kind=keyword) for p in own] + shared)
