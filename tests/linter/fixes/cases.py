"""Handlers that a rewrite has to get right, or leave alone. Each is run before and after (`test_cases.py`).

A case is the source of `h(event, context)` and of what it needs. `why` is what the refusal must say; None where the
case must be fixed. What a handler does to the outside is told to `note(NAME, text)`; it suspends only when
`event["pause"]` is set and fails only when `event["fail"]` is.
"""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent, indent

PAUSE = 'if event["pause"]:\n    context.wait(Duration.from_seconds(1), name="pause")'
FAIL = 'if event["fail"]:\n    raise ValueError("failed")'


@dataclass(frozen=True)
class Case:
    name: str
    source: str
    why: str | None = None
    expected: tuple[str, ...] = ()
    """What the new source must contain."""

    compare_error: bool = True
    """False where the contract improves on the error (the body's stays the primary one)."""


def case(
    name: str, body: str, why: str | None = None, *expected: str, before: str = "", compare_error: bool = True
) -> Case:
    """Return a case from the body of its handler, in which PAUSE and FAIL stand for the two of them."""
    lines = []
    for line in dedent(body).strip("\n").split("\n"):
        margin = line[: len(line) - len(line.lstrip())]
        text = {"PAUSE": PAUSE, "FAIL": FAIL}.get(line.strip(), line.strip())
        lines.append(indent(text, margin) if line.strip() else "")
    written = "\n".join(lines)
    source = f"{dedent(before).strip()}\n\n\ndef {name}(event, context: DurableContext):\n{indent(written, '    ')}\n"
    return Case(name, source.replace("NAME", f'"{name}"').strip() + "\n", why, expected, compare_error)


