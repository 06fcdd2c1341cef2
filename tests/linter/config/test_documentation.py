"""What the documentation says of options, keys and set-ups is what there is."""

from __future__ import annotations

import json
import re
import tomllib
from configparser import ConfigParser
from pathlib import Path

import pytest
import yaml
from durable_lint import flake8_plugin, options
from durable_lint.config.load import KEYS, Resolver
from durable_lint.config.settings import OUTPUT_FORMATS, Settings

from tests.linter.cli.project import HAZARD, Capture, run, write

ROOT = Path(__file__).parents[3]
CONFIGURATION = (ROOT / "docs" / "configuration.md").read_text("utf-8")
PAGES = sorted([ROOT / "docs" / "configuration.md", *(ROOT / "docs" / "integrations").glob("*.md")])


def first_column(heading: str) -> list[str]:
    """Return the code in the first cells of the table below a heading."""
    section = CONFIGURATION.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return [
        word
        for line in section.splitlines()
        if line.startswith("| `")
        for word in re.findall(r"`([^`]+)`", line.split("|")[1])
    ]


def blocks(language: str) -> list[str]:
    return [
        block
        for page in PAGES
        for block in re.findall(
            rf"^```{language}\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL
        )
    ]


def test_every_key_is_documented_and_every_documented_key_exists() -> None:
    assert sorted(first_column("Keys")) == sorted(KEYS)


def test_documented_defaults_are_the_defaults() -> None:
    defaults = Settings()
    for line in CONFIGURATION.splitlines():
        match = re.match(r"\| `([a-z-]+)` \| `([^`]+)` \|", line)
        if match and match[2].startswith(("true", "false", "[", '"in', "1")):
            value = getattr(defaults, match[1].replace("-", "_"))
            assert json.loads(match[2]) == (list(value) if isinstance(value, tuple) else value), match[1]


def test_every_option_is_documented_and_every_documented_option_exists() -> None:
    written = {word.split()[0] for word in first_column("Options of the command line")} - {"-"}
    known = {
        name
        for action in options.parser()._actions
        for name in action.option_strings
        if name.startswith("--") and not name.startswith("--no-unsafe")
    }
    assert written == known


def test_every_format_is_documented() -> None:
    assert first_column("Formats") == list(OUTPUT_FORMATS)


@pytest.mark.parametrize("text", [text for text in blocks("toml") if "language" not in text])
def test_configuration_examples_can_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write("pyproject.toml" if "[tool." in text else "durable-lint.toml", text)
    assert Resolver().for_path(Path("a.py")).origins


def test_flake8_options_in_the_documentation_exist() -> None:
    class Manager:
        def __init__(self) -> None:
            self.names: list[str] = []

        def add_option(self, name: str, **_: object) -> None:
            self.names.append(name.removeprefix("--"))

    manager = Manager()
    flake8_plugin.Plugin.add_options(manager)
    parser = ConfigParser()
    parser.read_string("\n".join(blocks("ini")))
    assert sorted(parser["flake8"]) == sorted(manager.names)


def test_yaml_and_json_examples_parse_and_name_hooks_and_inputs_that_exist() -> None:
    for text in blocks("yaml"):
        yaml.safe_load(text)
    hooks = {hook["id"] for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))}
    page = (ROOT / "docs" / "integrations" / "pre-commit.md").read_text("utf-8")
    assert set(re.findall(r"- id: (\S+)", page)) == hooks
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    ci = (ROOT / "docs" / "integrations" / "ci.md").read_text("utf-8")
    assert re.findall(r"^\| `([a-z-]+)` \|", ci, re.MULTILINE) == list(action["inputs"])


def test_the_problem_matcher_for_vs_code_reads_what_concise_prints(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (text,) = [text for text in blocks("json") if "problemMatcher" in text]
    pattern = json.loads(text)["tasks"][0]["problemMatcher"]["pattern"]
    monkeypatch.chdir(tmp_path)
    write("app/review.py", HAZARD)
    match = re.match(pattern["regexp"], run(capsys, "--output-format", "concise", "--quiet").out.strip())
    assert match is not None
    assert [match[pattern[name]] for name in ("file", "line", "column", "code")] == [
        "app/review.py",
        "16",
        "5",
        "LDC101",
    ]


def test_the_readme_shows_what_the_tool_prints_for_its_own_handler(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    handler = re.search(r"^```python\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    shown = re.search(r"^```text\n(review\.py:.*?)^```", readme, re.MULTILINE | re.DOTALL)
    assert handler is not None
    assert shown is not None
    monkeypatch.chdir(tmp_path)
    write("review.py", handler[1])
    assert run(capsys, "--output-format", "full", "review.py").out.startswith(shown[1].rstrip("\n"))


def test_the_version_of_the_package_is_the_one_in_the_project_file() -> None:
    from durable_lint import __version__

    document = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert document["project"]["version"] == __version__
