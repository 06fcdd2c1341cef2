"""What machines read is valid by its own schema or grammar, and places are where the reader expects them."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import jsonschema
import pytest
from durable_lint import report
from durable_lint.report.run import Failure
from durable_lint.report.style import Style
from durable_lint.rules import RULES
from durable_lint.rules.finding import Applicability, Edit, Fix, Position, Related

from tests.linter.report.samples import MESSAGE, finding, run_of, write_review

SARIF = json.loads((Path(__file__).parent / "schemas" / "sarif-2.1.0.json").read_text("utf-8"))


@pytest.fixture
def review(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for variable in ("GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        monkeypatch.delenv(variable, raising=False)
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return write_review(tmp_path)


def text(output_format: str, *findings: object, failures: tuple[Failure, ...] = ()) -> str:
    run = run_of(*findings, failures=failures)  # type: ignore[arg-type]  # findings, as the callers show
    return "".join(report.render(output_format, run, Style()))


def test_json_has_ruffs_schema_and_the_related_places(review: Path) -> None:
    (item,) = json.loads(text("json", finding(review)))
    assert item["code"] == "LDC101"
    assert item["filename"] == str(review)
    assert item["location"] == {"row": 41, "column": 5}
    assert item["end_location"] == {"row": 41, "column": 12}
    assert item["message"] == MESSAGE
    assert item["url"] is None  # until the site has an address
    assert item["noqa_row"] == 41
    assert item["fix"] == {
        "applicability": "safe",
        "message": "register it in a `terminal_scope`",
        "edits": [
            {
                "content": "pass",
                "location": {"row": 41, "column": 5},
                "end_location": {"row": 42, "column": 22},
            }
        ],
    }
    assert item["related"] == [
        {
            "filename": str(review),
            "location": {"row": 38, "column": 16},
            "end_location": {"row": 38, "column": 33},
            "message": "can suspend here",
            "call": "callback.result",
        }
    ]


def test_json_of_a_finding_without_a_fix_has_null_and_a_clean_run_is_an_empty_list(review: Path) -> None:
    assert json.loads(text("json", finding(review, fix=None)))[0]["fix"] is None
    assert json.loads(text("json")) == []


def test_an_edit_in_another_file_names_it(review: Path, tmp_path: Path) -> None:
    edit = Edit(Position(1, 1), Position(1, 1), "x", path=tmp_path / "managers.py")
    (item,) = json.loads(text("json", finding(review, fix=Fix(Applicability.SAFE, "m", (edit,)))))
    assert item["fix"]["edits"][0]["filename"] == str(tmp_path / "managers.py")


def sarif(*findings: object, failures: tuple[Failure, ...] = ()) -> dict[str, object]:
    document = json.loads(text("sarif", *findings, failures=failures))
    jsonschema.Draft4Validator(SARIF).validate(document)
    (run,) = document["runs"]
    assert isinstance(run, dict)
    return run


def test_the_schema_would_notice_a_wrong_sarif_log(review: Path) -> None:
    document = json.loads(text("sarif", finding(review)))
    document["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"]["startLine"] = 0
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft4Validator(SARIF).validate(document)


def test_sarif_is_valid_when_clean_with_findings_and_with_failures(review: Path, tmp_path: Path) -> None:
    assert sarif()["results"] == []
    other = Related(tmp_path.parent / "elsewhere.py", Position(2, 1), Position(3, 9), "")
    odd = finding(review, code="LDC404", fix=None, related=(other,))
    run = sarif(finding(review), odd, failures=(Failure(review, "can't be read"), Failure(None, "bad key")))
    results = run["results"]
    assert isinstance(results, list)
    assert [result["ruleId"] for result in results] == ["LDC101", "LDC404"]
    invocations = run["invocations"]
    assert isinstance(invocations, list)
    assert invocations[0]["executionSuccessful"] is False
    assert len(invocations[0]["toolExecutionNotifications"]) == 2


def test_sarif_says_everything_that_code_scanning_shows(review: Path) -> None:
    run = sarif(finding(review))
    assert run["columnKind"] == "unicodeCodePoints"
    tool, results = run["tool"], run["results"]
    assert isinstance(tool, dict)
    assert isinstance(results, list)
    rules = tool["driver"]["rules"]
    assert [rule["id"] for rule in rules] == list(RULES)
    assert all(rule["help"]["markdown"] and rule["fullDescription"]["text"] for rule in rules)
    (result,) = results
    assert rules[result["ruleIndex"]]["id"] == result["ruleId"] == "LDC101"
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "orders/review.py", "uriBaseId": "SRCROOT"}
    assert place["region"] == {
        "startLine": 41,
        "startColumn": 5,
        "endLine": 41,
        "endColumn": 12,
        "snippet": {"text": "finally"},
    }
    assert "return callback.result()" not in place["contextRegion"]["snippet"]["text"]
    assert "terminate(vm)" in place["contextRegion"]["snippet"]["text"]
    assert result["relatedLocations"][0]["message"]["text"] == "callback.result: can suspend here"
    (change,) = result["fixes"][0]["artifactChanges"]
    assert change["replacements"][0]["insertedContent"]["text"] == "pass"
    assert result["partialFingerprints"]


def fingerprint(path: Path, row: int) -> object:
    (result,) = json.loads(
        text("sarif", finding(path, start=Position(row, 5), end=Position(row, 12), related=()))
    )["runs"][0]["results"]
    return result["partialFingerprints"]


def test_a_fingerprint_stays_when_lines_move_and_code_is_reformatted(review: Path) -> None:
    review.write_text(
        "def f(c, vm):\n    try:\n        c.wait(1)\n    finally:\n        stop(vm, force=True)\n"
    )
    before = fingerprint(review, 4)
    review.write_text(
        "import x\n\n\ndef f(c, vm):\n    try:\n        c.wait(1)\n\n    finally:  # stop it\n"
        "        stop(\n            vm,\n            force=True,\n        )\n"
    )
    assert fingerprint(review, 8) == before
    review.write_text(
        "def f(c, vm):\n    try:\n        c.wait(1)\n    finally:\n        stop(vm, force=False)\n"
    )
    assert fingerprint(review, 4) != before


def test_two_findings_of_the_same_code_have_two_fingerprints(review: Path) -> None:
    block = "    try:\n        c.wait(1)\n    finally:\n        stop(vm)\n"
    review.write_text("def f(c, vm):\n" + block + block)
    places = [finding(review, start=Position(row, 5), end=Position(row, 12), related=()) for row in (4, 8)]
    results = json.loads(text("sarif", *places))["runs"][0]["results"]
    assert len({json.dumps(result["partialFingerprints"]) for result in results}) == 2
    assert len({item["fingerprint"] for item in json.loads(text("gitlab", *places))}) == 2


def test_github_annotates_the_line_and_escapes_what_the_command_grammar_needs(review: Path) -> None:
    assert text("github", finding(review)) == (
        "::error title=durable-lint (LDC101),file=orders/review.py,line=41,endLine=41,col=5,endColumn=12"
        f"::orders/review.py:41:5: LDC101 {MESSAGE}\n"
    )
    odd = text("github", finding(review.with_name("a,b:c%.py"), message="100%\nsure", related=()))
    assert "file=orders/a%2Cb%3Ac%25.py," in odd
    assert odd.endswith("LDC101 100%25%0Asure\n")
    over_lines = text("github", finding(review, end=Position(42, 3)))
    assert "line=41,endLine=42::" in over_lines
    assert text("github", failures=(Failure(review, "can't be read"),)).startswith(
        "::error title=durable-lint,file=orders/review.py::orders/review.py: can't be read"
    )


def test_paths_are_from_the_repository_when_run_in_a_folder_of_it(
    review: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path / "orders")
    assert ",file=orders/review.py," in text("github", finding(review))
    assert json.loads(text("gitlab", finding(review)))[0]["location"]["path"] == "orders/review.py"


@pytest.mark.parametrize("variable", ["GITHUB_WORKSPACE", "CI_PROJECT_DIR"])
def test_paths_are_from_the_folder_that_the_ci_server_names(
    review: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, str(tmp_path / "orders"))
    assert ",file=orders/review.py," in text("github", finding(review))  # not run in it
    monkeypatch.chdir(tmp_path / "orders")
    assert ",file=review.py," in text("github", finding(review))


def test_json_names_the_row_where_a_suppression_is_best_written(review: Path) -> None:
    rows = {
        tuple(rows): json.loads(text("json", finding(review, noqa_rows=frozenset(rows))))[0]["noqa_row"]
        for rows in ([], [40, 41], [38, 39])
    }
    assert rows == {(): 41, (40, 41): 41, (38, 39): 38}


def test_gitlab_has_what_code_quality_needs(review: Path) -> None:
    (item,) = json.loads(text("gitlab", finding(review)))
    assert item["description"] == f"LDC101: {MESSAGE}"
    assert item["check_name"] == "LDC101"
    assert item["severity"] in {"info", "minor", "major", "critical", "blocker"}
    assert item["location"]["positions"]["begin"] == {"line": 41, "column": 5}
    assert not item["location"]["path"].startswith("./")


def test_junit_parses_and_counts_failures_errors_and_a_clean_run(review: Path) -> None:
    odd = finding(review, message='<a> & "b" \x1b')
    root = ElementTree.fromstring(text("junit", finding(review), odd, failures=(Failure(None, "bad <key>"),)))
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("3", "2", "1")
    cases = list(root.iter("testcase"))
    assert [case.get("line") for case in cases] == ["41", "41", None]
    assert cases[0].get("classname") == "orders/review.py"
    failure = cases[1].find("failure")
    assert failure is not None
    assert failure.get("message") == '<a> & "b" \N{REPLACEMENT CHARACTER}'
    clean = ElementTree.fromstring(text("junit"))
    assert (clean.get("tests"), clean.get("failures")) == ("1", "0")
    assert len(list(clean.iter("testcase"))) == 1
