"""Measures the linter and its neighbours on the same trees, in one run, and writes a table and a plot.

    python benchmarks/linter/run.py --work DIRECTORY [--repeat 5] [--slow-repeat 3] [--flake8-repeat 5]
        [--only large,durable]

Whole processes: wall and processor time and peak memory are the operating system's; medians of several runs.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import corpora

if TYPE_CHECKING:
    from collections.abc import Callable

FLAKE8 = "flake8==7.3.0"
OTHERS = ("flake8-async==26.8.1", "fixit==2.2.1", "replayguard==0.2.1", "ruff==0.17.6")
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
"""Byte code must be kept as it is where nobody measures."""

FLAKE8_ALONE, FLAKE8_WITH_PLUGIN = "flake8 alone", "flake8 with the plugin"

ROOT = Path(__file__).parents[2]

PARSE = """
import ast, sys
from pathlib import Path
for path in Path(sys.argv[1]).rglob("*.py"):
    try:
        ast.parse(path.read_bytes())
    except SyntaxError:
        pass
"""


@dataclass(frozen=True)
class Figure:
    """One line of the table. Times are medians in seconds, memory the highest peak in megabytes."""

    corpus: str
    what: str
    wall: float
    cpu: float
    memory: float
    runs: int
    status: int


@dataclass(frozen=True)
class Measure:
    """What to run on a corpus: `before` puts things in order before each run and is not timed."""

    corpus: str
    what: str
    command: list[str]
    slow: bool = False
    before: Callable[[], None] = lambda: None


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def run(command: list[str], cwd: Path) -> tuple[float, float, float, int]:
    started = time.perf_counter()
    with open(os.devnull, "wb") as nothing:  # noqa: PTH123
        process = subprocess.Popen(command, cwd=cwd, env=ENVIRONMENT, stdout=nothing, stderr=nothing)
        _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, process.returncode


def measure(one: Measure, repeat: int, cwd: Path) -> Figure:
    results = []
    for _ in range(repeat):
        one.before()
        results.append(run(one.command, cwd))
    walls, cpus, peaks, statuses = zip(*results, strict=True)
    figure = Figure(
        one.corpus,
        one.what,
        round(statistics.median(walls), 3),
        round(statistics.median(cpus), 3),
        round(max(peaks), 1),
        repeat,
        statuses[-1],
    )
    say(f"{one.corpus:16} {one.what:34} {figure.wall:9.3f} {figure.cpu:9.3f} {figure.memory:7.0f}")
    return figure


def measure_alternated(ones: list[Measure], repeat: int, cwd: Path) -> list[Figure]:
    """Measure commands in turn, again and again, so that whatever else the machine does befalls all of them.

    For shares of a few per cent: two medians that were taken one after the other differ by more than that.
    """
    rounds = [[measure(one, 1, cwd) for one in ones] for _ in range(repeat)]
    return [
        Figure(
            one.corpus,
            one.what,
            round(statistics.median(figure.wall for figure in figures), 3),
            round(statistics.median(figure.cpu for figure in figures), 3),
            max(figure.memory for figure in figures),
            repeat,
            figures[-1].status,
        )
        for one, figures in zip(ones, zip(*rounds, strict=True), strict=True)
    ]


@dataclass(frozen=True)
class Programs:
    """The `bin` directories of three environments, so that flake8-async does not run inside flake8."""

    lint: Path
    flake8: Path
    others: Path


def environments(work: Path) -> Programs:
    """Make the environments where they are missing, and install this checkout as it is now."""
    wanted = {"lint": (FLAKE8,), "flake8": (FLAKE8,), "others": OTHERS}
    for name, requirements in wanted.items():
        directory = work / f"environment-{name}"
        if not (directory / "installed").exists():
            subprocess.run([sys.executable, "-m", "venv", directory], check=True)
            install(directory, *requirements)
            (directory / "installed").touch()
    install(work / "environment-lint", "--force-reinstall", "--no-deps", str(ROOT))
    return Programs(*(work / f"environment-{name}" / "bin" for name in wanted))


def install(environment: Path, *requirements: str) -> None:
    command = [str(environment / "bin" / "python"), "-m", "pip", "install", "--quiet", *requirements]
    subprocess.run(command, env=ENVIRONMENT, check=True)


def flake8_runs(programs: Programs, large: Path) -> list[Measure]:
    """Whole runs of flake8 over the large tree: of what is installed with it, the plugin is all the difference."""
    options = ["--isolated", "--jobs=1", "--exit-zero", str(large)]
    return [
        Measure("large", what, [str(where / "flake8"), *options])
        for what, where in ((FLAKE8_ALONE, programs.flake8), (FLAKE8_WITH_PLUGIN, programs.lint))
    ]


def measures(programs: Programs, made: dict[str, Path]) -> list[Measure]:
    python, lint = str(programs.lint / "python"), str(programs.lint / "durable-lint")
    found: list[Measure] = []

    def forget(tree: Path) -> Callable[[], None]:
        return lambda: shutil.rmtree(tree / ".durable_lint_cache", ignore_errors=True)

    def touch(tree: Path) -> Callable[[], None]:
        # Another comment each time: a file of the tree has changed since the last run.
        path = next(iter(sorted(tree.rglob("*.py"))))

        def change() -> None:
            raw = path.read_bytes().partition(b"# changed ")[0]
            path.write_bytes(raw + b"# changed %d\n" % time.time_ns())

        return change

    one_clean = made["large"].with_name("one_clean") / "clean.py"
    one_clean.parent.mkdir(exist_ok=True)
    (one_clean.parent / "pyproject.toml").write_text('[project]\nname = "clean"\nversion = "0"\n')
    one_clean.write_text(
        "import json\n\n\ndef load(path):\n    with open(path) as stream:\n        return json.load(stream)\n"
    )
    found.append(Measure("one file", "python -c 'import ast'", [python, "-c", "import ast"]))
    found.append(Measure("one file", "durable-lint", [lint, str(one_clean)]))
    for corpus, tree in made.items():
        where = str(tree)
        found.append(Measure(corpus, "ast.parse", [python, "-c", PARSE, where]))
        found.append(Measure(corpus, "durable-lint, cold", [lint, where], before=forget(tree)))
        found.append(Measure(corpus, "durable-lint, warm", [lint, where]))
        found.append(Measure(corpus, "durable-lint, one file changed", [lint, where], before=touch(tree)))
        if corpus in ("large", "durable", "synthetic-1000"):
            found.append(
                Measure(
                    corpus,
                    "ruff check",
                    [str(programs.others / "ruff"), "check", "--no-cache", "--isolated", where],
                )
            )
            found.append(
                Measure(corpus, "replayguard check", [str(programs.others / "replayguard"), "check", where])
            )
    large = str(made["large"])
    # It takes files only.
    each = [str(path) for path in sorted(made["large"].rglob("*.py"))]
    found.append(Measure("large", "flake8-async", [str(programs.others / "flake8-async"), *each], slow=True))
    rule = "fixit.rules.use_assert_in:UseAssertIn"
    found.append(
        Measure(
            "large",
            "Fixit, one rule",
            [str(programs.others / "fixit"), "--rules", rule, "lint", large],
            slow=True,
        )
    )
    return found


def versions(programs: Programs) -> dict[str, str]:
    listed = [
        item
        for environment in (programs.others, programs.lint)
        for item in json.loads(
            subprocess.run(
                [environment / "python", "-m", "pip", "list", "--format", "json"],
                check=True,
                capture_output=True,
                text=True,
            ).stdout
        )
    ]
    wanted = {"durable-lint", *(tool.partition("==")[0] for tool in (FLAKE8, *OTHERS))}
    found = {item["name"]: item["version"] for item in listed if item["name"] in wanted}
    return {"Python": platform.python_version(), **found}


def machine() -> str:
    model = ""
    if Path("/proc/cpuinfo").exists():
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors {model}".strip()


def table(figures: list[Figure], sizes: dict[str, tuple[int, int]], tools: dict[str, str]) -> str:
    lines = [
        f"Machine: {machine()}. Load before the run: {os.getloadavg()[0]:.1f}.",
        "Versions: " + ", ".join(f"{name} {version}" for name, version in tools.items()) + ".",
        "",
        "| corpus | files | lines |",
        "| --- | ---: | ---: |",
        *(f"| {name} | {files:,} | {count:,} |" for name, (files, count) in sizes.items()),
        "",
        "| corpus | run | wall s | CPU s | of `ast.parse` (CPU) | peak MB | runs |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    parse = {figure.corpus: figure.cpu for figure in figures if figure.what == "ast.parse"}
    for figure in figures:
        ratio = f"{figure.cpu / parse[figure.corpus]:.2f}" if figure.corpus in parse else ""
        lines.append(
            f"| {figure.corpus} | {figure.what} | {figure.wall:.2f} | {figure.cpu:.2f} | {ratio} |"
            f" {figure.memory:.0f} | {figure.runs} |"
        )
    flake8 = {figure.what: figure for figure in figures if figure.what in (FLAKE8_ALONE, FLAKE8_WITH_PLUGIN)}
    if flake8:
        alone, both = flake8[FLAKE8_ALONE], flake8[FLAKE8_WITH_PLUGIN]
        share = 100 * (both.cpu / alone.cpu - 1)
        lines.append(
            f"\nThe plugin on top of flake8: {both.cpu - alone.cpu:+.2f} s of {alone.cpu:.2f} s CPU,"
            f" {share:+.1f} % (medians of {alone.runs} runs each, in turn)."
        )
    return "\n".join(lines) + "\n"


def plot(figures: list[Figure], sizes: dict[str, tuple[int, int]]) -> str:
    """An SVG of processor time over lines for the synthetic repositories, both axes logarithmic."""
    import math

    series = {"durable-lint, cold": "#b3261e", "durable-lint, warm": "#1e6bb3", "ast.parse": "#777777"}
    points = {
        what: [
            (sizes[figure.corpus][1], figure.cpu)
            for figure in figures
            if figure.what == what and figure.corpus.startswith("synthetic")
        ]
        for what in series
    }
    left, top, width, height = 70, 20, 520, 300
    xs = [lines for each in points.values() for lines, _ in each]
    ys = [cpu for each in points.values() for _, cpu in each]
    low_x, high_x = math.log10(min(xs)), math.log10(max(xs))
    low_y, high_y = math.floor(math.log10(min(ys))), math.ceil(math.log10(max(ys)))

    def place(lines: float, cpu: float) -> tuple[float, float]:
        x = left + width * (math.log10(lines) - low_x) / (high_x - low_x)
        return x, top + height * (1 - (math.log10(cpu) - low_y) / (high_y - low_y))

    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 380"',
        ' font-family="sans-serif" font-size="12">',
        "<title>Processor time over lines of durable code</title>",
        (
            "<desc>Processor seconds for 10, 100 and 1,000 handlers, both axes logarithmic:"
            " durable-lint and its neighbours.</desc>"
        ),
        '<rect width="640" height="380" fill="white"/>',
    ]
    for power in range(low_y, high_y + 1):
        _, y = place(10**low_x, 10**power)
        parts.append(f'<line x1="{left}" x2="{left + width}" y1="{y:.0f}" y2="{y:.0f}" stroke="#ddd"/>')
        parts.append(f'<text x="{left - 8}" y="{y + 4:.0f}" text-anchor="end">{10.0**power:g} s</text>')
    for lines in sorted(set(xs)):
        x, _ = place(lines, 10**low_y)
        parts.append(f'<text x="{x:.0f}" y="{top + height + 18}" text-anchor="middle">{lines:,} lines</text>')
    for number, (what, color) in enumerate(series.items()):
        placed = [place(*point) for point in points[what]]
        path = " ".join(f"{x:.0f},{y:.0f}" for x, y in placed)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"/>')
        parts.extend(f'<circle cx="{x:.0f}" cy="{y:.0f}" r="3.5" fill="{color}"/>' for x, y in placed)
        parts.append(f'<text x="{left + 12}" y="{top + 18 + 18 * number}" fill="{color}">{what}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--work", type=Path, required=True, help="where corpora and tools are kept between runs"
    )
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--slow-repeat", type=int, default=3, help="how often the slow tools run")
    parser.add_argument("--flake8-repeat", type=int, default=5, help="how often flake8 runs, in turn")
    parser.add_argument("--only", default="", help="corpora to measure, with commas between")
    options = parser.parse_args()
    work: Path = options.work.absolute()
    work.mkdir(parents=True, exist_ok=True)
    made = corpora.build(work / "corpora")
    programs = environments(work)
    sizes = {name: corpora.describe(tree) for name, tree in made.items()}
    only = set(filter(None, options.only.split(",")))
    figures = [
        measure(one, options.slow_repeat if one.slow else options.repeat, work)
        for one in measures(programs, made)
        if not only or one.corpus in only
    ]
    if options.flake8_repeat and (not only or "large" in only):
        runs = flake8_runs(programs, made["large"])
        figures += measure_alternated(runs, options.flake8_repeat, work)
    (work / "figures.json").write_text(json.dumps([asdict(figure) for figure in figures], indent=1))
    (work / "table.md").write_text(table(figures, sizes, versions(programs)))
    if any(figure.corpus.startswith("synthetic") for figure in figures):
        (work / "growth.svg").write_text(plot(figures, sizes))
    say(f"wrote table.md, growth.svg and figures.json to {work}")


if __name__ == "__main__":
    main()
