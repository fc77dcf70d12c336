"""A page: sections of facts, tables and pictures, as one HTML file that needs nothing beside it."""

import base64
import dataclasses
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Any

from matplotlib.figure import Figure

from plot_report.look import png

STYLE = """
body { font: 15px/1.5 system-ui, "DejaVu Sans", sans-serif; color: #1a1a1a; background: #fff;
  max-width: 1240px; margin: 2em auto; padding: 0 1.5em; }
h1 { font-size: 1.7em; margin-bottom: 0; }
h2 { font-size: 1.35em; margin-top: 2.5em; border-top: 2px solid #1a1a1a; padding-top: .6em; overflow-wrap: anywhere; }
h3 { font-size: 1.1em; margin: 2em 0 .4em; }
.note, figcaption { color: #555; max-width: 62em; }
.verdict { border-left: 4px solid #0072B2; background: #f3f7fb; padding: .6em 1em .6em 2em; margin: 1em 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 13.5px; }
th, td { padding: .25em .7em; text-align: right; border-bottom: 1px solid #ddd; vertical-align: top; }
th { border-bottom: 2px solid #888; vertical-align: bottom; }
tbody tr:hover { background: #f5f5f5; }
td.text, th.text { text-align: left; }
td.gap { text-align: left; font-style: italic; color: #555; }
dd code { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: .92em; overflow-wrap: anywhere; }
td b { color: #A84300; }
.noisy { color: #A84300; font-size: .85em; }
.range { color: #666; font-size: .85em; }
td { white-space: nowrap; }
td.text, td.gap { white-space: normal; min-width: 7em; max-width: 32em; overflow-wrap: anywhere; }
tr.group td { text-align: left; font-weight: bold; background: #eee; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15em 1.2em; }
dt { color: #555; }
dd { margin: 0; overflow-wrap: anywhere; }
figure { margin: 0 0 1.5em; }
img { max-width: 100%; height: auto; }
nav { margin: 1em 0; }
@media print { figure, tr { break-inside: avoid; } .scroll { overflow-x: visible; } }
"""


Columns = Sequence[tuple[str, Callable[[Any], str]]]


class Html(str):
    """Text that is HTML already; any other is escaped."""


@dataclasses.dataclass(frozen=True)
class Table:
    title: str
    head: Sequence[str]
    # A row shorter than the head ends in a cell that spans the rest; one of a single cell is a heading.
    rows: Sequence[Sequence[str]]
    texts: int = 1  # columns from the left that hold no numbers
    note: str = ""

    @classmethod
    def of(cls, title: str, columns: Columns, entries: Iterable[Any], texts: int = 1, note: str = "") -> "Table":
        """A row for each entry. `columns`: a heading, and what makes an entry's text of it."""
        rows = [[text(entry) for _, text in columns] for entry in entries]
        return cls(title, [head for head, _ in columns], rows, texts, note)


@dataclasses.dataclass(frozen=True)
class Picture:
    name: str  # of its file
    title: str
    caption: str  # how to read it
    image: bytes  # a PNG

    @classmethod
    def of(cls, name: str, title: str, caption: str, figure: Figure) -> "Picture":
        return cls(name, title, caption, png(figure))


@dataclasses.dataclass(frozen=True)
class Note:
    """A sentence in the place of a picture that there is nothing to draw for."""

    text: str


@dataclasses.dataclass(frozen=True)
class Section:
    """What a page says of one document."""

    title: str
    facts: Sequence[tuple[str, str]]
    verdict: Sequence[str]
    parts: Sequence[Table | Picture | Note]

    def pictures(self) -> list[Picture]:
        return [part for part in self.parts if isinstance(part, Picture)]


def html(text: str) -> str:
    return text if isinstance(text, Html) else escape(text)


def code(text: str) -> Html:
    return Html(f"<code>{escape(text)}</code>")


def page(title: str, sections: Sequence[Section]) -> str:
    links = " · ".join(f'<a href="#s{i}">{escape(section.title)}</a>' for i, section in enumerate(sections))
    contents = f"<nav>{links}</nav>\n" if len(sections) > 1 else ""
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(title)}</title>\n'
        f'<meta name="viewport" content="width=device-width">\n<style>{STYLE}</style>\n</head>\n<body>\n'
        f"<h1>{escape(title)}</h1>\n{contents}{''.join(section_html(i, each) for i, each in enumerate(sections))}"
        "</body>\n</html>\n"
    )


def section_html(index: int, section: Section) -> str:
    facts = "".join(f"<dt>{escape(name)}</dt><dd>{html(value)}</dd>\n" for name, value in section.facts)
    verdict = "".join(f"<li>{escape(sentence)}</li>\n" for sentence in section.verdict)
    verdict = f'<ul class="verdict">\n{verdict}</ul>\n' if verdict else ""
    parts = "".join(map(part_html, section.parts))
    return f'<h2 id="s{index}">{escape(section.title)}</h2>\n{verdict}<dl>\n{facts}</dl>\n{parts}'


def part_html(part: Table | Picture | Note) -> str:
    match part:
        case Table():
            return table_html(part)
        case Picture():
            return picture_html(part)
        case Note():
            return f'<p class="note">{escape(part.text)}</p>\n'


def picture_html(picture: Picture) -> str:
    data = base64.b64encode(picture.image).decode()
    return (
        f'<figure id="{escape(picture.name)}">\n<h3>{escape(picture.title)}</h3>\n'
        f'<img alt="{escape(picture.title)}" src="data:image/png;base64,{data}">\n'
        f"<figcaption>{escape(picture.caption)}</figcaption>\n</figure>\n"
    )


def table_html(table: Table) -> str:
    head = "".join(cell("th", i, text, table) for i, text in enumerate(table.head))
    rows = "".join(row_html(row, table) for row in table.rows)
    note = f'<p class="note">{escape(table.note)}</p>\n' if table.note else ""
    return (
        f'<h3>{escape(table.title)}</h3>\n{note}<div class="scroll"><table>\n<thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{rows}</tbody>\n</table></div>\n"
    )


def row_html(row: Sequence[str], table: Table) -> str:
    cells = [cell("td", i, text, table) for i, text in enumerate(row)]
    if len(row) < len(table.head):
        cells[-1] = f'<td class="gap" colspan="{len(table.head) - len(row) + 1}">{html(row[-1])}</td>'
    kind = ' class="group"' if len(row) == 1 else ""
    return f"<tr{kind}>{''.join(cells)}</tr>\n"


def cell(tag: str, column: int, text: str, table: Table) -> str:
    kind = ' class="text"' if column < table.texts else ""
    return f"<{tag}{kind}>{html(text)}</{tag}>"
