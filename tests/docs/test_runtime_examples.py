"""The examples under docs/examples/runtime run through success, failure and suspension, with AWS replaced."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any  # AWS parameters and answers are plain JSON

import boto3
import pytest
from aws_durable_execution_sdk_python.config import Duration
from botocore.exceptions import ClientError
from durable_lint import lint
from stage import SUSPENDED, Played, Rejection, play, unordered

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples" / "runtime"
Answer = Callable[[dict[str, Any]], dict[str, Any]]


class Cloud:
    """AWS for one example: `log` has the calls, checked against the service's model; `answers` the replies.

    Has state because that is what a cloud is.
    """

    def __init__(self, log: list[str]) -> None:
        self.log = log
        self.answers: dict[str, Answer] = {}

    def client(self, service: str, **_: object) -> Any:
        client: Any = boto3.session.Session().client(
            service, region_name="eu-west-1", aws_access_key_id="x", aws_secret_access_key="x"
        )
        client.meta.events.register("provide-client-params.*.*", self._remember)
        client.meta.events.register("before-call.*.*", self._answer)
        return client

    def _remember(self, params: dict[str, Any], context: dict[str, Any], **_: object) -> None:
        context["params"] = params

    def _answer(
        self, model: Any, context: dict[str, Any], **_: object
    ) -> tuple[SimpleNamespace, dict[str, Any]]:
        params = context["params"]
        self.log.append(f"{model.name} {_subject(params)}".strip())
        answer = self.answers[model.name](params) if model.name in self.answers else {}
        return SimpleNamespace(status_code=200, headers={}), answer


def _subject(params: dict[str, Any]) -> str:
    for key in ("microvmIdentifier", "FunctionName", "Name"):
        if key in params:
            return str(params[key])
    for key in ("Item", "Key"):
        if isinstance(params.get(key), dict):
            return str(params[key]["id"]["S"])
    if "MessageBody" in params:
        return str(json.loads(params["MessageBody"])["kind"])
    return str(params.get("Key", ""))


def refused(code: str, operation: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "no"}}, operation)


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> Cloud:
    made = Cloud([])
    monkeypatch.setattr(boto3, "client", made.client)
    return made


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def actions(played: Played) -> list[str]:
    return [name for name in played.names if ".cleanup." in name or ".compensate." in name]


def test_every_example_has_a_test_here() -> None:
    tested = Path(__file__).read_text(encoding="utf-8")
    assert [
        path.stem for path in sorted(EXAMPLES.glob("*.py")) if f'example("{path.stem}")' not in tested
    ] == []


# ---------------------------------------------------------------- microvm.py

REVIEW = {"repository": "shop", "commit": "4711"}


def review(cloud: Cloud, answer: str | Rejection) -> Played:
    cloud.answers["RunMicrovm"] = lambda _: {"microvmId": "vm-1"}
    return play(example("microvm").handler, REVIEW, log=cloud.log, answers={"review-complete": answer})


def test_the_microvm_lives_until_the_review_is_complete(cloud: Cloud) -> None:
    played = review(cloud, "approved")
    assert played.log == ["RunMicrovm", "SendMessage review", SUSPENDED, "TerminateMicrovm vm-1"]
    assert played.result == {"commit": "4711", "verdict": "approved"}


def test_a_review_that_fails_is_withdrawn_before_its_microvm_is_terminated(cloud: Cloud) -> None:
    played = review(cloud, Rejection("reviewer left"))
    assert played.log[2:] == [SUSPENDED, "SendMessage withdraw", "TerminateMicrovm vm-1"]
    assert (played.status, played.error) == ("FAILED", "CallbackExternalError")


def test_a_dispatch_that_may_have_arrived_is_withdrawn(cloud: Cloud) -> None:
    def dispatch(params: dict[str, Any]) -> dict[str, Any]:
        if json.loads(params["MessageBody"])["kind"] == "review":
            raise refused("InternalError", "SendMessage")
        return {}

    cloud.answers["SendMessage"] = dispatch
    played = review(cloud, "never asked for")
    assert played.log[-2:] == ["SendMessage withdraw", "TerminateMicrovm vm-1"]
    assert (played.status, played.error) == ("FAILED", "StepError")


# ---------------------------------------------------------------- lock.py


def test_the_lock_is_held_over_every_suspension_and_released_once(cloud: Cloud) -> None:
    played = play(example("lock").handler, {"index": "books", "shards": ["1", "2"]}, log=cloud.log)
    assert played.log == ["PutItem index/books", SUSPENDED, SUSPENDED, "DeleteItem index/books"]
    assert played.result == ["books/1", "books/2"]


def test_while_somebody_else_holds_the_lock_the_work_waits_and_releases_nothing(cloud: Cloud) -> None:
    holders = ["somebody else"]

    def put(_: dict[str, Any]) -> dict[str, Any]:
        if holders:
            holders.pop()
            raise refused("ConditionalCheckFailedException", "PutItem")
        return {}

    cloud.answers["PutItem"] = put
    played = play(example("lock").handler, {"index": "books", "shards": ["1"]}, log=cloud.log)
    assert played.log == [
        "PutItem index/books",
        SUSPENDED,
        "PutItem index/books",
        SUSPENDED,
        "DeleteItem index/books",
    ]


def test_a_lock_that_was_lost_with_its_lease_is_no_failure(cloud: Cloud) -> None:
    module = example("lock")
    lost = module.dynamodb.exceptions.ConditionalCheckFailedException({"Error": {}}, "DeleteItem")

    def delete(_: dict[str, Any]) -> dict[str, Any]:
        raise lost

    cloud.answers["DeleteItem"] = delete
    assert play(module.handler, {"index": "books", "shards": []}, log=cloud.log).status == "SUCCEEDED"


# ---------------------------------------------------------------- saga.py


def trip(*, failing: str = "") -> tuple[list[str], Played]:
    called: list[str] = []

    def service(name: str) -> Callable[[Any, Any], Any]:
        def function(_event: Any, _context: Any) -> str:
            called.append(name)
            if name == failing:
                raise RuntimeError("sold out")
            return f"{name}-1"

        return function

    names = [f"{part}-{verb}" for part in ("flight", "hotel", "payment") for verb in ("book", "cancel")]
    played = play(
        example("saga").handler,
        {"id": "t1", "traveller": "ada"},
        functions={name: service(name) for name in names},
    )
    return called, played


def test_a_trip_that_works_undoes_nothing() -> None:
    called, played = trip()
    assert called == ["flight-book", "hotel-book", "payment-book"]
    assert played.result["bookings"]["hotel"] == "hotel-book-1"


def test_a_payment_that_fails_undoes_all_bookings_newest_first() -> None:
    called, played = trip(failing="payment-book")
    assert called[3:] == ["payment-cancel", "hotel-cancel", "flight-cancel"]
    assert (played.status, played.error) == ("FAILED", "InvokeError")


def test_an_undo_that_fails_does_not_stop_the_others() -> None:
    called, played = trip(failing="hotel-cancel")
    assert called == ["flight-book", "hotel-book", "payment-book"]  # nothing failed, nothing undone
    assert played.status == "SUCCEEDED"


# ---------------------------------------------------------------- map_items.py


def test_each_image_has_its_scratch_deleted_when_it_is_done(cloud: Cloud) -> None:
    played = play(example("map_items").resize_all, {"keys": ["a.png", "b.png"]}, log=cloud.log)
    before, after = unordered(played.log)
    assert before == ["PutObject resize/0/a.png", "PutObject resize/1/b.png"]
    assert after == ["DeleteObject resize/0/a.png", "DeleteObject resize/1/b.png"]
    assert played.result == ["small/a.png", "small/b.png"]


def test_holds_of_abandoned_branches_are_released_too(cloud: Cloud) -> None:
    order = {"id": "o1", "providers": ["red", "green", "blue"]}
    answers = {"offer-of-red": "100", "offer-of-blue": "90"}
    played = play(example("map_items").first_offers, order, log=cloud.log, answers=answers)
    assert sorted(played.log[:3]) == ["Invoke blue-hold", "Invoke green-hold", "Invoke red-hold"]
    assert played.log[-3:] == ["Invoke blue-release", "Invoke green-release", "Invoke red-release"]
    assert played.result == {"offers": ["red: 100", "blue: 90"], "abandoned": [1]}


# ---------------------------------------------------------------- approval.py

PURCHASE = {"id": "p1", "amount": 100}
ASKED = ["PutItem p1", "CreateSchedule remind-p1", "Publish", SUSPENDED]


def purchase(cloud: Cloud, **answers: str | Rejection) -> Played:
    return play(example("approval").handler, PURCHASE, log=cloud.log, answers=answers)


def test_an_approved_purchase_keeps_its_budget(cloud: Cloud) -> None:
    played = purchase(cloud, approve="yes, by ada")
    assert played.log == [*ASKED, "DeleteSchedule remind-p1"]
    assert played.result == "bought, yes, by ada"


def test_a_withdrawn_purchase_is_cancelled_and_gives_its_budget_back(cloud: Cloud) -> None:
    played = purchase(cloud, withdraw="not needed")
    assert played.log == [*ASKED, "DeleteItem p1", "DeleteSchedule remind-p1"]
    assert (played.status, played.error) == ("FAILED", "ScopeCancelled")


def test_a_refused_purchase_gives_its_budget_back(cloud: Cloud) -> None:
    played = purchase(cloud, approve=Rejection("too dear"))
    assert played.log == [*ASKED, "DeleteItem p1", "DeleteSchedule remind-p1"]
    assert played.status == "FAILED"


def test_a_purchase_nobody_answers_in_time_gives_its_budget_back(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = example("approval")
    monkeypatch.setattr(module, "TIME_LIMIT", Duration.from_seconds(1))
    played = play(module.handler, PURCHASE, log=cloud.log)
    assert played.log == [*ASKED, "DeleteItem p1", "DeleteSchedule remind-p1"]
    assert played.status == "FAILED"


# ---------------------------------------------------------------- all of them


def test_the_examples_are_clean_for_the_linter() -> None:
    found = [finding for path in sorted(EXAMPLES.glob("*.py")) for finding in lint(path.read_bytes(), path)]
    assert [f"{finding.path.name}:{finding.start.row} {finding.code}" for finding in found] == []


def test_the_examples_pass_mypy_strict() -> None:
    checked = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            "--strict",
            "--ignore-missing-imports",
            *map(str, EXAMPLES.glob("*.py")),
        ],
        cwd=EXAMPLES.parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
