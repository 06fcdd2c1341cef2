"""No report sends its reader to a page that is not there; once the site has an address, all of them link to it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from durable_lint import report
from durable_lint.report import addresses
from durable_lint.report.explain import page
from durable_lint.report.style import Style
from durable_lint.rules import RULES

from tests.linter.report.samples import finding, run_of, write_review

if TYPE_CHECKING:
    from pathlib import Path

SITE = "https://docs.example/durable-lint/"
FORMATS = ["full", "concise", "json", "sarif", "github", "gitlab", "junit"]


@pytest.fixture
def review(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write_review(tmp_path)


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "DOCS_URL", SITE)


def shown(review: Path, output_format: str) -> str:
    style = Style(color=True, links=True) if output_format in {"full", "concise"} else Style()
    return "".join(report.render(output_format, run_of(finding(review)), style))


@pytest.mark.parametrize("output_format", FORMATS)
def test_without_an_address_no_format_has_a_link_to_the_documentation(
    review: Path, output_format: str
) -> None:
    text = shown(review, output_format)
    assert "rules/LDC101" not in text
    assert "\x1b]8" not in text
    assert "](" not in text, "a link to another page leads nowhere"


def test_with_an_address_the_rule_is_a_link_on_a_terminal(review: Path, published: None) -> None:
    assert f"\x1b]8;;{SITE}rules/LDC101/\x1b\\" in shown(review, "full")


def test_with_an_address_json_and_sarif_name_the_rules_page(review: Path, published: None) -> None:
    (item,) = json.loads(shown(review, "json"))
    assert item["url"] == f"{SITE}rules/LDC101/"
    driver = json.loads(shown(review, "sarif"))["runs"][0]["tool"]["driver"]
    assert driver["informationUri"] == SITE
    assert [rule["helpUri"] for rule in driver["rules"]] == [f"{SITE}rules/{code}/" for code in RULES]


def test_links_between_pages_lead_to_the_site(published: None) -> None:
    source = "[a](LDC205.md) [b](../pytest.md#one-test) [c](../examples/x.py) [d](https://example.com/) ![e](p.svg)"
    assert addresses.portable(source) == (
        f"[a]({SITE}rules/LDC205/) [b]({SITE}pytest/#one-test) [c]({SITE}examples/x.py)"
        " [d](https://example.com/) ![e](p.svg)"
    )


def test_links_that_were_written_in_the_pages_of_the_rules_are_all_of_these_kinds() -> None:
    for code in RULES:
        text = page(code)
        assert text is not None
        assert "](" not in addresses.portable(text), code
