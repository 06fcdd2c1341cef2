"""The pytest plugin: the fixture `suspensions`, and `--durable-strict`, which holds every test to it.

It is loaded by every pytest run that has durable-lint installed, so it imports nothing of durable-lint
until it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from durable_lint.observed.suspensions import Suspensions

IGNORE_MARK = "durable_ignore"
_WATCH = pytest.StashKey["Suspensions"]()
_REPORTED = pytest.StashKey[bool]()
_SESSION = pytest.StashKey["Suspensions"]()
_GATHERED = pytest.StashKey[list[object]]()
_FROM_WORKERS = "durable_lint"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options and their keys in the configuration file."""
    group = parser.getgroup("durable-lint", "what suspensions of durable functions run")
    group.addoption(
        "--durable-strict",
        action="store_true",
        default=None,
        help="fail every test in which a suspension runs what must not run then, or is swallowed",
    )
    group.addoption(
        "--durable-ignore",
        action="append",
        default=[],
        metavar="PATTERN",
        help="a path (`src/legacy/*`) or a function (`handlers.review`) that may; can be repeated",
    )
    group.addoption(
        "--durable-compare",
        action="store_true",
        help="at the end, compare what suspensions ran with what the linter reports",
    )
    parser.addini("durable_strict", "like --durable-strict for every run", type="bool", default=False)
    parser.addini(
        "durable_ignore", "patterns as for --durable-ignore, one a line", type="linelist", default=[]
    )
    parser.addini(
        "durable_src", "directories of code that is yours although it is installed", type="paths", default=[]
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark, and watch the whole session for `--durable-compare`."""
    config.addinivalue_line(
        "markers",
        f"{IGNORE_MARK}(*patterns): what suspensions of this test may run; without patterns, anything",
    )
    if config.getoption("durable_compare"):
        watch = _new(config)
        watch.start()
        config.stash[_SESSION] = watch


@pytest.fixture
def suspensions(request: pytest.FixtureRequest) -> Iterator[Suspensions]:
    """What suspensions run in this test, in every thread: look at `.seen`, or call `.assert_clean()`."""
    node = cast("pytest.Item", request.node)
    watch = node.stash.get(_WATCH, None)
    if watch is not None:
        yield watch  # --durable-strict has it watching already
        return
    watch = _for_item(node)
    watch.start()
    try:
        yield watch
    finally:
        watch.stop()


# ---------------------------------------------------------------- --durable-strict


def _strict(item: pytest.Item) -> bool:
    wanted = item.config.getoption("durable_strict") or item.config.getini("durable_strict")
    return bool(wanted) and not any(not mark.args for mark in item.iter_markers(IGNORE_MARK))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, None, None]:
    """Begin to watch a test, its fixtures included."""
    if _strict(item):
        from durable_lint.observed.watcher import MissingSdkError

        watch = _for_item(item)
        try:
            watch.start()
        except MissingSdkError as error:
            raise pytest.UsageError(f"--durable-strict: {error}") from None
        item.stash[_WATCH] = watch
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Fail a test that passed although its suspensions are not clean; add the report to one that failed."""
    watch = item.stash.get(_WATCH, None)
    if watch is None:
        return (yield)
    try:
        result = yield
    except BaseException as error:
        report = watch.report()
        item.stash[_REPORTED] = bool(report)
        from durable_lint.observed.suspensions import UnsafeSuspensions

        if report and not isinstance(error, UnsafeSuspensions):
            item.add_report_section("call", "durable suspensions", report)
        raise
    _judge(item, watch)
    return result


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    """Stop watching; what a fixture's teardown ran is an error of the teardown."""
    watch = item.stash.get(_WATCH, None)
    if watch is None:
        return (yield)
    try:
        result = yield
    finally:
        watch.stop()
        del item.stash[_WATCH]
    if not item.stash.get(_REPORTED, False):
        _judge(item, watch)
    return result


def _judge(item: pytest.Item, watch: Suspensions) -> None:
    report = watch.report()
    item.stash[_REPORTED] = bool(report)
    if report:
        pytest.fail(f"suspensions ran what they must not\n\n{report}", pytrace=False)


def _for_item(item: pytest.Item) -> Suspensions:
    watch = _new(item.config)
    for mark in item.iter_markers(IGNORE_MARK):
        watch.ignore(*mark.args)
    return watch


def _new(config: pytest.Config) -> Suspensions:
    from durable_lint.observed.suspensions import Suspensions

    patterns = [*config.getini("durable_ignore"), *config.getoption("durable_ignore")]
    return Suspensions(ignore=patterns, src=config.getini("durable_src"))


# ---------------------------------------------------------------- --durable-compare


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Stop the session's watch; a worker of pytest-xdist sends what it saw to the controller."""
    watch = session.config.stash.get(_SESSION, None)
    if watch is None:
        return
    watch.stop()
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        from durable_lint.observed.transport import packed

        output[_FROM_WORKERS] = packed(watch)


class _Workers:
    """Takes what the workers of pytest-xdist saw. Registered only where that plugin is."""

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object, error: object) -> None:  # noqa: ARG002 - the hook's signature
        config: pytest.Config = node.config  # type: ignore[attr-defined]  # xdist has no types
        sent = getattr(node, "workeroutput", {}).get(_FROM_WORKERS)
        if sent is not None:
            config.stash.setdefault(_GATHERED, []).append(sent)


def pytest_plugin_registered(plugin: object, manager: pytest.PytestPluginManager) -> None:
    """Listen to the workers of pytest-xdist where there are any."""
    if manager.get_name(plugin) == "xdist" and not manager.has_plugin("durable-lint-workers"):
        manager.register(_Workers(), "durable-lint-workers")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the comparison."""
    watch = config.stash.get(_SESSION, None)
    if watch is None or hasattr(config, "workerinput"):
        return
    from durable_lint.observed.transport import compared

    terminalreporter.section("durable suspensions, run time and linter")
    gathered = config.stash.setdefault(_GATHERED, [])
    terminalreporter.write_line(compared(watch, gathered).report())
