"""A rule's page reads well in a terminal: no markup that a page needs only on a site."""

from __future__ import annotations

from durable_lint.report.explain import paragraph, render, strip_front_matter
from durable_lint.report.style import Style

PAGE = """\
# LDC999: sample

One **bold** `code` [page](other.md)
and a [site](https://example.com/x).

| | |
| --- | --- |
| place | the `finally` keyword |
| `on` by default | yes |

<!-- example: body lint=LDC101 -->
```python
x = "`not inline`"  # | not | a table
```

<!-- example: prints -->
```text
| kept |
```
"""


def shown(style: Style) -> str:
    return "".join(render(PAGE, style))


def test_plain_text_has_aligned_tables_indented_code_and_no_comments() -> None:
    assert (
        shown(Style())
        == """\
# LDC999: sample

One bold `code` page
and a site (https://example.com/x).

  place            the `finally` keyword
  `on` by default  yes

    x = "`not inline`"  # | not | a table

It prints:

    | kept |
"""
    )


def test_on_a_terminal_it_is_coloured_linked_and_aligned_all_the_same() -> None:
    text = shown(Style(color=True, links=True))
    assert "\x1b[1;34mLDC999: sample\x1b[0m" in text
    assert "\x1b]8;;https://example.com/x\x1b\\site\x1b]8;;\x1b\\" in text
    assert "  place          the \x1b[36mfinally\x1b[0m keyword\n" in text
    assert "  \x1b[36mon\x1b[0m by default  yes\n" in text


def test_the_first_paragraph_is_plain_text_on_one_line() -> None:
    assert paragraph(PAGE) == "One bold code page and a site."


def test_what_a_site_generator_wants_at_the_start_is_left_out() -> None:
    assert strip_front_matter("---\ntitle: x\n---\n\n# y\n") == "# y\n"
    assert strip_front_matter("--- no front matter\n") == "--- no front matter\n"
