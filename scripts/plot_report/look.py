"""What all pictures share: colours, names, numbers, and panels with a row for each input."""

import io
import math
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from matplotlib.transforms import offset_copy

from plot_report.runs import Runs

# Okabe and Ito's palette, which people with any kind of colour blindness can tell apart.
BLUE, ORANGE, GREEN, VERMILLION = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, SKY, BLACK = "#CC79A7", "#56B4E9", "#000000"
HUES = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILLION)
IMAGES = ("original", "resize", "roi", "raw")  # in the order of HUES; others come behind them
FOLDER, GREY, PALE = "#555555", "#999999", "#EEEEEE"
LOSS = "#A84300"  # VERMILLION, dark enough for text
MARKERS = "osD^vPX<>p*"
SHADES = (-0.3, 0.0, 0.25, 0.45)  # of a hue: darker, itself, paler
LABEL = 26  # characters of a name that a picture shows

WIDTH = 12.0  # inches of a picture with several panels
ROW = 0.23  # of an input
BAR = 0.72  # of a row
ROW_TEXT = 7.5  # points of what stands at a bar's end
TITLE_LETTER, LEGEND_LETTER, LEGEND_SAMPLE, LEGEND_LINE = 0.1, 0.066, 0.62, 0.19  # inches

matplotlib.rcParams.update({
    "font.family": "DejaVu Sans",  # comes with matplotlib
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "figure.titlesize": 11.5,
    "figure.titleweight": "bold",
    "legend.frameon": False,
    "hatch.linewidth": 0.6,
    "text.parse_math": False,  # a name may hold a $
    "savefig.dpi": 144,
})  # fmt: skip


class Palette:
    """A colour and a marker for each input, the same in all pictures of a page.

    Few inputs have a colour each. With more, the hue tells how images are stored, and shade and marker the format.
    """

    def __init__(self, inputs: Iterable[dict[str, Any]]) -> None:
        self.inputs = {entry["name"]: entry for entry in inputs}
        packed = [name for name, entry in self.inputs.items() if entry["format"] != "folder"]
        formats = ordered(self.inputs[name]["format"] for name in packed)
        images = ordered([*IMAGES, *(self.inputs[name]["image"] for name in packed)])
        self.by_format = len(packed) > len(HUES)
        self.looks: dict[str, tuple[Any, str]] = {}
        for i, name in enumerate(packed):
            row, shade = images.index(self.inputs[name]["image"]), formats.index(self.inputs[name]["format"])
            if self.by_format:
                look = paler(HUES[row % len(HUES)], SHADES[shade % len(SHADES)]), MARKERS[shade % len(MARKERS)]
            else:
                look = to_rgb(HUES[i]), MARKERS[i]
            self.looks[name] = look

    def colour(self, name: str) -> Any:
        return self.looks.get(name, (to_rgb(FOLDER), ""))[0]

    def marker(self, name: str) -> str:
        return self.looks.get(name, (None, "s"))[1]

    def format(self, name: str) -> str:
        return self.inputs[name]["format"] if name in self.inputs else ""


def ordered(values: Iterable[str]) -> list[str]:
    """Each once, as they first come."""
    return list(dict.fromkeys(values))


def paler(colour: Any, share: float) -> tuple[float, ...]:
    """Nearer to white by a share of the way; with a negative one, to black."""
    return tuple(channel + ((1 - channel) if share > 0 else channel) * share for channel in to_rgb(colour))


def label(name: str) -> str:
    """A name short enough to stand beside a row: of a long one, its ends."""
    if len(name) <= LABEL:
        return name
    half = (LABEL - 1) // 2
    return f"{name[:half]}…{name[-half:]}"


def condition_name(condition: dict[str, Any]) -> str:
    return condition["name"] + (" (simulated)" if condition["kind"] == "simulated" else "")


def condition_details(condition: dict[str, Any]) -> str:
    if condition["kind"] == "warm":
        return "all in the page cache"
    if condition["kind"] == "cold":
        names = "" if condition.get("names_dropped", True) else ", but names and inodes of files in memory"
        return "nothing in the page cache" + names
    if condition["kind"] == "remote":
        return "from a URL, with nothing kept"
    speed = "no limit of speed" if condition["mb_per_s"] is None else f"{number(condition['mb_per_s'])} MB/s"
    depth = "any number" if condition["depth"] is None else f"{condition['depth']:g}"
    times = f"{number(condition['open_ms'])} ms to open, {number(condition['access_ms'])} ms to access"
    return f"simulated: {times}, {speed}, {depth} at a time"


def number(value: float, aligned: bool = False) -> str:
    """Three digits, or all of a whole number: 12,345, 123, 12.3, 0.123. `aligned` keeps zeros at the end: 3.10."""
    if value == 0:
        return "0"
    places = 2 - math.floor(math.log10(abs(value)))
    rounded = round(value, places)
    if abs(rounded) >= 100:
        return f"{value:,.0f}"
    if abs(rounded) < 0.0001:
        return f"{value:.1e}"
    text = f"{rounded:.{max(0, places)}f}"
    return text.rstrip("0").rstrip(".") if "." in text and not aligned else text