CASES = [
    # ------------------------------------------------ the context
    case(
        "context_under_another_name",
        """
        stage = context
        vm = stage.step(lambda _: "vm", name="take")
        try:
            if event["pause"]:
                stage.wait(Duration.from_seconds(1), name="pause")
            FAIL
        finally:
            stage.step(lambda _: note(NAME, f"end {vm}"), name="end")
        """,
        None,
        "terminal_scope(stage, ",
    ),
    case(
        "context_bound_inside_the_block_is_replaced_by_the_parameter",
        """
        try:
            stage = context
            if event["pause"]:
                stage.wait(Duration.from_seconds(1), name="pause")
            FAIL
        finally:
            note(NAME, "end")
        """,
        None,
        "terminal_scope(context, ",
    ),
    case(
        "helper_that_is_given_the_context",
        """
        try:
            return helper_that_is_given_the_context_work(context, event)
        finally:
            note(NAME, "end")
        """,
        None,
        "terminal_scope(context, ",
        before="""
        def helper_that_is_given_the_context_work(stage, event):
            if event["pause"]:
                stage.wait(Duration.from_seconds(1), name="pause")
            return stage.step(lambda _: "worked", name="work")
        """,
    ),
    case(
        "callback_made_before_the_block",
        """
        callback = context.create_callback(name="answer") if "ask" in event else None
        try:
            if callback is not None:
                return callback.result()
            PAUSE
            FAIL
            return "not asked"
        finally:
            note(NAME, "end")
        """,
    ),
    case(
        "context_that_may_be_missing",
        """
        return context_that_may_be_missing_work(event, context) or context_that_may_be_missing_work(event)
        """,
        "None",
        before="""
        def context_that_may_be_missing_work(event, stage: DurableContext | None = None):
            try:
                if stage is not None and event["pause"]:
                    stage.wait(Duration.from_seconds(1), name="pause")
            finally:
                note(NAME, "end")
        """,
    ),
    case(
        "context_that_is_known_to_be_there",
        """
        return context_that_is_known_to_be_there_work(event, context) or context_that_is_known_to_be_there_work(event)
        """,
        before="""
        def context_that_is_known_to_be_there_work(event, stage: DurableContext | None = None):
            if stage is None:
                return "none"
            try:
                if event["pause"]:
                    stage.wait(Duration.from_seconds(1), name="pause")
            finally:
                note(NAME, "end")
        """,
    ),
    case(
        "context_that_is_asserted",
        """
        return context_that_is_asserted_work(event, stage=context)
        """,
        before="""
        def context_that_is_asserted_work(event, *, stage: "Optional[DurableContext]" = None):
            assert stage is not None
            try:
                if event["pause"]:
                    stage.wait(Duration.from_seconds(1), name="pause")
                return "done"
            finally:
                note(NAME, "end")
        """,
    ),
    case(
        "context_that_is_checked_around",
        """
        return context_that_is_checked_around_work(event, context)
        """,
        before="""
        def context_that_is_checked_around_work(event, stage: "DurableContext | None"):
            if stage is not None:
                try:
                    if event["pause"]:
                        stage.wait(Duration.from_seconds(1), name="pause")
                    return "done"
                finally:
                    note(NAME, "end")
            return "none"
        """,
    ),
    case(
        "context_that_the_block_needs_at_once",
        """
        return context_that_the_block_needs_at_once_work(event, context)
        """,
        before="""
        def context_that_the_block_needs_at_once_work(event, stage: DurableContext | None = None):
            try:
                stage.run_in_child_context(lambda inner: pause_if(inner, event), name="pause")
                return "done"
            finally:
                note(NAME, "end")
        """,
    ),
    case(
        "context_of_a_loop",
        """
        for stage in [context]:
            try:
                if event["pause"]:
                    stage.wait(Duration.from_seconds(1), name="pause")
                FAIL
            finally:
                note(NAME, "end")
        return "done"
        """,
    ),
    case(
        "context_under_two_names",
        """
        stage = context
        try:
            if event["pause"]:
                stage.wait(Duration.from_seconds(1), name="pause")
            PAUSE
            FAIL
        finally:
            note(NAME, "end")
        return "done"
        """,
    ),
    case(
        "context_of_a_class_that_declares_it",
        """
        return Job(context, "vm").run(event)
        """,
        None,
        "terminal_scope(self.stage, ",
        before="""
        class Job:
            stage: DurableContext
            vm: str

            def __init__(self, stage, vm):
                vars(self).update(stage=stage, vm=vm)

            def work(self, event):
                if event["pause"]:
                    self.stage.wait(Duration.from_seconds(1), name="pause")

            def run(self, event):
                try:
                    self.work(event)
                    return "done"
                finally:
                    note(NAME, f"end {self.vm}")
        """,
    ),
    case(
        "context_of_a_generator_of_pages",
        """
        try:
            for page in pages(context, event):
                note_step(context, NAME, page)
            FAIL
        finally:
            note(NAME, "end")
        return [word for word in pages(context, {"pause": False})]
        """,
        before="""
        def pages(stage: DurableContext, event):
            yield "one"
            if event["pause"]:
                stage.wait(Duration.from_seconds(1), name="pause")
            yield "two"
        """,
    ),
    # ------------------------------------------------ names and values
    case(
        "cleanup_calls_a_function_that_rebinds_a_name",
        """
        released = "no"
        def give_back():
            nonlocal released
            released = note(NAME, "end")
        try:
            PAUSE
        finally:
            give_back()
        PAUSE
        return released
        """,
        "released",
    ),
    case(
        "cleanup_tells_errors_apart_by_itself",
        """
        try:
            PAUSE
            FAIL
        finally:
            try:
                note(NAME, "end")
            except LookupError as error:
                note(NAME, f"not ended {error}")
        return "done"
        """,
    ),
    case(
        "loop_variable_is_seen_as_it_is_in_its_own_turn",
        """
        for item in ["a", "b"]:
            try:
                PAUSE
                FAIL
            finally:
                note(NAME, f"end {item}")
        return "done"
        """,
    ),
    case(
        "name_rebound_in_the_body_is_seen_with_its_last_value",
        """
        vm = "first"
        try:
            PAUSE
            vm = "second"
            FAIL
            vm = "third"
        finally:
            context.step(lambda _: note(NAME, vm), name="end")
        return vm
        """,
    ),
    case(
        "step_whose_function_binds_a_default_is_put_off",
        """
        vm = "first"
        try:
            PAUSE
            vm = "second"
        finally:
            context.step(lambda _, kept=vm: note(NAME, kept), name="end")
        """,
        None,
        "(step_context)",
    ),
    case(
        "durable_step_with_arguments_is_put_off",
        """
        vm = "first"
        try:
            PAUSE
            vm = "second"
        finally:
            context.step(release_step(NAME, vm))
        """,
        None,
        "lambda step_context: release_step(",
        'name="release_step"',
    ),
    case(
        "step_name_made_from_what_the_block_changes",
        """
        vm = "first"
        try:
            PAUSE
            vm = "second"
        finally:
            context.step(lambda _: note(NAME, "end"), name=f"end-{vm}")
        """,
        "name",
    ),
    case(
        "step_name_made_from_a_list_that_the_block_fills",
        """
        items = []
        try:
            PAUSE
            items.append(1)
        finally:
            context.step(lambda _: note(NAME, "end"), name=f"end-{len(items)}")
        """,
        "name",
    ),
    case(
        "step_config_made_from_what_the_block_changes",
        """
        config = None
        try:
            PAUSE
            config = ONCE
        finally:
            context.step(lambda _: note(NAME, "end"), name="end", config=config)
        """,
        "configuration",
    ),
    case(
        "step_with_arguments_by_position",
        """
        try:
            PAUSE
            FAIL
        finally:
            context.step(lambda _: note(NAME, "end"), "end", ONCE)
        """,
        None,
        'name="end", config=ONCE',
    ),
    case(
        "step_name_that_the_service_would_refuse",
        """
        try:
            PAUSE
        finally:
            context.step(lambda _: note(NAME, "end"), name="zurückgeben")
        """,
        None,
        'name="zuruckgeben"',
    ),
    case(
        "cleanup_counts_in_a_name",
        """
        count = 0
        try:
            PAUSE
        finally:
            note(NAME, "end")
            count += 1
            note(NAME, f"count {count}")
        """,
        "count",
    ),
    case(
        "cleanup_assigns_what_the_next_turn_reads",
        """
        last = "none"
        for turn in range(2):
            note_step(context, NAME, f"last {last}")
            try:
                PAUSE
            finally:
                last = note(NAME, f"end {turn}")
        """,
        "last",
    ),
    case(
        "cleanup_assigns_what_a_function_reads",
        """
        last = "none"
        def show():
            return last
        try:
            PAUSE
        finally:
            last = note(NAME, "end")
        return show()
        """,
        "last",
    ),
    case(
        "cleanup_loops_over_the_names_of_the_body",
        """
        workers = ["a", "b"]
        try:
            for worker in workers:
                context.step(lambda _, worker=worker: note(NAME, f"start {worker}"), name="start")
            PAUSE
            FAIL
        finally:
            for worker in reversed(workers):
                note(NAME, f"stop {worker}")
        return "done"
        """,
    ),
    case(
        "cleanup_fills_a_list_that_is_returned",
        """
        released = []
        try:
            PAUSE
        finally:
            note(NAME, "one")
            released.append("one")
            note(NAME, "two")
        return released
        """,
        "released",
    ),
    case(
        "cleanup_marks_an_object_that_is_read_later",
        """
        job = Marked(context)
        return job.run(event)
        """,
        "held",
        before="""
        class Marked:
            def __init__(self, stage: DurableContext):
                self.stage = stage
                self.held = True

            def give_back(self):
                note(NAME, "end")
                self.held = False

            def run(self, event):
                try:
                    if event["pause"]:
                        self.stage.wait(Duration.from_seconds(1), name="pause")
                finally:
                    self.give_back()
                if event["pause"]:
                    self.stage.wait(Duration.from_seconds(1), name="pause")
                return self.held
        """,
    ),
    case(
        "cleanup_declares_a_global",
        """
        global RELEASED
        try:
            PAUSE
        finally:
            RELEASED = note(NAME, "end")
        return RELEASED
        """,
        "RELEASED",
        before="RELEASED = None",
    ),
    case(
        "block_that_counts_in_a_global",
        """
        global COUNTED
        try:
            COUNTED = "counted"
            PAUSE
        finally:
            note(NAME, "end")
        return COUNTED
        """,
        before="COUNTED = None",
    ),
    case(
        "block_that_sets_a_name_of_the_function_around",
        """
        done = "no"
        def work():
            nonlocal done
            try:
                PAUSE
                FAIL
                done = "yes"
            finally:
                note(NAME, f"end {done}")
        work()
        return done
        """,
    ),
    case(
        "super_in_the_cleanup",
        """
        return Derived(context).run(event)
        """,
        "super",
        before="""
        class Base:
            def close(self):
                note(NAME, "end")


        class Derived(Base):
            def __init__(self, stage: DurableContext):
                self.stage = stage

            def run(self, event):
                try:
                    if event["pause"]:
                        self.stage.wait(Duration.from_seconds(1), name="pause")
                finally:
                    super().close()
        """,
    ),
    case(
        "cleanup_looks_at_the_exception_in_flight",
        """
        try:
            PAUSE
            FAIL
        finally:
            note(NAME, f"end {sys.exc_info()[0]}")
        """,
        "exception in flight",
        before="import sys",
    ),
    case(
        "underscore_is_a_name_of_the_program",
        """
        try:
            PAUSE
        finally:
            note(NAME, _("end"))
        """,
        None,
        "lambda step_context: ",
        before="""
        def _(text):
            return text.upper()
        """,
    ),
    case(
        "cleanup_empties_a_list_that_the_block_returns",
        """
        return cleanup_empties_a_list_that_the_block_returns_work(event, context)
        """,
        "which the block returns",
        before="""
        def cleanup_empties_a_list_that_the_block_returns_work(event, stage: DurableContext):
            items = ["a"]
            try:
                if event["pause"]:
                    stage.wait(Duration.from_seconds(1), name="pause")
                return items
            finally:
                note(NAME, items.pop())
        """,
    ),
    case(
        "assignment_as_an_expression",
        """
        try:
            PAUSE
            FAIL
        finally:
            (end := note(NAME, "one"))
            note(NAME, "two")
        return "done"
        """,
    ),
    case(
        "tuple_of_durable_calls",
        """
        vm = "a"
        try:
            PAUSE
            FAIL
        finally:
            context.step(lambda _: note(NAME, "two"), name="two"), context.step(lambda _: note(NAME, "three"), name="three")
            context.step(lambda _: note(NAME, "four"), name="four") if vm else None
            vm and context.step(lambda _: note(NAME, "five"), name="five")
        return "done"
        """,
    ),
    case(
        "tuple_of_durable_calls_alone",
        """
        try:
            PAUSE
            FAIL
        finally:
            note_step(context, NAME, "one"), note_step(context, NAME, "two")
        return "done"
        """,
        None,
        "lambda action_context: (",
    ),
    case(
        "cleanup_takes_from_a_list_of_the_object",
        """
        return Holding(context).run(event)
        """,
        "held",
        before="""
        class Holding:
            def __init__(self, stage: DurableContext):
                self.stage = stage
                self.held = ["a", "b"]

            def run(self, event):
                try:
                    if event["pause"]:
                        self.stage.wait(Duration.from_seconds(1), name="pause")
                finally:
                    note(NAME, self.held.pop())
                return len(self.held)
        """,
    ),
    case(
        "cleanup_takes_from_a_service_of_the_object",
        """
        return Serving(context).run(event)
        """,
        before="""
        class Registry:
            def remove(self, key):
                note(NAME, f"remove {key}")


        class Serving:
            def __init__(self, stage: DurableContext):
                self.stage = stage
                self.registry = Registry()

            def run(self, event):
                try:
                    if event["pause"]:
                        self.stage.wait(Duration.from_seconds(1), name="pause")
                finally:
                    self.registry.remove("a")
                return self.registry is None
        """,
    ),
    case(
        "step_in_the_cleanup_changes_a_list_that_is_read_later",
        """
        items = ["a", "b"]
        try:
            PAUSE
        finally:
            context.step(lambda _: note(NAME, f"end {items.copy().pop()}"), name="end")
        return items
        """,
    ),
    case(
        "walrus_in_the_cleanup",
        """
        vm = {"id": "a"}
        try:
            PAUSE
            FAIL
        finally:
            if (ident := vm.get("id")) and event:
                note(NAME, f"end {ident}")
            del vm
        return "done"
        """,
        None,
        "del vm",
    ),
    case(
        "container_that_a_strict_function_fills",
        """
        return container_that_a_strict_function_fills_work(event, context)
        """,
        "annotate it",
        before="""
        def container_that_a_strict_function_fills_work(event: dict[str, bool], stage: DurableContext) -> int:
            workers = []
            try:
                workers.append("a")
                if event["pause"]:
                    stage.wait(Duration.from_seconds(1), name="pause")
            finally:
                for worker in workers:
                    note(NAME, worker)
            return len(workers)
        """,
    ),
    # ------------------------------------------------ exits
    case(
        "return_in_the_body",
        """
        try:
            PAUSE
            FAIL
            return "early"
        finally:
            note(NAME, "end")
        """,
    ),
    case(
        "return_value_is_made_before_the_cleanup",
        """
        items = ["a"]
        try:
            PAUSE
            return list(items)
        finally:
            context.step(lambda _: note(NAME, "end"), name="end")
        """,
    ),
    case(
        "return_in_the_finally",
        """
        try:
            PAUSE
            FAIL
        finally:
            note(NAME, "end")
            return "always"
        """,
        None,
        "except Exception:",
    ),
    case(
        "return_alone_in_the_finally",
        """
        try:
            for turn in range(3):
                if turn:
                    break
            PAUSE
            FAIL
        finally:  # come what may
            # this
            return {
                "done": turn,
            }  # and that
        """,
        None,
        "except Exception:",
        "# come what may",
        "# this",
        "# and that",
    ),
    case(
        "continue_at_the_end_of_the_finally",
        """
        for turn in range(2):
            try:
                PAUSE
                FAIL
            finally:
                note(NAME, f"end {turn}")
                continue
        return "done"
        """,
        None,
        "except Exception:",
    ),
    case(
        "return_in_the_finally_overrides_one_in_the_body",
        """
        try:
            PAUSE
            return "body"
        finally:
            return "always"
        """,
        "exits of its own",
    ),
    case(
        "return_in_the_finally_of_a_try_with_handlers",
        """
        try:
            PAUSE
        except ValueError:
            note(NAME, "handled")
        finally:
            return "always"
        """,
        "only its author",
    ),
    case(
        "conditional_continue_in_the_finally",
        """
        for turn in range(2):
            try:
                PAUSE
            finally:
                note(NAME, "end")
                if turn:
                    continue
        return "done"
        """,
        "continue",
    ),
    case(
        "raise_in_the_finally",
        """
        try:
            PAUSE
        finally:
            if note(NAME, "end") == "never":
                raise RuntimeError("never")
        return "done"
        """,
        "raise",
    ),
    case(
        "assertion_in_the_finally",
        """
        try:
            PAUSE
        finally:
            assert event
            note(NAME, "end")
        return "done"
        """,
        "assert",
    ),
    case(
        "expressions_of_every_shape",
        """
        try:
            PAUSE
            FAIL
        finally:
            note(NAME, "one"), note(NAME, "two")
            (note(NAME, "three"))
            (note(NAME, "four"), note(NAME, "five"))
            event["fail"] and note(NAME, "failed")
            note(NAME, "six") if event else None
            [note(NAME, word) for word in ("seven", "eight")]
            *(note(NAME, "nine"),), note(NAME, "ten")
        return "done"
        """,
    ),
    case(
        "break_in_a_loop_of_the_finally",
        """
        try:
            PAUSE
            FAIL
        finally:
            for attempt in range(3):
                note(NAME, f"end {attempt}")
                if attempt == 1:
                    break
        return "done"
        """,
    ),
    case(
        "while_loop_with_retries",
        """
        attempt = 0
        while True:
            attempt += 1
            try:
                PAUSE
                if attempt < 3:
                    raise ValueError("again")
                return attempt
            except ValueError:
                continue
            finally:
                note(NAME, f"end {attempt}")
        """,
    ),
    case(
        "match_and_walrus_in_the_body",
        """
        try:
            PAUSE
            match event["fail"]:
                case True as failing:
                    raise ValueError("failed")
                case other if (found := not other):
                    return f"{found}"
        finally:
            note(NAME, "end")
        """,
    ),
    # ------------------------------------------------ handlers
    case(
        "handler_and_else_stay_inside",
        """
        try:
            PAUSE
            FAIL
        except ValueError as error:
            kept = str(error)
            note_step(context, NAME, f"handled {kept}")
        else:
            note_step(context, NAME, "else")
        finally:
            note(NAME, "end")
        return "done"
        """,
    ),
    case(
        "handler_raises_another_error",
        """
        try:
            PAUSE
            FAIL
        except ValueError as error:
            raise KeyError("other") from error
        finally:
            note(NAME, "end")
        """,
    ),
    case(
        "compensation",
        """
        vm = "vm"
        try:
            PAUSE
            FAIL
            return "done"
        except BaseException:
            note(NAME, f"undo {vm}")
            context.step(lambda _: note(NAME, "undo last"), name="undo-last")
            raise
        """,
        None,
        "terminal.compensate(",
    ),
    case(
        "compensation_that_logs_first",
        """
        try:
            PAUSE
            FAIL
            return "done"
        except BaseException:
            logger.warning("undoing")
            note(NAME, "undo")
            raise
        """,
        None,
        "terminal.compensate(",
        "except BaseException:",
    ),
    case(
        "handler_that_uses_the_exception",
        """
        try:
            PAUSE
            FAIL
            return "done"
        except BaseException as error:
            context.step(lambda _: note(NAME, "undo"), name=f"undo-{type(error).__name__}")
            raise
        """,
        None,
        "except Exception as error:",
    ),
    case(
        "handler_with_else",
        """
        try:
            PAUSE
            FAIL
        except BaseException:
            context.step(lambda _: note(NAME, "undo"), name="undo")
            raise
        else:
            note_step(context, NAME, "else")
        return "done"
        """,
        None,
        "except Exception:",
    ),
    case(
        "one_handler_of_several_catches_everything",
        """
        try:
            PAUSE
            FAIL
        except KeyError:
            return "key"
        except (BaseException,):
            context.step(lambda _: note(NAME, "undo"), name="undo")
            raise
        return "done"
        """,
        None,
        "except (Exception,):",
    ),
    case(
        "dead_handler_after_one_for_exception",
        """
        try:
            PAUSE
            FAIL
        except Exception:
            return "handled"
        except BaseException:
            note(NAME, "swallowed")
        return "done"
        """,
        "above it",
    ),
    case(
        "suspension_is_named",
        """
        try:
            PAUSE
            FAIL
        except SuspendExecution:
            note(NAME, "suspended")
            raise
        except ValueError:
            return "handled"
        return "done"
        """,
        None,
        before="from aws_durable_execution_sdk_python.exceptions import SuspendExecution",
    ),
    case(
        "suspension_is_named_above_a_handler_for_everything",
        """
        try:
            PAUSE
            FAIL
        except SuspendExecution:
            note(NAME, "suspended")
            raise
        except (KeyError, BaseException):
            return "handled"
        return "done"
        """,
        None,
        "except (KeyError, Exception):",
        before="from aws_durable_execution_sdk_python.exceptions import SuspendExecution",
    ),
    case(
        "suspension_is_all_that_is_named",
        """
        try:
            # the work
            PAUSE
            text = '''two
        lines'''
        except SuspendExecution:  # not at all
            note(NAME, "suspended")  # lost
        return text
        """,
        None,
        "# not at all",
        "# lost",
        before="from aws_durable_execution_sdk_python.exceptions import SuspendExecution",
    ),
    case(
        "suspension_among_others",
        """
        try:
            PAUSE
            FAIL
        except (ValueError, SuspendExecution):
            return "handled"
        return "done"
        """,
        None,
        "except ValueError:",
        before="from aws_durable_execution_sdk_python.exceptions import SuspendExecution",
    ),
    case(
        "suppress_everything",
        """
        with contextlib.suppress(KeyError, BaseException):
            PAUSE
            FAIL
            return "done"
        return "suppressed"
        """,
        None,
        "suppress(KeyError, Exception)",
    ),
    # ------------------------------------------------ mixed cleanup
    case(
        "process_local_first",
        """
        try:
            PAUSE
            FAIL
        finally:
            logger.info("closing")  # says so
            note(NAME, "end")
        return "done"
        """,
        None,
        "finally:",
        "# says so",
    ),
    case(
        "process_local_last",
        """
        started = 1
        try:
            PAUSE
            FAIL
        finally:
            note(NAME, "end")
            started = None
            logger.info("closed")
        return started
        """,
        None,
        "finally:",
    ),
    case(
        "process_local_on_both_sides_and_a_handler",
        """
        try:
            PAUSE
            FAIL
        except ValueError:
            note_step(context, NAME, "handled")
        finally:
            logger.info("closing")
            note(NAME, "end")
            logger.info("closed")
        return "done"
        """,
    ),
    case(
        "process_local_between",
        """
        try:
            PAUSE
            FAIL
        finally:
            note(NAME, "one")
            logger.info("between")
            note(NAME, "two")
        return "done"
        """,
        None,
        "def clean_up(",
    ),
    case(
        "value_of_one_cleanup_is_given_to_the_next",
        """
        try:
            PAUSE
            FAIL
        finally:
            units = note(NAME, "close")
            note(NAME, f"bill {units}")
            logger.info("billed %s", units)
        return "done"
        """,
        None,
        "def clean_up(",
    ),
    # ------------------------------------------------ actions with a context
    case(
        "cleanup_hands_the_context_to_a_helper",
        """
        try:
            PAUSE
            FAIL
        finally:
            drain_in_steps(context, NAME, event)
        return "done"
        """,
        None,
        "cleanup_in_context",
        "drain_in_steps(action_context, ",
    ),
    case(
        "cleanup_reaches_the_context_through_self",
        """
        return Reaching(context).run(event)
        """,
        "context",
        before="""
        class Reaching:
            def __init__(self, stage: DurableContext):
                self.stage = stage

            def drain(self, event):
                self.stage.step(lambda _: note(NAME, "end"), name="drain")

            def run(self, event):
                try:
                    if event["pause"]:
                        self.stage.wait(Duration.from_seconds(1), name="pause")
                finally:
                    self.drain(event)
        """,
    ),
    case(
        "cleanup_reaches_the_context_through_a_closure",
        """
        def drain():
            context.step(lambda _: note(NAME, "end"), name="drain")
        try:
            PAUSE
        finally:
            drain()
        """,
        "context",
    ),
    case(
        "cleanup_waits_for_a_callback_of_the_block",
        """
        callback = None
        try:
            callback = context.create_callback(name="done")
            PAUSE
        finally:
            if event["pause"] and event["fail"]:
                callback.result()
            note(NAME, "end")
        """,
        "context",
    ),
    case(
        "child_function_named_like_the_context",
        """
        try:
            PAUSE
            FAIL
        finally:
            context.run_in_child_context(lambda context: context.step(lambda _: note(NAME, "end"), name="end"), name="close")
        return "done"
        """,
        None,
        "action_context.run_in_child_context(lambda context: context.step(",
    ),
    case(
        "cleanup_is_one_durable_call_over_several_lines",
        """
        try:
            PAUSE
            FAIL
        finally:
            # close it
            context.run_in_child_context(
                lambda child: note_step(child, NAME, "end"),
                name="close",
            )  # at last
        return "done"
        """,
        None,
        "cleanup_in_context",
        "lambda action_context: action_context.run_in_child_context(",
        "# at last",
    ),
    case(
        "conditional_steps_of_every_kind",
        """
        vm = "a"
        try:
            PAUSE
            FAIL
        finally:
            if vm:
                context.step(release_step(NAME, vm), config=ONCE)
            if vm:
                context.step(lambda _: note(NAME, "two"), name="")
            if vm:
                context.step(lambda _, kept="three": note(NAME, kept), name="three")
            if vm:
                context.step(
                    lambda _: note(NAME, "four"),  # last
                    name="four",
                )
        return "done"
        """,
    ),
    case(
        "steps_without_names",
        """
        vm = "a"
        try:
            PAUSE
            FAIL
        finally:
            context.step((lambda _: note(NAME, "one")), config=None)
            context.step(
                lambda _: note(NAME, "two")  # two
                , config=ONCE,
            )
            context.step(named_by_its_function)
            context.step(lambda _: vm and note(NAME, "four") if vm else None, name=f"four-{len('x')}")
        return "done"
        """,
        None,
        'name="named-by-its-function"',
        before="""
        def named_by_its_function(_):
            return note(NAME, "three")
        """,
    ),
    case(
        "names_that_the_cleanup_binds_before_it_reads_them",
        """
        try:
            PAUSE
            FAIL
        finally:
            with contextlib.nullcontext("one") as word:
                note(NAME, word)
            if event:
                text = note(NAME, "two")
            else:
                text = "three"
            note(NAME, text)
            def last():
                note(NAME, "four")
            last()
            for number in range(1):
                note(NAME, f"{number}")
            note(NAME, [number for number in "ab"][0])
            while (left := None) is not None:
                note(NAME, left)
        return [number for number in range(2)], (lambda word: word)("x")
        """,
    ),
    case(
        "name_that_the_cleanup_may_not_bind",
        """
        text = "old"
        try:
            PAUSE
        finally:
            if event["fail"]:
                text = note(NAME, "new")
            note(NAME, text)
        return "done"
        """,
        "from its old value",
    ),
    case(
        "cleanup_that_raises_its_own_errors_again",
        """
        kind = dict
        try:
            PAUSE
            FAIL
        finally:
            try:
                note(NAME, f"end {len(vars(kind)) > 0}")
            except LookupError:
                logger.exception("not ended")
                raise
        return [kind for kind in "ab"]
        """,
    ),
    case(
        "names_of_functions_inside_are_their_own",
        """
        try:
            PAUSE
            FAIL
        finally:
            word = note(NAME, "one")
            note(NAME, word)
        def inside(word, other=(lambda word: word)("x")):
            return word + other
        def local():
            word = "b"
            return word
        return inside("a") + local() + (lambda word="c": word)()
        """,
    ),
    case(
        "name_that_a_default_reads_later",
        """
        word = "old"
        try:
            PAUSE
        finally:
            word = note(NAME, "one")
            note(NAME, word)
        return (lambda kept=word: kept)()
        """,
        "word",
    ),
    case(
        "global_statement_in_the_cleanup",
        """
        try:
            PAUSE
        finally:
            def mark():
                global MARKED
                MARKED = note(NAME, "end")
            mark()
        return MARKED
        """,
        "MARKED",
        before="MARKED = None",
    ),
    case(
        "steps_that_are_no_plain_steps",
        """
        other = [context]
        named = {"name": "two"}
        try:
            PAUSE
            FAIL
        finally:
            other[0].step(lambda _: note(NAME, "one"), name="one") if not event else None
            context.step(lambda _: note(NAME, "two"), **named)
            context.step(*[lambda _: note(NAME, "three")], name="three")
        return "done"
        """,
        "context",
    ),
    case(
        "steps_with_stars",
        """
        named = {"name": "two"}
        try:
            PAUSE
            FAIL
        finally:
            context.step(lambda _: note(NAME, "two"), **named)
            context.step(*[lambda _: note(NAME, "three")], name="three")
        return "done"
        """,
        None,
        "cleanup_in_context",
    ),
    case(
        "conditional_step_whose_name_changes",
        """
        vm = "a"
        try:
            PAUSE
            vm = "b"
        finally:
            if vm:
                context.step(lambda _: note(NAME, f"end {vm}"), name=f"end-{vm}")
        return "done"
        """,
        None,
        "cleanup_in_context",
    ),
    # ------------------------------------------------ coroutines and generators
    case(
        "generator_of_batches",
        """
        return list(generator_of_batches_of(event, context))
        """,
        "yield",
        before="""
        def generator_of_batches_of(event, context: DurableContext):
            try:
                if event["pause"]:
                    context.wait(Duration.from_seconds(1), name="pause")
                yield "a"
            finally:
                note(NAME, "end")
        """,
    ),
    # ------------------------------------------------ text
    case(
        "body_on_the_line_of_try",
        """
        try: note_step(context, NAME, "work"); context.run_in_child_context(lambda inner: pause_if(inner, event), name="pause")
        finally: note(NAME, "end"); note(NAME, "last")
        return "done"
        """,
    ),
    case(
        "calls_that_go_on_behind_a_backslash",
        """
        try:
            context \\
                .run_in_child_context(lambda inner: pause_if(inner, event), name="pause")
            FAIL
        finally:
            note(NAME, "one" + \\
                 "two")
            context \\
                .step(lambda _: note(
                    NAME, "end"
                ), name="end")
        return "done"
        """,
        None,
        "terminal.cleanup(lambda _: note(",
    ),
    case(
        "body_on_the_line_of_try_and_something_process_local_last",
        """
        try: note_step(context, NAME, "work"); context.run_in_child_context(lambda inner: pause_if(inner, event), name="pause")
        finally:
            note(NAME, "end")
            logger.info("last")
        return "done"
        """,
    ),
    case(
        "handler_with_comments_in_its_header",
        """
        try:
            PAUSE
            FAIL
        except (  # all
            BaseException  # of them
        ):
            note(NAME, "undo")
            raise
        return "done"
        """,
        None,
        "terminal.compensate(",
    ),
    case(
        "terminal_is_a_parameter",
        """
        return terminal_is_a_parameter_work(event, context, "word")
        """,
        None,
        "as terminal_2:",
        before="""
        def terminal_is_a_parameter_work(event, stage: "DurableContext", terminal):
            try:
                if event["pause"]:
                    stage.wait(Duration.from_seconds(1), name="pause")
            finally:
                note(NAME, terminal)
                drain_in_steps(stage, NAME, event)
        """,
    ),
    case(
        "name_of_the_block_is_read_after_it",
        """
        try:
            kept = context.step(lambda _: "kept", name="keep")
            other: str = kept + "!"
            PAUSE
            FAIL
        finally:
            note(NAME, "end")
        return kept + other
        """,
    ),
    case(
        "strings_over_several_lines",
        '''
        try:
            PAUSE
            text = """
        not indented
            """
            FAIL
        except ValueError:
            text = f"""
        {event["fail"]}
        """
        finally:
            note(NAME, """end
        of it""")
        return text
        ''',
    ),
    case(
        "comments_everywhere",
        """
        try:  # one
            # two
            PAUSE
            # three
        finally:  # four
            # five
            note(  # six
                NAME,
                "end",  # seven
            )  # eight
            # nine
        return "done"
        """,
        None,
        *(f"# {word}" for word in ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]),
    ),
    # ------------------------------------------------ managers
    case(
        "class_with_an_exit",
        """
        with Leased(NAME):
            PAUSE
        """,
        "Leased.__exit__",
        before="""
        class Leased:
            def __init__(self, name):
                self.name = name

            def __enter__(self):
                return self

            def __exit__(self, *error):
                note(self.name, "end")
        """,
    ),
    case(
        "generator_manager_without_a_context",
        """
        with leased_without_context(NAME):
            PAUSE
        """,
        "leased_without_context.*context",
        before="""
        @contextlib.contextmanager
        def leased_without_context(name):
            try:
                yield
            finally:
                note(name, "end")
        """,
    ),
    case(
        "generator_manager_with_a_method",
        """
        return Holder(context).run(event)
        """,
        None,
        "terminal_scope(self.stage, ",
        before="""
        class Holder:
            def __init__(self, stage: DurableContext):
                self.stage = stage

            @contextlib.contextmanager
            def held(self, vm):
                try:
                    yield vm
                finally:
                    note(NAME, f"end {vm}")

            def run(self, event):
                with self.held("a") as a, self.held("b") as b:
                    if event["pause"]:
                        self.stage.wait(Duration.from_seconds(1), name="pause")
                    if event["fail"]:
                        raise ValueError("failed")
                    return a + b
        """,
    ),
    case(
        "generator_manager_that_undoes",
        """
        with transaction(context) as held:
            PAUSE
            FAIL
            return held
        """,
        None,
        "terminal.compensate(",
        before="""
        @contextlib.contextmanager
        def transaction(stage: DurableContext):
            try:
                yield "held"
                stage.step(lambda _: note(NAME, "commit"), name="commit")
            except BaseException:
                note(NAME, "undo")
                raise
        """,
    ),
    case(
        "generator_manager_that_undoes_or_commits",
        """
        with transaction_with_else(context) as held:
            PAUSE
            FAIL
        return held
        """,
        None,
        "except Exception:",
        before="""
        @contextlib.contextmanager
        def transaction_with_else(stage: DurableContext):
            try:
                yield "held"
            except BaseException:
                stage.step(lambda _: note(NAME, "undo"), name="undo")
                raise
            else:
                stage.step(lambda _: note(NAME, "commit"), name="commit")
        """,
    ),
    case(
        "generator_manager_that_swallows_errors",
        """
        with lenient(context):
            PAUSE
            FAIL
            return "done"
        return "failed"
        """,
        None,
        "except Exception:",
        before="""
        @contextlib.contextmanager
        def lenient(stage):
            try:
                yield
            except BaseException:
                stage.step(lambda _: note(NAME, "swallowed"), name="swallowed")
        """,
    ),
    case(
        "generator_manager_on_a_stack",
        """
        with contextlib.ExitStack() as stack:
            first = stack.enter_context(on_stack(context, "a"))
            second = stack.enter_context(on_stack(context, "b"))
            PAUSE
            FAIL
            return first + second
        """,
        None,
        "stack.enter_context(on_stack(",
        before="""
        @contextlib.contextmanager
        def on_stack(stage: DurableContext, vm):
            try:
                yield vm
            finally:
                note(NAME, f"end {vm}")
        """,
    ),
    case(
        "generator_manager_that_enters_another",
        """
        with outer_manager(context) as held:
            PAUSE
            FAIL
            return held
        """,
        before="""
        @contextlib.contextmanager
        def inner_manager(stage: DurableContext):
            if stage:
                try:
                    yield "held"
                finally:
                    note(NAME, "end")


        @contextlib.contextmanager
        def outer_manager(stage: DurableContext):
            with inner_manager(stage) as held:
                yield held
        """,
    ),
    case(
        "generator_manager_that_closes",
        """
        with session_manager(context) as held:
            PAUSE
            FAIL
            return held.key
        """,
        before="""
        @contextlib.contextmanager
        def session_manager(stage: DurableContext):
            with contextlib.closing(Session(NAME, "one")) as session:
                yield session
        """,
    ),
    case(
        "closing_a_name_under_another",
        """
        session = Session(NAME, "one")
        with contextlib.closing(session) as other:
            PAUSE
            FAIL
            return other.key
        """,
        None,
        "other = session",
    ),
    case(
        "closing_with_the_body_on_its_line",
        """
        with contextlib.closing(Session(NAME, "one")): context.run_in_child_context(lambda inner: pause_if(inner, event), name="pause")
        return "done"
        """,
    ),
    case(
        "closing_what_is_bound_again",
        """
        with contextlib.closing(Session(NAME, "one")) as session:
            PAUSE
            session = None
            FAIL
        return "done"
        """,
    ),
    case(
        "closing_a_name",
        """
        session = Session(NAME, "one")
        with contextlib.closing(session):
            PAUSE
            FAIL
        return "done"
        """,
        None,
        "terminal.cleanup(lambda _: session.close()",
    ),
    case(
        "closing_between_other_managers",
        """
        with contextlib.nullcontext(1) as one, contextlib.closing(Session(NAME, "two")) as two, contextlib.nullcontext(two.key) as three:
            PAUSE
            FAIL
            return f"{one}{three}"
        """,
    ),
    case(
        "closing_on_lines_of_its_own",
        """
        with (
            contextlib.nullcontext(1) as one,  # the first
            contextlib.closing(Session(NAME, "two")) as two,  # the second
            contextlib.nullcontext(two.key) as three,
        ):
            PAUSE
            FAIL
            return f"{one}{three}"
        """,
        None,
        "# the first",
        "# the second",
    ),
    case(
        "closing_whose_call_is_broken",
        """
        with contextlib.closing(
            Session(NAME, "one")
        ), contextlib.closing(Session(NAME, "two")):
            PAUSE
            FAIL
        return "done"
        """,
    ),
    case(
        "closing_that_is_made_elsewhere",
        """
        manager = contextlib.closing(Session(NAME, "one"))
        with manager:
            PAUSE
        """,
        "made elsewhere",
    ),
    case(
        "unknown_manager",
        """
        import outside_managers
        with outside_managers.lease("x"):
            PAUSE
        """,
        "cannot be seen",
        before="""
        import sys, types
        sys.modules["outside_managers"] = types.SimpleNamespace(lease=contextlib.nullcontext)
        """,
    ),
    # ------------------------------------------------ stacks
    case(
        "stack_in_a_loop",
        """
        with contextlib.ExitStack() as stack:
            for part in ["a", "b"]:
                stack.callback(note, NAME, f"end {part}")
            PAUSE
            FAIL
            return "done"
        """,
        None,
        "lambda *_, value=f",
    ),
    case(
        "stack_argument_that_changes_later",
        """
        vm = "first"
        with contextlib.ExitStack() as stack:
            stack.callback(note, NAME, vm)
            vm = "second"
            stack.callback(note, NAME, vm)
            PAUSE
            FAIL
        return "done"
        """,
        None,
        "vm=vm",
    ),
    case(
        "stack_with_a_step",
        """
        with contextlib.ExitStack() as stack:
            stack.callback(context.step, lambda _: note(NAME, "end"), "end")
            PAUSE
            FAIL
        return "done"
        """,
        None,
        'terminal.cleanup(lambda _: note("stack_with_a_step", "end"), name="end")',
    ),
    case(
        "stack_with_a_helper_that_waits",
        """
        with contextlib.ExitStack() as stack:
            stack.callback(drain_in_steps, context, NAME, event)
            PAUSE
            FAIL
        return "done"
        """,
        None,
        "lambda action_context: drain_in_steps(action_context, ",
    ),
    case(
        "two_stacks_of_one_name",
        """
        with contextlib.ExitStack() as stack:
            stack.callback(note, NAME, "one")
            PAUSE
        with contextlib.ExitStack() as stack:
            stack.callback(note, NAME, "two")
            PAUSE
            FAIL
        return "done"
        """,
    ),
    case(
        "stack_that_is_handed_on",
        """
        with contextlib.ExitStack() as stack:
            stack.callback(note, NAME, "end")
            keep = [stack]
            PAUSE
        """,
        "another way",
    ),
    case(
        "stack_whose_release_is_taken_off",
        """
        with contextlib.ExitStack() as stack:
            stack.callback(note, NAME, "end")
            PAUSE
            stack.pop_all()
        """,
        "another way",
    ),
    case(
        "stack_with_something_process_local_first",
        """
        with contextlib.ExitStack() as stack:
            stack.callback(logger.info, "closed")
            stack.callback(note, NAME, "end")
            PAUSE
            FAIL
        return "done"
        """,
        None,
        "with contextlib.ExitStack() as stack, terminal_scope(",
    ),
    case(
        "stack_that_a_finally_closes",
        """
        stack = contextlib.ExitStack()  # all of them
        stack.callback(note, NAME, "first")
        try:  # the work
            stack.callback(lambda: note(NAME, "second"))
            session: object = stack.enter_context(contextlib.closing(Session(NAME, "third")))
            PAUSE
            FAIL
        finally:
            # let go
            stack.close()  # now
        return "done"
        """,
        None,
        "# all of them",
        "# the work",
        "# let go",
        "# now",
        "session: object = Session(",
        'name="note"',
    ),
    case(
        "stack_that_a_finally_closes_beside_handlers",
        """
        stack = contextlib.ExitStack()
        try:
            stack.callback(note, NAME, "end")
            PAUSE
            FAIL
        except ValueError:
            stack.callback(note, NAME, "after the failure")
            return "failed"
        else:
            return "done"
        finally:
            stack.close()
        """,
    ),
    case(
        "stack_that_a_finally_closes_after_another_cleanup",
        """
        stack = contextlib.ExitStack()
        try:
            stack.callback(note, NAME, "second")
            PAUSE
            FAIL
        finally:
            note(NAME, "first")
            stack.close()
        return "done"
        """,
        None,
        "terminal_2.cleanup(",
    ),
    case(
        "stack_that_a_finally_closes_with_something_process_local",
        """
        stack = contextlib.ExitStack()
        try:
            stack.callback(logger.info, "closed")
            stack.callback(note, NAME, "end")
            PAUSE
            FAIL
        finally:
            stack.close()
        return "done"
        """,
        None,
        "with contextlib.ExitStack() as stack, terminal_scope(",
    ),
    case(
        "stack_of_managers_that_a_finally_closes",
        """
        stack = contextlib.ExitStack()
        try:
            held = stack.enter_context(closed_by_finally(context, "a"))
            PAUSE
            FAIL
            return held
        finally:
            stack.close()
        """,
        None,
        "stack.enter_context(closed_by_finally(",
        before="""
        @contextlib.contextmanager
        def closed_by_finally(stage: DurableContext, vm):
            try:
                yield vm
            finally:
                note(NAME, f"end {vm}")
        """,
    ),
    case(
        "stack_that_is_made_long_before",
        """
        stack = contextlib.ExitStack()
        note_step(context, NAME, "take")
        stack.callback(note, NAME, "end")
        try:
            PAUSE
        finally:
            stack.close()
        """,
        "other code stands between",
    ),
    case(
        "stack_that_is_made_before_its_with",
        """
        for turn in range(2):
            stack = contextlib.ExitStack()
            with stack:  # open
                stack.callback(note, NAME, f"end {turn}")
                PAUSE
                FAIL
        return "done"
        """,
        None,
        "# open",
    ),
    case(
        "stack_with_a_decorated_function",
        """
        with contextlib.ExitStack() as stack:
            stack.callback(note, NAME, "last")

            @stack.callback
            def tell():
                # all of them
                note(NAME, "second")

            @stack.callback
            def _() -> None: note(NAME, "first")

            PAUSE
            FAIL
        return "done"
        """,
        None,
        'terminal.cleanup(tell, name="tell")',
        "def _(step_context: object) -> None:",
    ),
    case(
        "stack_with_a_decorated_function_that_is_called_too",
        """
        with contextlib.ExitStack() as stack:
            stack.callback(note, NAME, "last")

            @stack.callback
            def tell():
                note(NAME, "second")

            tell()
            PAUSE
        """,
        "called elsewhere",
    ),
    case(
        "stack_with_a_decorated_function_that_is_pushed",
        """
        with contextlib.ExitStack() as stack:
            stack.callback(note, NAME, "last")

            @stack.push
            def tell(*error):
                return note(NAME, "second")

            PAUSE
        """,
        "told of the exception",
    ),
    case(
        "stack_with_a_lambda_that_keeps_a_value",
        """
        vm = "first"
        with contextlib.ExitStack() as stack:
            for part in ("a", "b"):
                stack.callback(lambda part=part: context.step(lambda _: note(NAME, part), name=part))
            stack.callback(lambda vm=vm: note(NAME, vm))
            vm = "second"
            PAUSE
            FAIL
        return vm
        """,
        None,
        "lambda action_context, part=part: action_context.step(",
        "lambda *_, vm=vm: note(",
    ),
    case(
        "stack_with_a_lambda_that_keeps_a_value_and_is_given_one",
        """
        vm = "first"
        with contextlib.ExitStack() as stack:
            stack.callback(lambda word, vm=vm: note(NAME, f"{word} {vm}"), "end")
            vm = "second"
            PAUSE
        """,
        "defaults may change",
    ),
    case(
        "stack_with_a_pushed_function_that_swallows",
        """
        with contextlib.ExitStack() as stack:
            stack.push(lambda *_: note(NAME, "end") == "end")
            PAUSE
            FAIL
        return "done"
        """,
        "swallow",
    ),
    case(
        "stack_with_arguments_of_every_kind",
        """
        vm = {"id": "a", "parts": ["x"]}
        session = Session(NAME, "key")
        with contextlib.ExitStack() as stack:
            stack.callback(note, NAME, vm["id"])
            stack.callback(note, NAME, vm["parts"][0])
            stack.callback(note, NAME, session.key)
            stack.callback(note, NAME, text=f"{vm['id']}!")
            stack.callback(note, NAME, "-".join(vm["parts"]))
            vm["id"] = "b"
            session = None
            PAUSE
            FAIL
        return "done"
        """,
    ),
    case(
        "stack_in_a_function_inside",
        """
        word = "word"
        def work(stage: DurableContext):
            with contextlib.ExitStack() as stack:
                stack.callback(note, NAME, word)
                if event["pause"]:
                    stage.wait(Duration.from_seconds(1), name="pause")
            return "done"
        return work(context)
        """,
    ),
    case(
        "stack_with_steps_of_every_kind",
        """
        with contextlib.ExitStack() as stack:
            stack.callback(context.step, lambda _: note(NAME, "one"), name="one", config=ONCE)
            stack.callback(context.step, lambda _: note(NAME, "two"))
            stack.callback(context.step, release_step(NAME, "three"), name="dritt-größe")
            stack.callback(context.run_in_child_context, lambda inner: note_step(inner, NAME, "four"), name="four")
            PAUSE
            FAIL
        return "done"
        """,
        None,
        'name="one", config=ONCE',
        'name="note"',
    ),
    case(
        "stack_with_pushed_functions",
        """
        def close(*error):
            touch(NAME, "close")
        with contextlib.ExitStack() as stack:
            stack.push(close)
            stack.push(lambda *error: touch(NAME, "push"))
            PAUSE
        return "done"
        """,
        None,
        "close(None, None, None)",
        before="from outside import touch as outer_touch\n\n\ndef touch(name, text):\n    outer_touch(name, text)",
    ),
    case(
        "stack_that_enters_without_a_name_in_a_loop",
        """
        with contextlib.ExitStack() as stack:
            for key in ("a", "b"):
                stack.enter_context(contextlib.closing(Session(NAME, key)))
            again = stack.enter_context(contextlib.closing(Session(NAME, "c")))
            PAUSE
            FAIL
            return again.key
        """,
        None,
        "session=session",
    ),
    case(
        "stack_with_something_process_local_between",
        """
        with contextlib.ExitStack() as stack:
            stack.callback(note, NAME, "one")
            stack.callback(logger.info, "between")
            stack.callback(note, NAME, "two")
            PAUSE
            FAIL
        return "done"
        """,
        None,
        "with terminal_scope(",
    ),
    case(
        "stack_with_something_process_local_last",
        """
        with contextlib.ExitStack() as stack:
            stack.callback(note, NAME, "one")
            stack.callback(logger.info, "last")
            PAUSE
            FAIL
        return "done"
        """,
        None,
        "as terminal, contextlib.ExitStack() as stack:",
    ),
    # ------------------------------------------------ several in one function
    case(
        "adjacent_and_nested",
        """
        try:
            PAUSE
            try:
                PAUSE
                FAIL
            finally:
                note(NAME, "inner")
        except ValueError:
            note_step(context, NAME, "handled")
        finally:
            note(NAME, "outer")
        try:
            PAUSE
        finally:
            note(NAME, "next")
        return "done"
        """,
    ),
]
