"""Draws the README's picture of the loaders, from the table of `photos` in docs/measured/peers.md.

    python3 bench/peers/picture.py docs/pictures/loaders.svg
"""

import re
import sys
from pathlib import Path
from xml.sax.saxutils import escape

PAGE = Path(__file__).resolve().parents[2] / "docs/measured/peers.md"
LEFT, RIGHT, BAR, GAP, TOP = 230, 90, 16, 7, 44  # pixels
WIDTH = 760
STYLE = """text { font: 13px system-ui, sans-serif; fill: #24292f } .title { font-weight: 600; font-size: 15px }
.ours { fill: #b4530a } .theirs { fill: #8c959f }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .ours { fill: #f0883e } .theirs { fill: #6e7681 } }"""


def rates():
    """The contenders of the table and their medians, in images/s. Of packhorse's formats, as fast as each other, the tar."""
    section = PAGE.read_text().split("### `photos`:")[1].split("\n### ")[0]
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \| ([\d,]+) \(", section, re.M)
    return [(name, int(rate.replace(",", ""))) for name, rate in rows if not re.match("packhorse (lmdb|hdf5)", name)]


def picture(rows):
    largest = max(rate for _, rate in rows)
    height = TOP + len(rows) * (BAR + GAP) + GAP
    title = "Photos read and decoded, images/s on two cores, from memory"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{title}">',
        f"<style>{STYLE}</style>",
        f'<text class="title" x="{GAP}" y="24">{title}</text>',
    ]
    for number, (name, rate) in enumerate(rows):
        top = TOP + number * (BAR + GAP)
        length = round(rate / largest * (WIDTH - LEFT - RIGHT), 1)
        kind = "ours" if name.startswith("packhorse") else "theirs"
        lines += [
            f'<text x="{LEFT - GAP}" y="{top + 13}" text-anchor="end">{escape(name)}</text>',
            f'<rect class="{kind}" x="{LEFT}" y="{top}" width="{length}" height="{BAR}"/>',
            f'<text x="{LEFT + length + GAP}" y="{top + 13}">{rate:,}</text>',
        ]
    return "\n".join([*lines, "</svg>"]) + "\n"


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    Path(sys.argv[1]).write_text(picture(rates()))


if __name__ == "__main__":
    main()
