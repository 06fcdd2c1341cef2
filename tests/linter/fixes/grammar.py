"""Builds handlers at random: blocks that clean up unsafely, in every arrangement that the grammar knows.

What a handler does to the outside is told to `note(name, text)`; every body effect is a durable step, so that a
replay does not repeat it. It suspends only when `event["pause"]` is set, and fails only when `event["fail"]` is.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

HEADER = '''\
"""Generated handlers."""
import contextlib
import logging

from aws_durable_execution_sdk_python import DurableContext, StepError
from aws_durable_execution_sdk_python.config import Duration, StepConfig
from aws_durable_execution_sdk_python.retries import RetryPresets

from outside import note, touch

logger = logging.getLogger(__name__)
ONCE = StepConfig(retry_strategy=RetryPresets.none())


def refuse():
    raise LookupError("refused")


class Session:
    """Lives outside this process."""

    def __init__(self, name, key):
        self.name = name
        self.key = key

    def close(self):
        note(self.name, f"close {self.key}")


'''


@dataclass
class Writer:
    """Writes one handler. Its state is what has been written, and which names are bound."""

    rng: random.Random
    name: str
    lines: list[str] = field(default_factory=list)
    count: int = 0
    context: str = "context"
    in_loop: bool = False
    features: list[str] = field(default_factory=list)

    def put(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def number(self) -> int:
        self.count += 1
        return self.count

    def feature(self, name: str) -> None:
        self.features.append(name)

    # ------------------------------------------------ statements

    def effect(self, indent: int, text: str) -> None:
        self.put(indent, f'{self.context}.step(lambda _: note("{self.name}", "{text}"), name="{text}")')

    def body(self, indent: int, depth: int, owned: str) -> None:
        """Write the inside of a block: effects, a pause, perhaps a failure, a nested block, an exit."""
        choose = self.rng.random
        self.effect(indent, f"do-{self.number()}")
        if choose() < 0.3:
            self.put(indent, f'{owned} = {self.context}.step(lambda _: "{owned}-new", name="again-{owned}")')
        if choose() < 0.9:
            self.pause(indent)
        if choose() < 0.35:
            self.failure(indent)
        if depth and choose() < 0.6:
            self.block(indent, depth - 1)
        if choose() < 0.3:
            self.pause(indent)
        self.effect(indent, f"do-{self.number()}")
        roll = choose()
        if roll < 0.25:
            self.put(indent, f'return "value-{self.number()}"')
        elif roll < 0.4 and self.in_loop:
            self.put(indent, "if turn == 0:")
            self.put(indent + 1, self.rng.choice(["continue", "break"]))

    def pause(self, indent: int) -> None:
        number = self.number()
        self.put(indent, 'if event["pause"]:')
        if self.rng.random() < 0.75:
            self.put(indent + 1, f'{self.context}.wait(Duration.from_seconds(1), name="pause-{number}")')
        else:
            self.put(
                indent + 1,
                f'{self.context}.run_in_child_context(lambda inner: inner.wait(Duration.from_seconds(1)), name="pause-{number}")',
            )

    def failure(self, indent: int) -> None:
        self.put(indent, 'if event["fail"]:')
        if self.rng.random() < 0.5:
            self.put(indent + 1, 'raise ValueError("failed")')
        else:
            self.put(
                indent + 1,
                f'{self.context}.step(lambda _: refuse(), name="refuse-{self.number()}", config=ONCE)',
            )

    # ------------------------------------------------ cleanup

    def cleanup(self, indent: int, owned: str, *, about: str = "end") -> None:
        for _ in range(self.rng.choice([1, 1, 2, 3])):
            self.cleanup_statement(indent, owned, about)

    def cleanup_statement(self, indent: int, owned: str, about: str) -> None:
        number = self.number()
        text = f"{about}-{number}"
        note = f'note("{self.name}", f"{text} {{{owned}}}")'
        kind = self.rng.choice(
            [
                "step",
                "step",
                "plain",
                "plain",
                "if-plain",
                "if-step",
                "wait",
                "invoke",
                "local",
                "loop",
                "dead",
                "read-later",
                "try",
                "comment",
                "named",
                "default",
            ]
        )
        self.feature(kind)
        put = self.put
        match kind:
            case "step":
                put(indent, f'{self.context}.step(lambda _: {note}, name="{text}")')
            case "named":
                put(indent, f"{self.context}.step(")
                put(indent + 1, f"lambda step_context: {note},  # the last thing")
                put(indent + 1, f'"{text}",')
                put(indent + 1, "StepConfig(retry_strategy=RetryPresets.default()),")
                put(indent, ")")
            case "default":
                put(
                    indent,
                    f'{self.context}.step(lambda _, kept={owned}: note("{self.name}", f"{text} {{kept}}"), name="{text}")',
                )
            case "plain":
                put(indent, note)
            case "comment":
                put(indent, "# give it back")
                put(indent, f"{note}  # whatever happened")
            case "if-plain":
                put(indent, f"if {owned} is not None:")
                put(indent + 1, note)
            case "if-step":
                put(indent, f"if {owned} is not None:")
                put(indent + 1, f'{self.context}.step(lambda _: {note}, name="{text}")')
            case "wait":
                put(indent, f"{note}")
                put(indent, 'if event["pause"]:')
                put(indent + 1, f'{self.context}.wait(Duration.from_seconds(1), name="{text}")')
            case "invoke":
                put(indent, 'if event["pause"]:')
                put(indent + 1, f'{self.context}.invoke("audit", "{text}", name="{text}")')
                put(indent, f'{self.context}.step(lambda _: {note}, name="{text}")')
            case "local":
                put(indent, f'logger.debug("{text} %s", {owned})')
            case "loop":
                put(indent, f"for part_{number} in range(2):")
                put(indent + 1, f'note("{self.name}", f"{text} {{part_{number}}} {{{owned}}}")')
            case "dead":
                put(indent, f"unused_{number} = {note}")
            case "read-later":
                put(indent, f"later = {note}")
            case "try":
                put(indent, "try:")
                put(indent + 1, note)
                put(indent, "except LookupError:")
                put(indent + 1, 'logger.exception("not given back")')

    # ------------------------------------------------ blocks

    def block(self, indent: int, depth: int) -> None:
        number = self.number()
        owned = f"owned_{number}"
        if self.rng.random() < 0.15:
            self.put(indent, f"{owned} = None")
        else:
            self.put(indent, f'{owned} = {self.context}.step(lambda _: "{owned}", name="take-{owned}")')
        looped = self.rng.random() < 0.25
        if looped:
            self.put(indent, "for turn in range(2):")
            indent += 1
        outer, self.in_loop = self.in_loop, looped or self.in_loop
        if looped:
            self.in_loop = True
        kind = self.rng.choice(
            [
                "finally",
                "finally",
                "finally",
                "except",
                "except-else",
                "swallow",
                "undo",
                "undo-e",
                "undo-finally",
                "stack",
                "closing",
                "closing-2",
                "manager",
                "manager-undo",
            ]
        )
        self.feature(kind)
        getattr(self, "_" + kind.replace("-", "_"))(indent, depth, owned)
        self.in_loop = outer
        self.effect(indent - looped, f"after-{self.number()}")

    def _finally(self, indent: int, depth: int, owned: str) -> None:
        self.put(indent, "try:")
        self.body(indent + 1, depth, owned)
        self.put(indent, "finally:")
        self.cleanup(indent + 1, owned)

    def _except(self, indent: int, depth: int, owned: str) -> None:
        self.put(indent, "try:")
        self.body(indent + 1, depth, owned)
        self.put(indent, "except (ValueError, StepError) as error:")
        self.put(indent + 1, "caught = type(error).__name__")
        self.put(
            indent + 1,
            f'{self.context}.step(lambda _: note("{self.name}", caught), name="caught-{self.number()}")',
        )
        if self.rng.random() < 0.3:
            self.put(indent + 1, "raise")
        self.put(indent, "finally:")
        self.cleanup(indent + 1, owned)

    def _except_else(self, indent: int, depth: int, owned: str) -> None:
        self.put(indent, "try:")
        self.effect(indent + 1, f"do-{self.number()}")
        self.failure(indent + 1)
        self.put(indent, "except (ValueError, StepError):")
        self.effect(indent + 1, f"caught-{self.number()}")
        self.put(indent, "else:")
        self.body(indent + 1, depth, owned)
        self.put(indent, "finally:")
        self.cleanup(indent + 1, owned)

    def _swallow(self, indent: int, depth: int, owned: str) -> None:
        self.put(indent, "try:")
        self.body(indent + 1, depth, owned)
        self.put(
            indent, self.rng.choice(["except BaseException:", "except:", "except BaseException as error:"])
        )
        self.cleanup(indent + 1, owned, about="undo")

    def _undo(self, indent: int, depth: int, owned: str) -> None:
        self.put(indent, "try:")
        self.body(indent + 1, depth, owned)
        self.put(indent, self.rng.choice(["except BaseException:", "except:"]))
        self.cleanup(indent + 1, owned, about="undo")
        self.put(indent + 1, "raise")

    def _undo_e(self, indent: int, depth: int, owned: str) -> None:
        self.put(indent, "try:")
        self.body(indent + 1, depth, owned)
        self.put(indent, "except BaseException as error:")
        self.cleanup(indent + 1, owned, about="undo")
        self.put(indent + 1, f'note("{self.name}", type(error).__name__)')
        self.put(indent + 1, "raise error")

    def _undo_finally(self, indent: int, depth: int, owned: str) -> None:
        self._undo(indent, depth, owned)
        self.put(indent, "finally:")
        self.cleanup(indent + 1, owned)

    def _stack(self, indent: int, depth: int, owned: str) -> None:
        self.put(indent, "with contextlib.ExitStack() as stack:")
        number = self.number()
        for index in range(self.rng.choice([1, 2])):
            text = f"stack-{number}-{index}"
            roll = self.rng.random()
            if roll < 0.4:
                self.put(indent + 1, f'stack.callback(note, "{self.name}", f"{text} {{{owned}}}")')
            elif roll < 0.6:
                self.put(indent + 1, f'stack.callback(lambda: note("{self.name}", f"{text} {{{owned}}}"))')
            elif roll < 0.7:
                self.put(indent + 1, f'stack.push(lambda *_: touch("{self.name}", "{text}"))')
            elif roll < 0.85:
                self.put(indent + 1, f"for part_{number} in range(2):")
                self.put(indent + 2, f'stack.callback(note, "{self.name}", f"{text} {{part_{number}}}")')
            else:
                self.put(
                    indent + 1,
                    f'session_{number} = stack.enter_context(contextlib.closing(Session("{self.name}", "{text}")))',
                )
        self.body(indent + 1, depth, owned)

    def _closing(self, indent: int, depth: int, owned: str) -> None:
        number = self.number()
        made = f'contextlib.closing(Session("{self.name}", "session-{number}"))'
        target = self.rng.choice([f" as session_{number}", ""])
        self.put(indent, f"with {made}{target}:")
        self.body(indent + 1, depth, owned)

    def _closing_2(self, indent: int, depth: int, owned: str) -> None:
        number = self.number()
        made = f'contextlib.closing(Session("{self.name}", "session-{number}")) as session_{number}'
        other = f'contextlib.closing(Session("{self.name}", "other-{number}")) as other_{number}'
        self.put(indent, f"with {made}, contextlib.nullcontext(1) as one, {other}:")
        self.body(indent + 1, depth, owned)

    def _manager(self, indent: int, depth: int, owned: str) -> None:
        number = self.number()
        inside = Writer(self.rng, self.name, count=self.count, context="held_context")
        inside.put(0, "@contextlib.contextmanager")
        inside.put(0, f"def held_{self.name}_{number}(event, held_context: DurableContext, owned):")
        inside.effect(1, f"enter-{number}")
        inside.put(1, "try:")
        inside.put(2, 'yield "held"')
        inside.put(1, "finally:")
        inside.cleanup(2, "owned")
        self.count = inside.count
        self.features += inside.features
        self.before += [*inside.lines, "", ""]
        self.put(indent, f"with held_{self.name}_{number}(event, {self.context}, {owned}):")
        self.body(indent + 1, depth, owned)

    def _manager_undo(self, indent: int, depth: int, owned: str) -> None:
        number = self.number()
        inside = Writer(self.rng, self.name, count=self.count, context="held_context")
        inside.put(0, "@contextlib.contextmanager")
        inside.put(0, f"def held_{self.name}_{number}(event, held_context: DurableContext, owned):")
        inside.put(1, "try:")
        inside.put(2, "yield")
        inside.put(1, "except BaseException:")
        inside.cleanup(2, "owned", about="undo")
        inside.put(2, "raise")
        self.count = inside.count
        self.features += inside.features
        self.before += [*inside.lines, "", ""]
        self.put(indent, f"with held_{self.name}_{number}(event, {self.context}, {owned}):")
        self.body(indent + 1, depth, owned)

    before: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Written:
    """A handler: its name, its source (a function `name(event, context)` and what it needs), what it is made of."""

    name: str
    source: str
    features: tuple[str, ...]


def handler(seed: int) -> Written:
    """Return the handler of a seed."""
    rng = random.Random(seed)
    name = f"h{seed}"
    reach = rng.choice(["parameter", "parameter", "attribute", "closure"])
    writer = Writer(rng, name)
    writer.feature(reach)
    depth = rng.choice([0, 1, 1, 2])
    if reach == "attribute":
        writer.context = "self.durable"
        writer.put(0, f"class Job{seed}:")
        writer.put(1, "def __init__(self, durable: DurableContext):")
        writer.put(2, "self.durable = durable")
        writer.put(0, "")
        writer.put(1, "def run(self, event):")
        indent = 2
    elif reach == "closure":
        writer.put(0, f"def {name}(event, context: DurableContext):")
        writer.put(1, "def work():")
        indent = 2
    else:
        writer.put(0, f"def {name}(event, context: DurableContext):")
        indent = 1
    writer.put(indent, "later = None")
    writer.block(indent, depth)
    if rng.random() < 0.3:
        writer.block(indent, 0)
    writer.put(
        indent, "return later" if "read-later" in writer.features and rng.random() < 0.7 else 'return "end"'
    )
    if reach == "attribute":
        writer.put(0, "")
        writer.put(0, "")
        writer.put(0, f"def {name}(event, context: DurableContext):")
        writer.put(1, f"return Job{seed}(context).run(event)")
    elif reach == "closure":
        writer.put(0, "")
        writer.put(1, "return work()")
    source = "\n".join([*writer.before, *writer.lines]) + "\n"
    return Written(name, source, tuple(writer.features))


def module(written: list[Written]) -> str:
    """Return a module with several handlers."""
    return HEADER + "\n\n".join(each.source for each in written)
