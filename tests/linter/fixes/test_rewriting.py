"""What is fixed in one run, what is safe, and what is taken back."""

from __future__ import annotations

from textwrap import dedent, indent
from typing import TYPE_CHECKING

import pytest
from durable_lint.config.settings import Settings
from durable_lint.linter import Linter
from durable_lint.rewrite import Rewriter
from durable_lint.rules.finding import Applicability

if TYPE_CHECKING:
    from pathlib import Path

    from durable_lint.rewrite import Rewritten
    from durable_lint.rules.finding import Finding

HEAD = """\
import contextlib

import boto3
from aws_durable_execution_sdk_python import DurableContext, durable_execution
from aws_durable_execution_sdk_python.config import CompletionConfig, MapConfig

ec2 = boto3.client("ec2")


"""


def rewrite(folder: Path, source: str, *, unsafe: bool = True) -> Rewritten:
    path = folder / "module.py"
    linter = Linter(Settings(root=folder, src=(folder,)), with_fixes=True)
    return Rewriter(linter, unsafe_fixes=unsafe).rewrite(path, (HEAD + dedent(source)).encode())


def lint(folder: Path, source: str) -> tuple[Finding, ...]:
    path = folder / "module.py"
    linter = Linter(Settings(root=folder, src=(folder,)), with_fixes=True)
    return linter.lint(path, (HEAD + dedent(source)).encode()).findings


def test_a_manager_is_mended_in_the_file_where_it_is_defined(tmp_path: Path) -> None:
    (tmp_path / "held.py").write_text(
        dedent("""\
        from contextlib import contextmanager

        import boto3

        ec2 = boto3.client("ec2")


        @contextmanager
        def held(context, vm):
            try:
                yield vm
            finally:
                ec2.terminate_instances(InstanceIds=[vm])
        """)
    )
    user = dedent("""\
        from aws_durable_execution_sdk_python import DurableContext, durable_execution
        from held import held


        @durable_execution
        def handler(event, context: DurableContext):
            with held(context, "a"), held(context, "b"):
                context.wait(1)
        """)
    path = tmp_path / "handler.py"
    path.write_text(user)
    linter = Linter(Settings(root=tmp_path, src=(tmp_path,)), with_fixes=True)
    done = Rewriter(linter).rewrite(path)
    assert set(done.contents) == {tmp_path / "held.py"}
    assert b"with terminal_scope(context, name=" in done.contents[tmp_path / "held.py"]
    assert not done.result.findings
    alone = Rewriter(Linter(Settings(root=tmp_path, src=(tmp_path,)), with_fixes=True), only=path)
    assert not alone.rewrite(path).contents, "an editor fixes the open file alone"


def test_a_suppressed_finding_is_not_fixed(tmp_path: Path) -> None:
    done = rewrite(
        tmp_path,
        """\
        @durable_execution
        def handler(event, context: DurableContext):
            try:
                context.wait(1)
            finally:  # noqa: LDC101
                ec2.terminate_instances()
        """,
    )
    assert not done.contents


@pytest.mark.parametrize(
    ("around", "applicability"),
    [
        ("except Exception:", Applicability.SAFE),
        ("except ValueError:", Applicability.UNSAFE),
        ("except (Exception, ValueError):", Applicability.UNSAFE),
    ],
)
def test_a_scope_under_a_narrower_handler_is_unsafe(
    around: str, applicability: Applicability, tmp_path: Path
) -> None:
    (finding,) = lint(
        tmp_path,
        f"""\
        @durable_execution
        def handler(event, context: DurableContext):
            try:
                try:
                    context.wait(1)
                finally:
                    ec2.terminate_instances()
            {around}
                return "handled"
        """,
    )
    assert finding.fix is not None
    assert finding.fix.applicability is applicability


def test_a_scope_beside_a_suppress_is_unsafe(tmp_path: Path) -> None:
    (finding,) = lint(
        tmp_path,
        """\
        class Lease:
            def close(self):
                ec2.terminate_instances()


        @durable_execution
        def handler(event, context: DurableContext):
            with contextlib.suppress(ValueError), contextlib.closing(Lease()):
                context.wait(1)
        """,
    )
    assert finding.fix is not None
    assert finding.fix.applicability is Applicability.UNSAFE


