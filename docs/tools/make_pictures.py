"""Draws docs/pictures/*.svg. Needs nothing but Python; the same input gives the same bytes.

Usage: python docs/tools/make_pictures.py [--check]
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import escape

PICTURES = Path(__file__).parents[1] / "pictures"

INK, MUTED, PAPER, LINE = "#1c2733", "#5c6b7a", "#ffffff", "#c9d2db"
BODY, BODY_FILL = "#1f5fa8", "#e3eefb"
GOOD, GOOD_FILL = "#1e7a46", "#e0f3e7"
BAD, BAD_FILL = "#b3261e", "#fce4e2"
WAIT, WAIT_FILL = "#8a6d00", "#fdf4d3"
SANS = "Helvetica, Arial, 'DejaVu Sans', sans-serif"
MONO = "Menlo, Consolas, 'DejaVu Sans Mono', monospace"


@dataclass
class Drawing:
    """A canvas in pixels, with what was drawn so far. Has state because a picture is drawn part by part."""

    width: int
    height: int
    title: str
    description: str
    parts: list[str] = field(default_factory=list)

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        fill: str,
        stroke: str,
        radius: float = 6,
        dash: str = "",
    ) -> None:
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{radius:g}" '
            f'fill="{fill}" stroke="{stroke}" stroke-width="1.5"{dashed}/>'
        )

    def text(
        self,
        x: float,
        y: float,
        words: str,
        *,
        size: float = 13,
        fill: str = INK,
        anchor: str = "start",
        bold: bool = False,
        mono: bool = False,
    ) -> None:
        weight = ' font-weight="bold"' if bold else ""
        self.parts.append(
            f'<text x="{x:g}" y="{y:g}" font-family="{MONO if mono else SANS}" font-size="{size:g}" '
            f'fill="{fill}" text-anchor="{anchor}"{weight}>{escape(words)}</text>'
        )

    def lines(
        self, x: float, y: float, words: list[str], *, size: float = 12, fill: str = MUTED, step: float = 16
    ) -> None:
        for row, line in enumerate(words):
            self.text(x, y + row * step, line, size=size, fill=fill)

    def line(
        self, points: list[tuple[float, float]], stroke: str = MUTED, *, arrow: bool = False, dash: str = ""
    ) -> None:
        path = "M" + " L".join(f"{x:g} {y:g}" for x, y in points)
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(f'<path d="{path}" fill="none" stroke="{stroke}" stroke-width="1.8"{dashed}/>')
        if arrow:
            self._head(points[-2], points[-1], stroke)

    def _head(self, before: tuple[float, float], tip: tuple[float, float], fill: str) -> None:
        (x, y), length = tip, 9
        across = abs(tip[0] - before[0]) > abs(tip[1] - before[1])
        sign = 1 if (tip[0] > before[0] if across else tip[1] > before[1]) else -1
        back = [(x - sign * length, y - 4.5), (x - sign * length, y + 4.5)]
        if not across:
            back = [(x - 4.5, y - sign * length), (x + 4.5, y - sign * length)]
        corners = " ".join(f"{a:g},{b:g}" for a, b in [tip, *back])
        self.parts.append(f'<polygon points="{corners}" fill="{fill}"/>')

    def label_box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        words: list[str],
        fill: str,
        stroke: str,
        *,
        mono: bool = False,
    ) -> None:
        """A box with centred lines; the first is bold unless the box shows code."""
        self.box(x, y, width, height, fill, stroke)
        top = y + height / 2 - (len(words) - 1) * 8 + 4.5
        for row, line in enumerate(words):
            bold = row == 0 and not mono
            self.text(
                x + width / 2,
                top + row * 16,
                line,
                size=12.5 if bold else 11.5,
                fill=INK if row == 0 or mono else MUTED,
                anchor="middle",
                bold=bold,
                mono=mono,
            )

    def svg(self) -> str:
        body = "\n".join(self.parts)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{self.height}" '
            f'viewBox="0 0 {self.width} {self.height}" role="img" aria-labelledby="title description">\n'
            f'<title id="title">{escape(self.title)}</title>\n'
            f'<desc id="description">{escape(self.description)}</desc>\n'
            f'<rect width="{self.width}" height="{self.height}" fill="{PAPER}"/>\n{body}\n</svg>\n'
        )


# ---------------------------------------------------------------- the hazard, on the replay timeline


def hazard() -> Drawing:
    drawing = Drawing(
        980,
        664,
        "What a suspension does to finally, and to a terminal scope",
        "Two timelines of the same handler. Above, with finally: the MicroVM is terminated when the first "
        "invocation suspends, so the review has no machine, and at the true end nothing is terminated. "
        "Below, with a terminal scope: nothing runs at the suspension, and the MicroVM is terminated once, "
        "at the end.",
    )
    _timeline(drawing, 20, scope=False)
    _timeline(drawing, 342, scope=True)
    return drawing


def _timeline(drawing: Drawing, top: float, *, scope: bool) -> None:
    colour = GOOD if scope else BAD
    heading = (
        "With terminal_scope: the cleanup waits for the end"
        if scope
        else "With finally: the suspension runs it"
    )
    drawing.text(24, top + 16, heading, size=16, bold=True, fill=colour)
    columns = [
        (118, 366, "Invocation 1", BODY),
        (492, 166, "No invocation", WAIT),
        (666, 290, "Invocation 2 (replay)", BODY),
    ]
    for x, width, name, ink in columns:
        waiting = ink == WAIT
        drawing.box(
            x, top + 32, width, 192, WAIT_FILL if waiting else "#f6f9fc", LINE, dash="5 4" if waiting else ""
        )
        drawing.text(x + width / 2, top + 52, name, bold=True, fill=ink, anchor="middle")
    drawing.text(24, top + 104, "Handler", bold=True)
    drawing.text(24, top + 274, "MicroVM", bold=True)
    calls = [(126, 76, "launch"), (208, 84, "dispatch"), (298, 90, "result()")]
    for x, width, name in calls:
        drawing.label_box(x, top + 80, width, 40, [name], BODY_FILL, BODY, mono=True)
    drawing.text(343, top + 138, "suspends", size=11.5, fill=WAIT, anchor="middle", bold=True)
    drawing.lines(
        502, top + 88, ["the reviewer works,", "minutes to days,", "and needs the MicroVM"], fill=INK
    )
    for x, width, name in [(674, 60, "launch"), (740, 68, "dispatch"), (814, 62, "result()")]:
        drawing.box(x, top + 80, width, 40, PAPER, BODY, dash="3 3")
        drawing.text(x + width / 2, top + 104, name, size=10.5, mono=True, anchor="middle")
    drawing.text(741, top + 138, "not run again: read from", size=11, fill=MUTED, anchor="middle")
    drawing.text(741, top + 153, "their checkpoints", size=11, fill=MUTED, anchor="middle")
    y = top + 252
    if scope:
        drawing.text(435, top + 96, "terminate", size=11, anchor="middle", fill=GOOD, bold=True)
        drawing.text(435, top + 112, "is registered", size=11, anchor="middle", fill=GOOD, bold=True)
        drawing.label_box(882, top + 80, 68, 40, ["terminate"], GOOD_FILL, GOOD, mono=True)
        drawing.line([(916, top + 122), (916, y - 2)], GOOD, arrow=True)
        drawing.text(906, top + 186, "once, at the end", size=11.5, anchor="end", fill=GOOD, bold=True)
        drawing.label_box(164, y, 752, 34, ["running until the work is over"], GOOD_FILL, GOOD)
    else:
        drawing.label_box(396, top + 80, 80, 40, ["terminate"], BAD_FILL, BAD, mono=True)
        drawing.text(436, top + 138, "in finally", size=11.5, fill=BAD, anchor="middle", bold=True)
        drawing.line([(436, top + 146), (436, y - 2)], BAD, arrow=True)
        drawing.label_box(164, y, 272, 34, ["running"], GOOD_FILL, GOOD)
        drawing.label_box(444, y, 512, 34, ["gone while the review still needs it"], BAD_FILL, BAD)
        drawing.box(882, top + 80, 68, 40, PAPER, BAD, dash="3 3")
        drawing.text(916, top + 104, "terminate", size=10.5, mono=True, anchor="middle")
        drawing.text(944, top + 176, "does nothing at the end:", size=11.5, anchor="end", fill=BAD, bold=True)
        drawing.text(944, top + 192, "its checkpoint says done", size=11.5, anchor="end", fill=BAD, bold=True)
    drawing.line([(164, top + 122), (164, y - 2)], MUTED, arrow=True, dash="3 3")


# ---------------------------------------------------------------- the lifecycle of a scope


def lifecycle() -> Drawing:
    drawing = Drawing(
        980,
        560,
        "The lifecycle of a terminal scope",
        "The body runs and registers. When it suspends, no action runs, and it is replayed later. When it "
        "ends, an outcome is recorded; after a failure or cancellation the compensations run in reverse "
        "order, then always the cleanups in reverse order; then the scope gives the result or raises.",
    )
    drawing.text(24, 32, "The lifecycle of a scope", size=16, bold=True)
    drawing.label_box(
        40,
        70,
        220,
        70,
        ["Body runs", "cleanup(...), compensate(...)", "declare; nothing runs"],
        BODY_FILL,
        BODY,
    )
    drawing.label_box(
        40, 250, 220, 70, ["Suspended", "no action runs", "the invocation ends"], WAIT_FILL, WAIT
    )
    drawing.line([(110, 142), (110, 248)], WAIT, arrow=True)
    drawing.text(102, 200, "suspends", size=12, fill=WAIT, anchor="end")
    drawing.line([(190, 248), (190, 142)], WAIT, arrow=True)
    drawing.lines(198, 190, ["replay registers", "again"], fill=WAIT)
    drawing.label_box(
        40,
        430,
        220,
        84,
        ["No outcome", "process gone, retryable error,", "orphaned branch, SystemExit:", "no action runs"],
        "#f1f3f5",
        MUTED,
    )
    drawing.line([(40, 105), (18, 105), (18, 472), (38, 472)], MUTED, arrow=True, dash="4 4")
    drawing.lines(40, 532, ["a new invocation, if there is one, replays the body"], size=11.5)

    drawing.line([(260, 105), (330, 105)], BODY, arrow=True)
    drawing.text(295, 96, "ends", size=12, fill=BODY, anchor="middle")
    drawing.label_box(
        332, 70, 200, 70, ["Outcome recorded", "step  <scope>.outcome", "fixed from here on"], BODY_FILL, BODY
    )
    rows = [
        ("SUCCEEDED", "a value came back", GOOD, GOOD_FILL),
        ("FAILED", "an Exception", BAD, BAD_FILL),
        ("CANCELLED", "ScopeCancelled, cancelled_by", WAIT, WAIT_FILL),
    ]
    for row, (name, why, stroke, fill) in enumerate(rows):
        y = 200 + row * 84
        drawing.label_box(332, y, 200, 56, [name, why], fill, stroke)
    drawing.line([(432, 142), (432, 198)], BODY, arrow=True)
    drawing.text(440, 176, "one of", size=12, fill=MUTED)

    drawing.label_box(
        600,
        276,
        170,
        148,
        [
            "Compensations",
            "newest first",
            "",
            "each a durable step",
            "or child context,",
            "with its own retries",
        ],
        PAPER,
        BAD,
    )
    drawing.line([(534, 312), (598, 312)], BAD, arrow=True)
    drawing.line([(534, 396), (598, 396)], WAIT, arrow=True)
    drawing.text(566, 388, "policy", size=11.5, fill=WAIT, anchor="middle")
    drawing.lines(
        600, 442, ["on cancellation, the policy can leave", "out compensations, cleanups or both"], size=11.5
    )
    drawing.label_box(
        790,
        154,
        166,
        148,
        ["Cleanups", "newest first", "", "each a durable step", "or child context,", "with its own retries"],
        PAPER,
        GOOD,
    )
    drawing.line([(534, 228), (788, 228)], GOOD, arrow=True)
    drawing.line([(772, 350), (872, 350), (872, 304)], MUTED, arrow=True)
    drawing.lines(
        786,
        370,
        ["an action that fails does", "not stop the others; one", "that suspends goes on later"],
        size=11.5,
    )
    drawing.label_box(752, 60, 204, 56, ["Scope ends", "result, or the body's error"], BODY_FILL, BODY)
    drawing.line([(872, 152), (872, 118)], MUTED, arrow=True)
    drawing.lines(
        332,
        510,
        [
            "Replay skips every action that has completed. Changing the list of registrations",
            "of an execution that has an outcome is refused.",
        ],
        fill=MUTED,
    )
    return drawing


# ---------------------------------------------------------------- the histories of the two forms


def forms() -> Drawing:
    drawing = Drawing(
        980,
        420,
        "The same work in both forms, as the history shows it",
        "In place: the body's operations keep their places in the enclosing context, followed by "
        "review.outcome and the actions. Isolated: one CONTEXT named review holds the body's operations, the "
        "outcome and the actions.",
    )
    drawing.text(24, 32, "In place", size=16, bold=True, fill=BODY)
    drawing.text(
        24, 52, 'with terminal_scope(context, name="review") as terminal:', size=11.5, mono=True, fill=MUTED
    )
    drawing.text(504, 32, "Isolated", size=16, bold=True, fill=BODY)
    drawing.text(504, 52, 'terminal_scope(context, review, name="review")', size=11.5, mono=True, fill=MUTED)
    body = [("launch-microvm", "STEP"), ("review-complete", "CALLBACK"), ("dispatch-review", "STEP")]
    after = [
        ("review.outcome", "STEP"),
        ("review.compensate.cancel-review", "STEP"),
        ("review.cleanup.terminate-microvm", "STEP"),
    ]
    _history(drawing, 24, 72, body, after)
    drawing.box(504, 72, 452, 30, BODY_FILL, BODY)
    drawing.text(516, 92, "review", size=12, mono=True, bold=True)
    drawing.text(944, 92, "CONTEXT", size=11, fill=MUTED, anchor="end")
    drawing.line([(520, 104), (520, 310)], LINE)
    _history(drawing, 540, 112, body, after, width=416)
    drawing.lines(
        24,
        330,
        [
            "Body operations keep the ids they had before the",
            "scope was put around them.",
            "One operation more: the outcome.",
        ],
        step=18,
    )
    drawing.lines(
        540,
        350,
        ["The body has ids of its own.", "Two operations more: the CONTEXT and the outcome."],
        step=18,
    )
    return drawing


def _history(
    drawing: Drawing,
    x: float,
    y: float,
    body: list[tuple[str, str]],
    after: list[tuple[str, str]],
    width: float = 452,
) -> None:
    for row, (name, kind) in enumerate([*body, *after]):
        fill, stroke = (PAPER, LINE) if row < len(body) else (GOOD_FILL, GOOD)
        if ".compensate." in name:
            fill, stroke = BAD_FILL, BAD
        if name.endswith(".outcome"):
            fill, stroke = BODY_FILL, BODY
        top = y + row * 36
        drawing.box(x, top, width, 28, fill, stroke)
        drawing.text(x + 12, top + 19, name, size=12, mono=True)
        drawing.text(x + width - 12, top + 19, kind, size=11, fill=MUTED, anchor="end")


DRAWINGS = {"hazard.svg": hazard, "lifecycle.svg": lifecycle, "forms.svg": forms}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit with status 1 when a picture is out of date"
    )
    check = parser.parse_args().check
    stale = []
    for name, draw in DRAWINGS.items():
        path, svg = PICTURES / name, draw().svg()
        if path.exists() and path.read_text(encoding="utf-8") == svg:
            continue
        stale.append(name)
        if not check:
            PICTURES.mkdir(exist_ok=True)
            path.write_text(svg, encoding="utf-8")
    verb = "out of date" if check else "written"
    sys.stdout.write("".join(f"docs/pictures/{name}: {verb}\n" for name in stale))
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
