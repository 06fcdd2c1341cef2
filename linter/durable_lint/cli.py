"""The command line: options to settings, a run to reports and an exit status. No judgement of code happens
here.

Modules are imported where they are needed, so that `--help` and a run over clean files stay quick.
"""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from durable_lint.options import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Sequence

    from durable_lint.config.load import Resolver
    from durable_lint.linter import Linter
    from durable_lint.outputs import Output
    from durable_lint.report.run import Failure, Run
    from durable_lint.report.style import Style
    from durable_lint.running import Input, Rewrites

CLEAN, FINDINGS, ERROR, INTERRUPTED = 0, 1, 2, 130
_STDIN = "-"
_DEPLOY = (
    "the rewritten code needs the package durable-runtime; an execution that is inside a rewritten block"
    " may not be able to go on under it: deploy a new function version behind the alias"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. Return its exit status: 0 clean, 1 findings left, 2 an error, 130 interrupted."""
    from durable_lint import options as command_line
    from durable_lint.config.load import ConfigError

    collecting = gc.isenabled()
    # Facts live as long as the run: looking for garbage among them as often as usual takes a third of its time.
    gc.set_threshold(20_000, 20, 100)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    command: Command | None = None
    try:
        command = Command(command_line.parse(sys.argv[1:] if arguments is None else arguments))
        command.run()
        sys.stdout.flush()
        return command.status
    except UsageError as error:
        say(str(error))
    except ConfigError as error:
        for message in error.messages:
            say(message)
    except BrokenPipeError:
        # Whoever read the output has seen enough. Python must not complain about it when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ERROR if command is None else command.status
    except KeyboardInterrupt:
        say("interrupted")
        return INTERRUPTED
    finally:
        if collecting and arguments is not None:
            gc.enable()  # a program goes on after this call; the command itself ends
    return ERROR


def say(message: str) -> None:
    """Print one line for people on standard error."""
    from durable_lint.report.text import clean

    print(f"durable-lint: {clean(message)}", file=sys.stderr)  # noqa: T201


def put(pieces: Iterable[str]) -> None:
    """Print text as it is on standard output."""
    for piece in pieces:
        sys.stdout.write(piece)


class Command:
    """One run of the command line. `status` is set before a report is printed, so that a closed pipe keeps
    it.
    """

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.status = CLEAN
        self._reads_stdin = options.paths == [_STDIN]
        if _STDIN in options.paths and not self._reads_stdin:
            raise UsageError("- (standard input) can't be given together with other paths")
        if options.stdin_filename is not None and not self._reads_stdin:
            raise UsageError("--stdin-filename needs - as the path")
        if self._reads_stdin and (options.watch or options.add_noqa):
            raise UsageError("--watch and --add-noqa need files, not standard input")
        names = [options.stdin_filename or _STDIN] if self._reads_stdin else options.paths or ["."]
        self._paths = [Path(name) for name in names]
        self._rewrites = bool(options.fix or options.diff or options.fix_only)

    def run(self) -> None:
        """Do what the options ask for. Raises `UsageError` and `ConfigError`."""
        from durable_lint import options as command_line
        from durable_lint.config.load import Resolver

        options = self.options
        if options.explain is not None or options.list_rules:
            self._tell_rules()
            return
        config = None if options.config is None else Path(options.config)
        resolver = Resolver(
            command_line.overrides(options), config=config, isolated=options.isolated, asked=self._paths
        )
        if options.show_settings:
            self._show_settings(resolver)
        elif options.show_files:
            self._show_files(resolver)
        elif options.watch:
            self._watch(resolver)
        else:
            self._check(resolver)

    def _tell_rules(self) -> None:
        from durable_lint.config.selectors import UnknownRule, find_rule
        from durable_lint.report import about

        style = self._style()
        if self.options.list_rules:
            put(about.rules_json() if self._wants_json else about.rules(style))
            return
        try:
            rule = find_rule(self.options.explain)
        except UnknownRule as error:
            raise UsageError(f"--explain: {error}") from None
        put(about.explanation_json(rule) if self._wants_json else about.explanation(rule, style))

    def _show_settings(self, resolver: Resolver) -> None:
        from durable_lint.config.load import absolute
        from durable_lint.report import about

        path = absolute(self._paths[0])
        settings = resolver.for_path(path)
        put(
            about.settings_json(settings, path)
            if self._wants_json
            else about.settings(settings, path, self._style())
        )

    @property
    def _wants_json(self) -> bool:
        from durable_lint.outputs import plan

        formats = {output.format for output in plan(self.options.output_format, None, None)}
        if not formats <= {"json", "full", "concise"}:
            raise UsageError("--output-format: this can be printed as text or as json only")
        return "json" in formats

    def _show_files(self, resolver: Resolver) -> None:
        from durable_lint.config.paths import shown
        from durable_lint.linter import Linter
        from durable_lint.report.run import Failure

        for found in Linter(resolver).files(self._paths, force_exclude=self.options.force_exclude):
            if isinstance(found, Failure):
                say(found.line())
                self.status = ERROR
            else:
                put([f"{shown(found)}\n"])

    def _watch(self, resolver: Resolver) -> None:
        from durable_lint.linter import Linter
        from durable_lint.watch import changes

        files = Linter(resolver)

        def watched() -> Iterator[object]:
            resolver.forget()
            yield from files.files(self._paths, force_exclude=self.options.force_exclude)
            yield from resolver.files

        for _ in changes(watched):
            if sys.stdout.isatty():
                put(["\x1b[2J\x1b[H"])
            self._check(resolver)
            sys.stdout.flush()
            say("watching for changes; press Ctrl-C to stop")

    def _check(self, resolver: Resolver) -> None:
        from durable_lint.linter import Linter
        from durable_lint.outputs import plan

        options = self.options
        outputs = plan(options.output_format, options.output_file, self._configured_format(resolver))
        if options.statistics and (len(outputs) > 1 or outputs[0].format not in {"full", "concise", "json"}):
            raise UsageError("--statistics can be printed as text or as json only")
        shows_fixes = any(output.shows_fixes for output in outputs)
        linter = Linter(
            resolver,
            with_fixes=self._rewrites or (shows_fixes and not options.add_noqa),
            keep_results=not (options.no_cache or self._rewrites or options.add_noqa or self._reads_stdin),
        )
        if self._rewrites:
            self._rewrite(linter, outputs)
            return
        if not options.watch:
            gc.disable()  # a single run throws nothing away but what reference counts take
        run = self._lint(linter)
        linter.save_results()
        if options.add_noqa:
            self._add_noqa(run, linter)
        elif options.write_baseline is not None:
            self._write_baseline(run)
        else:
            self._report(run, outputs, linter)

    def _configured_format(self, resolver: Resolver) -> str | None:
        from durable_lint.config.load import ConfigError

        try:
            return resolver.for_path(self._paths[0]).output_format
        except ConfigError:
            # The files that it holds for say so, and the others are linted all the same.
            return None

    def _inputs(self, linter: Linter) -> Iterator[Input | Failure]:
        from durable_lint.config.load import absolute
        from durable_lint.report.run import Failure
        from durable_lint.running import Input

        if not self._reads_stdin:
            for found in linter.files(self._paths, force_exclude=self.options.force_exclude):
                yield found if isinstance(found, Failure) else Input(found)
            return
        path = absolute(self._paths[0])
        raw = sys.stdin.buffer.read()
        excluded = self.options.force_exclude and linter.settings_for(path).selection().excludes(path)
        if not excluded:
            yield Input(path, raw)
        elif self._rewrites and not self.options.diff:
            sys.stdout.buffer.write(raw)

    def _lint(self, linter: Linter) -> Run:
        from durable_lint.progress import Progress
        from durable_lint.running import Total, lint_all

        with Progress(shown=not self.options.quiet) as progress:
            total = Total(progress)
            lint_all(linter, self._inputs(linter), total, jobs=self.options.jobs)
        return total.run(linter, unsafe_fixes=self._unsafe(linter))

    def _rewrite(self, linter: Linter, outputs: Sequence[Output]) -> None:
        from durable_lint import running

        options = self.options
        total = running.Total()
        rewrites = running.rewrite_all(linter, self._inputs(linter), total, unsafe_fixes=options.unsafe_fixes)
        if not options.diff and not self._reads_stdin:
            for failure in running.write_all(rewrites):
                total.fail(failure)
        run = total.run(linter, unsafe_fixes=self._unsafe(linter), fixed=rewrites.fixed)
        self.status = self._status_of(run, changed=bool(rewrites.after))
        if options.diff:
            self._print_diff(rewrites, run)
        elif self._reads_stdin:
            self._print_rewritten(rewrites, run)
        else:
            if rewrites.adds(b"terminal_scope") and not options.quiet:
                say(_DEPLOY)
            self._report(run, outputs, linter)

    def _print_diff(self, rewrites: Rewrites, run: Run) -> None:
        from durable_lint.report.diff import diff
        from durable_lint.report.run import plural

        put(diff(rewrites.before, rewrites.after, self._style()))
        self._say_trouble(run)
        if not self.options.quiet:
            sys.stdout.flush()
            say(f"would fix {plural(len(run.fixed), 'finding')}, and {len(run.findings)} would be left")

    def _print_rewritten(self, rewrites: Rewrites, run: Run) -> None:
        """Print standard input's new content, and the findings that are left on standard error."""
        from durable_lint import report
        from durable_lint.config.load import absolute
        from durable_lint.report.style import style_for

        path = absolute(self._paths[0])
        raw = rewrites.after.get(path, rewrites.inputs.get(path))
        if raw is not None:
            sys.stdout.buffer.write(raw)
        self._say_trouble(run)
        if not self.options.fix_only:
            style = style_for(sys.stderr, self.options.color, os.environ)
            for piece in report.render("concise", run, style):
                sys.stderr.write(piece)

    def _unsafe(self, linter: Linter) -> bool:
        from durable_lint.config.load import ConfigError

        if self.options.unsafe_fixes is not None:
            return bool(self.options.unsafe_fixes)
        try:
            return linter.settings_at(self._paths[0]).unsafe_fixes
        except ConfigError:
            return False

    def _add_noqa(self, run: Run, linter: Linter) -> None:
        from durable_lint.adoption.noqa import add_suppressions
        from durable_lint.report.run import plural

        added, failures = add_suppressions(run.findings, linter.source)
        self.status = ERROR if run.failures or failures else CLEAN
        self._say_trouble(run, failures)
        if not self.options.quiet:
            put([f"Added {plural(added, 'suppression')}.\n"])

    def _write_baseline(self, run: Run) -> None:
        from durable_lint.adoption.baseline import Baseline
        from durable_lint.report.run import plural

        file = Path(self.options.write_baseline)
        Baseline.of(run, file).write()
        self.status = ERROR if run.failures else CLEAN
        self._say_trouble(run)
        if not self.options.quiet:
            put([f"Wrote {plural(len(run.findings), 'finding')} to {file}.\n"])

    def _report(self, run: Run, outputs: Sequence[Output], linter: Linter) -> None:
        from durable_lint import report
        from durable_lint.outputs import write

        options = self.options
        if options.baseline is not None:
            run = self._without_known(run, linter)
        self.status = self._status_of(run, changed=bool(run.fixed))
        style = self._style()
        if options.show_fixes and run.fixed:
            from durable_lint.report.text import applied

            put(applied(run, style))
        for output in outputs:
            plain = style if output.file is None else style.plain()
            if options.statistics:
                write(output, report.statistics(output.format, run, plain))
            elif not options.fix_only:
                write(output, report.render(output.format, run, plain))
        self._say_trouble(run)
        if options.quiet:
            return
        if any(output.file is None and output.format in report.FOR_PEOPLE for output in outputs):
            put(report.summary(run, style, fixing=self._rewrites))
        elif run.hidden:
            say(report.hidden(run))

    def _without_known(self, run: Run, linter: Linter) -> Run:
        from durable_lint.adoption.baseline import Baseline

        def is_judged(path: Path, code: str) -> bool:
            return path in run.judged and linter.settings_for(path).reports(code, path)

        def tell(message: str) -> None:
            if not self.options.quiet:
                say(message)

        return Baseline.read(Path(self.options.baseline)).without_known(run, is_judged, tell)

    def _status_of(self, run: Run, *, changed: bool) -> int:
        options = self.options
        if run.failures:
            return ERROR
        if changed and (options.exit_non_zero_on_fix or (options.diff and not options.exit_zero)):
            return FINDINGS
        if run.findings and not options.exit_zero and not (options.fix_only and not options.diff):
            return FINDINGS
        return CLEAN

    def _say_trouble(self, run: Run, more: Iterable[Failure] = ()) -> None:
        """Print what kept files from being judged, and what a clean result leaves open, on standard error."""
        sys.stdout.flush()
        for failure in (*run.failures, *more):
            say(failure.line())
        for note in run.notes:
            if note.important or self.options.verbose:
                say(note.line())

    def _style(self) -> Style:
        from durable_lint.report.style import style_for

        return style_for(sys.stdout, self.options.color, os.environ)