@pytest.mark.parametrize(
    ("config", "applicability"),
    [
        ("", Applicability.UNSAFE),
        (
            ", config=MapConfig(completion_config=CompletionConfig.all_completed())",
            Applicability.SAFE,
        ),
    ],
)
def test_a_scope_in_a_branch_that_can_be_abandoned_is_unsafe(
    config: str, applicability: Applicability, tmp_path: Path
) -> None:
    found = lint(
        tmp_path,
        f"""\
        def branch(child: DurableContext, item, index, items):
            try:
                child.wait(1)
            finally:
                ec2.terminate_instances()


        @durable_execution
        def handler(event, context: DurableContext):
            context.map([1], branch{config})
        """,
    )
    (fix,) = [finding.fix for finding in found if finding.code == "LDC101"]
    assert fix is not None
    assert fix.applicability is applicability


def test_only_safe_fixes_are_applied_unless_unsafe_ones_are_asked_for(tmp_path: Path) -> None:
    source = """\
        @durable_execution
        def handler(event, context: DurableContext):
            try:
                context.wait(1)
            except BaseException:
                return None
            finally:
                ec2.terminate_instances()
        """
    safe = rewrite(tmp_path, source, unsafe=False)
    assert [finding.code for finding in safe.fixed] == ["LDC101"]
    assert [finding.code for finding in safe.result.findings] == ["LDC201"]
    assert sorted(finding.code for finding in rewrite(tmp_path, source).fixed) == ["LDC101", "LDC201"]


def test_a_fix_that_brings_a_new_finding_is_taken_back_and_says_so(tmp_path: Path) -> None:
    source = """\
        @durable_execution
        def handler(event, context: DurableContext):
            with contextlib.ExitStack() as stack:
                host = context.step(lambda _: "host", name="host")
                context.wait(1)
                stack.callback(lambda: ec2.terminate_instances(InstanceIds=[host]))
                context.wait(1)
        """
    done = rewrite(tmp_path, source)
    assert not done.contents
    (left,) = done.result.findings
    assert left.fix is None
    assert left.no_fix == "the rewritten code would have a new finding, LDC404"


def test_nested_and_adjacent_blocks_have_names_of_their_own(tmp_path: Path) -> None:
    done = rewrite(
        tmp_path,
        """\
        @durable_execution
        def ship(event, context: DurableContext):
            try:
                try:
                    context.wait(1)
                finally:
                    ec2.terminate_instances(InstanceIds=["inner"])
            finally:
                ec2.terminate_instances(InstanceIds=["outer"])
            try:
                context.wait(1)
            finally:
                ec2.terminate_instances(InstanceIds=["next"])
        """,
    )
    (after,) = done.contents.values()
    assert not done.result.findings
    for header in (
        b'with terminal_scope(context, name="ship") as terminal:',
        b'with terminal_scope(context, name="ship-2") as terminal_2:',
        b'with terminal_scope(context, name="ship-3") as terminal',
    ):
        assert after.count(header) == 1


def test_code_with_a_scope_is_mended_too(tmp_path: Path) -> None:
    done = rewrite(
        tmp_path,
        """\
        from durable_runtime import terminal_scope


        @durable_execution
        def handler(event, context: DurableContext):
            def body(child, terminal):
                context.wait(1)

            terminal_scope(context, body)
            with terminal_scope(context, name="all") as terminal:
                for vm in event:
                    terminal.cleanup(lambda _: ec2.terminate_instances(InstanceIds=[vm]), name="end")
                context.wait(1)
        """,
    )
    (after,) = done.contents.values()
    assert sorted(finding.code for finding in done.fixed) == ["LDC401", "LDC403"]
    assert b"        child.wait(1)" in after
    assert b"lambda _, vm=vm: ec2" in after