def bytes_text(value: float) -> str:
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if abs(value) >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.0f} B"


def times(value: float) -> str:
    return f"{value:.0f}×" if value >= 100 else f"{value:.1f}×" if value >= 10 else f"{value:.2f}×"


def png(figure: Figure) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format="png", metadata={"Software": None})
    return file.getvalue()


# --- panels --------------------------------------------------------------------------------------


def panels(count: int, rows: int, title: str, share_x: bool, columns: int = 3) -> tuple[Figure, list[Axes]]:
    """A figure of `count` panels side by side, at most `columns` in a row, each high enough for `rows` inputs."""
    columns = min(count, columns)
    lines = -(-count // columns)
    width = {1: 9.0, 2: 10.5}.get(columns, WIDTH)
    height = 0.6 + lines * (ROW * max(rows, 3) + 0.95)
    figure = Figure(figsize=(width, height), layout="constrained")
    grid = figure.subplots(lines, columns, sharex=share_x, sharey=True, squeeze=False)
    head(figure, title)
    axes = list(grid.flat)
    for spare in axes[count:]:
        spare.remove()
    for each in axes[:count]:
        each.tick_params(labelbottom=True)
    return figure, axes[:count]


def name_rows(axes: Axes, names: Sequence[str], palette: Palette) -> None:
    """A row for each input from the top down: its name, and a square of its colour."""
    middle, half = (len(names) - 1) / 2, max(len(names), 3) / 2  # one bar does not fill a panel
    axes.set_ylim(middle + half, middle - half)
    axes.set_yticks(range(len(names)), [label(name) for name in names])
    axes.tick_params(axis="y", length=0, pad=12)
    axes.spines["left"].set_visible(False)
    beside = offset_copy(axes.get_yaxis_transform(), axes.figure, x=-7, units="points")
    for y, name in enumerate(names):
        axes.plot([0], [y], transform=beside, marker="s", markersize=5, color=palette.colour(name), clip_on=False)


def row_panels(runs: Runs, palette: Palette, title: str, share_x: bool) -> tuple[Figure, list[Axes]]:
    """A panel for each condition with a row for each input."""
    figure, axes = panels(len(runs.conditions), len(runs.names), title, share_x)
    for each, condition in zip(axes, runs.conditions):
        each.set_title(condition_name(condition))
        each.grid(axis="x", color=PALE)
        name_rows(each, runs.names, palette)
        for y, name in enumerate(runs.names):
            if runs.of(name, condition) is None:
                note_row(each, y, "not measured")
    return figure, axes


def note_row(axes: Axes, y: float, text: str) -> None:
    """What stands in a row that has no figure."""
    where = axes.get_yaxis_transform()
    axes.text(0.02, y, text, transform=where, fontsize=ROW_TEXT, style="italic", color=FOLDER, va="center")


def row_text(axes: Axes, y: float, x: float, text: str, **look: Any) -> None:
    """What stands behind a row's bar, which ends at `x`."""
    axes.annotate(text, (x, y), (4, 0), textcoords="offset points", va="center", fontsize=ROW_TEXT, **look)


def head(figure: Figure, title: str) -> None:
    """The title of a picture, on as many lines as its width asks for."""
    figure.suptitle(textwrap.fill(title, int(figure.get_figwidth() / TITLE_LETTER)))


def legend_below(figure: Figure, handles: Sequence[Any], columns: int = 6, title: str | None = None) -> None:
    """Below all panels, in as many columns as fit; the figure grows by its height."""
    entry = LEGEND_SAMPLE + LEGEND_LETTER * max(len(handle.get_label()) for handle in handles)
    columns = max(1, min(columns, len(handles), int(figure.get_figwidth() / entry)))
    figure.set_figheight(figure.get_figheight() + LEGEND_LINE * (-(-len(handles) // columns) + bool(title)))
    figure.legend(handles=handles, loc="outside lower center", ncols=columns, fontsize=8.5, title=title)


# --- scales --------------------------------------------------------------------------------------


STEPS = (  # of a decade, from fine to coarse
    (1, 1.1, 1.2, 1.3, 1.5, 1.7, 2, 2.5, 3, 4, 5, 6, 7, 8, 9, 9.5),
    (1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 9),
    (1, 1.5, 2, 3, 5, 7),
    (1, 2, 5),
    (1, 3),
    (1,),
)


def ratio_ticks(low: float, high: float) -> list[float]:
    """At most seven round factors between two limits of a logarithmic axis; 1 is one of them if it is between."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in STEPS:
        found = [step * 10.0**decade for decade in decades for step in steps]
        found = [value for value in found if low <= value <= high]
        if len(found) <= 7:
            return found
    return found[:: -(-len(found) // 7)]


def log_axis(axis: Any, low: float, high: float, text: Any) -> None:
    """A logarithmic axis with few ticks, each with a text."""
    axis.set_major_locator(FixedLocator(ratio_ticks(low, high)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: text(value)))


def plain_axis(axis: Any) -> None:
    axis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