def scoped(body: str) -> str:
    """Return a handler that registers on a scope."""
    return f"""\
from aws_durable_execution_sdk_python import StepContext
from durable_runtime import terminal_scope


def tell(ctx: DurableContext, what: str) -> None:
    ctx.step(lambda _: ec2.create_tags(Tags=[what]), name="tell")


def far(_):
    ec2.terminate_instances()


@durable_execution
def handler(event: dict[str, str], context: DurableContext) -> None:
    with terminal_scope(context, name="all") as terminal:
{indent(dedent(body), " " * 8)}"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            """\
            terminal.cleanup(lambda _: context.wait(1), name="end", config=None)
            """,
            """\
            terminal.cleanup_in_context(lambda action_context: action_context.wait(1), name="end", config=None)
            """,
        ),
        (
            """\
            def undo(step_context: StepContext) -> None:
                step_context.logger.info("undoing")
                ec2.terminate_instances()
                context.step(lambda context: ec2.stop_instances(), name="stop")
                tell(context, "undone")

            terminal.compensate(func=undo)
            """,
            """\
            def undo(action_context: DurableContext) -> None:
                action_context.logger.info("undoing")
                action_context.step(lambda _: ec2.terminate_instances(), name="terminate-instances")
                action_context.step(lambda context: ec2.stop_instances(), name="stop")
                tell(action_context, "undone")

            terminal.compensate_in_context(func=undo)
            """,
        ),
    ],
    ids=["lambda", "def"],
)
def test_an_action_that_makes_durable_calls_gets_a_context_of_its_own(
    body: str, expected: str, tmp_path: Path
) -> None:
    done = rewrite(tmp_path, scoped(body))
    (after,) = done.contents.values()
    assert not done.result.findings, [f.no_fix for f in done.result.findings]
    assert indent(dedent(expected), " " * 8) in after.decode()
    assert b"StepContext" not in after or b"def undo" not in after
    assert not rewrite(tmp_path, scoped(body), unsafe=False).contents, "other code runs, so it is unsafe"


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (
            'terminal.cleanup(lambda _: context.wait(1), name="end", config=ONCE)',
            "configuration has no place",
        ),
        (
            'vm = terminal.acquire(launch, release=lambda vm, _: context.wait(1), name="vm")',
            "no context form",
        ),
        ("terminal.cleanup(lambda sc: context.step(lambda _: ec2.stop(sc)))", "more than logging"),
        ("terminal.cleanup(lambda _, vm=1: context.wait(vm))", "other parameters"),
        ("terminal.cleanup(lambda _: ec2.stop(vm=context.wait(1)))", "made again by a replay"),
        ("terminal.cleanup(functools.partial(tell, context))", "written elsewhere"),
        ("end = lambda: context.wait(1)\nterminal.cleanup(lambda _: end())", "other than by its name"),
        ("def end(_):\n    context.wait(1)\nterminal.cleanup(end)\nend(None)", "used elsewhere"),
    ],
)
def test_an_action_is_left_where_a_context_of_its_own_would_not_do(
    body: str, why: str, tmp_path: Path
) -> None:
    done = rewrite(tmp_path, scoped("import functools\n" + body))
    assert not done.contents
    found = [finding for finding in done.result.findings if finding.code == "LDC402"]
    assert found and all(finding.fix is None for finding in found)
    assert why in found[0].no_fix


def test_a_late_registration_moves_up_with_its_comments_and_its_function(tmp_path: Path) -> None:
    done = rewrite(
        tmp_path,
        scoped("""\
            vm = context.step(lambda _: launch(), name="vm")
            disk = context.step(lambda _: attach(), name="disk")
            # give back
            terminal.cleanup(
                lambda _: ec2.terminate_instances(InstanceIds=[vm]), name="end"
            )  # first

            def detach(_):
                ec2.detach_volume(disk)

            terminal.cleanup(detach)
            net = context.step(lambda _: connect(), name="net")
            context.wait(1)

            # the net
            def disconnect(_):
                ec2.delete_subnet(net)

            terminal.cleanup(disconnect)
            """),
    )
    (after,) = done.contents.values()
    assert [finding.code for finding in done.fixed] == ["LDC404", "LDC404"]
    assert not done.result.findings
    expected = """\
            vm = context.step(lambda _: launch(), name="vm")
            # give back
            terminal.cleanup(
                lambda _: ec2.terminate_instances(InstanceIds=[vm]), name="end"
            )  # first
            disk = context.step(lambda _: attach(), name="disk")

            def detach(_):
                ec2.detach_volume(disk)

            terminal.cleanup(detach)
            net = context.step(lambda _: connect(), name="net")

            # the net
            def disconnect(_):
                ec2.delete_subnet(net)

            terminal.cleanup(disconnect)
            context.wait(1)
"""
    assert indent(dedent(expected), " " * 8) in after.decode()


@pytest.mark.parametrize(
    ("between", "why"),
    [
        ('name = context.step(lambda _: "x", name="name")', "it uses `name`, which is bound"),
        ("vm.update(context.wait(1))", "it uses `vm`, which is bound or changed"),
        ('context.wait(1)\nterminal.cleanup(far, name="far")', "pass another registration"),
        ("context.wait(1)\nif not vm:\n    return", "leave the block by itself"),
    ],
)
def test_a_late_registration_stays_where_it_would_mean_something_else(
    between: str, why: str, tmp_path: Path
) -> None:
    body = f'name = "x"\nvm = context.step(lambda _: launch(), name="vm")\n{between}\n'
    body += "terminal.cleanup(lambda _: ec2.terminate_instances(InstanceIds=[vm]), name=name)\n"
    done = rewrite(tmp_path, scoped(body))
    assert not done.contents
    (left,) = (finding for finding in done.result.findings if finding.code == "LDC404")
    assert left.fix is None
    assert why in left.no_fix


@pytest.mark.parametrize(
    ("top", "expected"),
    [
        (
            "from durable_runtime import TerminalScopeConfig\nfrom aws import x\n",
            "from durable_runtime import TerminalScopeConfig, terminal_scope\nfrom aws import x\n",
        ),
        (
            "from durable_runtime import terminal_scopes\n",
            "from durable_runtime import terminal_scope, terminal_scopes\n",
        ),
        (
            "from durable_runtime import (\n    ABC,\n)\n",
            "from durable_runtime import terminal_scope\nfrom durable_runtime import (\n    ABC,\n)\n",
        ),
        ("# ours\nimport zebra\n", "# ours\nimport zebra\nfrom durable_runtime import terminal_scope\n"),
        ("import os\nx = 1\n", "import os\n\nfrom durable_runtime import terminal_scope\n\nx = 1\n"),
        ("import held\n", "from durable_runtime import terminal_scope\n\nimport held\n"),
        ('"""Doc."""\nx = 1\n', '"""Doc."""\n\nfrom durable_runtime import terminal_scope\n\nx = 1\n'),
        (
            "#!/usr/bin/env python\nx = 1\n",
            "#!/usr/bin/env python\nfrom durable_runtime import terminal_scope\n",
        ),
    ],
)
def test_the_import_stands_where_it_would_be_sorted_to(top: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / "held.py").write_text("")
    path = tmp_path / "module.py"
    body = "\n\ndef work(context):\n    try:\n        context.wait_for_callback(1)\n    finally:\n        release()"
    linter = Linter(Settings(root=tmp_path, src=(tmp_path,)), with_fixes=True)
    done = Rewriter(linter).rewrite(path, (top + body).encode())
    after = done.contents[path].decode()
    assert after.startswith(expected), after
    assert after.endswith("        context.wait_for_callback(1)"), "the file still ends without a line end"


def test_the_type_of_an_action_is_imported_where_nothing_imports_it(tmp_path: Path) -> None:
    source = dedent("""\
        from aws_durable_execution_sdk_python import durable_execution
        import boto3


        @durable_execution
        def handler(event: dict[str, str], context) -> None:
            try:
                context.wait(1)
            finally:
                boto3.client("ec2").terminate_instances()
                context.wait(2)
                print("gone")""")
    path = tmp_path / "module.py"
    linter = Linter(Settings(root=tmp_path, src=(tmp_path,)), with_fixes=True)
    after = Rewriter(linter).rewrite(path, source.encode()).contents[path].decode()
    assert "from aws_durable_execution_sdk_python import DurableContext, durable_execution\n" in after
    assert "def clean_up(action_context: DurableContext) -> None:" in after
    assert after.endswith('    finally:\n        print("gone")')
