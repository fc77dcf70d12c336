"""scripts/plot: what it draws from the documents of packhorse-train, and which documents it refuses."""

import base64
import copy
import json
import os
import re
import shutil
import struct
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from python_support import ROOT

pytest.importorskip("matplotlib", reason="needs scripts/requirements-plot.txt")
pytest.importorskip("jsonschema", reason="needs scripts/requirements-plot.txt")

import report_support as made  # noqa: E402

with pytest.MonkeyPatch.context() as path_patch:
    path_patch.syspath_prepend(str(ROOT / "scripts"))
    import plot_report.page
    from plot_report import look, prediction, speed, steps, sweep
    from plot_report.documents import Unfit, load
    from plot_report.runs import Runs
    from plot_report.session import Session

PLOT = ROOT / "scripts/plot"
SCHEMAS = ROOT / "docs/schemas"
BUILDERS = {"measurement": made.measurement, "sweep": made.sweep, "prediction": made.prediction}
MEASURED = ["speedup-training", "storage", "step", "attribution", "latency", "speedup-read", "speedup-decode"]


def plot(*arguments: object) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, PLOT, *map(str, arguments)], capture_output=True, text=True, check=False)


class Page(HTMLParser):
    """The content of a page: sentences, rows of tables, and pictures by name."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.html, self.rows, self.pictures, self.words, self.figure = html, [], {}, [], ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list) -> None:
        fields = dict(attrs)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
        elif tag == "figure":
            self.figure = fields["id"]
        elif tag == "img":
            kind, data = fields["src"].split(",", 1)
            assert kind == "data:image/png;base64"
            self.pictures[self.figure] = base64.b64decode(data)

    def handle_data(self, data: str) -> None:
        self.words.append(data)
        if self.lasttag in ("td", "th", "b", "span", "br") and self.rows and self.rows[-1]:
            self.rows[-1][-1] += data.strip()

    @property
    def text(self) -> str:
        return " ".join("".join(self.words).split())


def write_page(files: list[Path], out: Path, images: Path | None = None) -> Page:
    session = Session.read(files)
    session.write(session.sections(), out, images)
    return Page(out.read_text())


def page_of(folder: Path, **documents: dict) -> Page:
    return write_page(made.write(folder, **documents), folder / "report.html")


def refusal(folder: Path, body: object) -> str:
    """What is said of a document that must be refused."""
    file = folder / "bad.json"
    file.write_text(body if isinstance(body, str) else json.dumps(body))
    with pytest.raises(Unfit) as refused:
        load(file)
    assert str(refused.value).startswith(str(file))
    return str(refused.value)


def size_of(png: bytes) -> tuple[int, int]:
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    return struct.unpack(">II", png[16:24])


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Page, Path, dict]:
    """5 inputs under 6 conditions, a sweep and a prediction, with the pictures as files too."""
    folder = tmp_path_factory.mktemp("whole")
    documents = {"measurement": made.measurement(5), "sweep": made.sweep(), "prediction": made.prediction(5)}
    out, images = folder / "report.html", folder / "images"
    done = plot(*made.write(folder, **documents), "--out", out, "--images", images)
    assert (done.returncode, done.stderr) == (0, "")
    return Page(out.read_text()), images, documents


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are laid out, but not drawn: for tests of what the page says beside them."""
    monkeypatch.setattr(plot_report.page, "png", lambda figure: b"")


# --- the schemas ---------------------------------------------------------------------------------


def undescribed(node: dict, path: str):
    for name, field in node.get("properties", {}).items():
        if "description" not in field and "$ref" not in field and "const" not in field:
            yield f"{path}.{name}"
        yield from undescribed(field, f"{path}.{name}")
    if isinstance(node.get("items"), dict):
        yield from undescribed(node["items"], f"{path}[]")


@pytest.mark.parametrize("kind", BUILDERS)
def test_a_schema_describes_every_field_and_takes_a_field_more(kind, tmp_path):
    from jsonschema import Draft202012Validator

    schema = json.loads((SCHEMAS / f"{kind}.schema.json").read_text())
    Draft202012Validator.check_schema(schema)
    assert "additionalProperties" not in schema  # fields are only ever added
    parts = [("", schema), *schema.get("$defs", {}).items()]
    assert [field for name, part in parts for field in undescribed(part, name)] == []
    (file,) = made.write(tmp_path, doc=BUILDERS[kind]() | {"added_later": {"x": 1}})
    assert load(file).kind == kind


def test_a_missing_field_is_named_with_its_place(tmp_path):
    for kind, where in [
        ("measurement", ["machine"]),
        ("measurement", ["inputs", 0, "file_system"]),
        ("measurement", ["runs", 1, "training", "wait_share"]),
        ("measurement", ["runs", 1, "decode", "images_per_s", "noisy"]),
        ("measurement", ["conditions", 2, "access_ms"]),
        ("sweep", ["points", 3, "memory_bytes"]),
        ("sweep", ["condition", "kind"]),
        ("prediction", ["machine", "devices"]),
        ("prediction", ["check", 0, "error"]),
    ]:
        body = node = BUILDERS[kind]()
        for step in where[:-1]:
            node = node[step]
        del node[where[-1]]
        place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in where[:-1])
        said = refusal(tmp_path, body)
        assert f'{place.removeprefix(".") or "the document"}: "{where[-1]}" is missing' in said
        assert f"docs/schemas/{kind}.schema.json" in said


def test_a_value_of_another_type_is_named_with_its_place(tmp_path):
    body = made.measurement(2, ("warm",))
    body["runs"][0]["training"]["loss"] = "none"
    body["conditions"][0]["kind"] = "hot"
    said = refusal(tmp_path, body)
    assert 'runs[0].training.loss: "none" is no number or null' in said
    assert 'conditions[0].kind: "hot" is none of warm, cold, simulated' in said


def test_many_faults_are_counted_not_listed(tmp_path):
    body = made.measurement(4)
    for run in body["runs"]:
        del run["attribution"]
    said = refusal(tmp_path, body)
    assert said.count("is missing") == 5 and f"and {len(body['runs']) - 5} more" in said


def test_names_that_lead_nowhere_or_come_twice_are_refused(tmp_path):
    body = made.measurement(2, ("warm",))
    body["runs"][1]["input"] = "lost"
    assert "runs[1].input: 'lost' is none of the document's inputs" in refusal(tmp_path, body)
    body = made.measurement(2, ("warm",))
    body["runs"].append(copy.deepcopy(body["runs"][1]))
    assert "runs[2]: 'wds original' under 'warm' is there twice" in refusal(tmp_path, body)


def test_what_is_no_document_is_refused_in_a_sentence(tmp_path):
    for text, said in {
        "": "it is empty: did the command that should have written it fail?",
        "{": "is not JSON",
        '{"schema": "packhorse-measurement/1", "workers": NaN}': "it holds NaN",
        '{"schema": "packhorse-measurement/2"}': "its field \"schema\" is 'packhorse-measurement/2'",
        "{}": 'it has no field "schema"',
        "[1]": "is none of the documents this program reads",
    }.items():
        assert said in refusal(tmp_path, text)


def test_the_program_refuses_with_a_sentence_and_writes_no_page(tmp_path):
    bad, out = tmp_path / "bad.json", tmp_path / "r.html"
    bad.write_text("{")
    for file, said in ((bad, "is not JSON"), (tmp_path / "no.json", "No such file or directory")):
        done = plot(file, "--out", out)
        assert (done.returncode, done.stdout) == (1, "") and not out.exists()
        assert done.stderr.startswith(f"plot: {file}") and said in done.stderr and "Traceback" not in done.stderr


def test_a_page_over_a_document_is_refused(tmp_path, undrawn):
    (file,) = made.write(tmp_path, m=made.measurement(2, ("warm",)))
    with pytest.raises(Unfit, match="is one of the documents"):
        write_page([file], file)
    json.loads(file.read_text())


def test_without_its_packages_it_uses_the_venv_or_says_what_to_do(tmp_path):
    shutil.copytree(ROOT / "scripts/plot_report", tmp_path / "scripts/plot_report")
    shutil.copy(PLOT, tmp_path / "scripts/plot")
    command = [sys.executable, "-S", tmp_path / "scripts/plot", "x.json", "--out", "y.html"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "run scripts/setup, or\n" in done.stderr
    python = tmp_path / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\necho "$@"\n')
    python.chmod(0o755)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout.endswith("scripts/plot x.json --out y.html\n")


# --- the page ------------------------------------------------------------------------------------


def test_the_page_needs_nothing_beside_it_and_has_every_picture(whole):
    page, images, _ = whole
    assert "<script" not in page.html
    assert re.findall(r'(?:src|href)="(?!data:image/png;base64,|#s\d+")', page.html) == []
    wanted = {*(f"measurement-{name}" for name in MEASURED), "sweep-sweep", "prediction-limits", "prediction-check"}
    assert page.pictures.keys() == wanted
    assert {path.name: path.read_bytes() for path in images.iterdir()} == {
        f"{name}.png": data for name, data in page.pictures.items()
    }
    for name, data in page.pictures.items():
        width, height = size_of(data)
        assert 1000 <= width <= 2100 and 300 <= height <= 2000, (name, width, height)


def test_the_page_says_machine_command_versions_and_verdict(whole):
    page, _, documents = whole
    body = documents["measurement"]
    for said in (body["command"], body["machine"]["processor"], "libtorch 2.11.0", *body["verdict"], "890 images/s"):
        assert said in page.text
    assert documents["sweep"]["recommended"]["reason"] in page.text


def test_the_tables_hold_every_figure(whole):
    page, _, documents = whole
    body = documents["measurement"]
    names = [entry["name"] for entry in body["inputs"]]
    for head in ("waiting, %", "MB/s", "sharing, s"):
        (start,) = [i for i, row in enumerate(page.rows) if row[:1] == ["input"] and head in row]
        table = page.rows[start + 1 : start + 1 + len(body["conditions"]) * (1 + len(names))]
        groups = [table[i : i + 1 + len(names)] for i in range(0, len(table), 1 + len(names))]
        for group, condition in zip(groups, body["conditions"], strict=True):
            assert group[0][0].startswith(condition["name"])
            assert [row[0] for row in group[1:]] == names
    assert sum(row[:1] == ["8"] and len(row) == 7 for row in page.rows) == 6  # points of the sweep with 8 batches
    checks = [row for row in page.rows if len(row) == 6 and row[-1].endswith("%")]
    assert len(checks) == len(documents["prediction"]["check"])
    (row,) = [row for row in page.rows if row[0] == "wds roi" and len(row) == 7 and row[2] == "storage"]
    assert row[1] == "27,049"


def test_a_simulated_condition_is_called_so_everywhere(whole):
    page, _, _ = whole
    for name in ("hdd", "sata-ssd", "nfs", "nvme"):
        rows = [row for row in page.rows if any(re.match(rf"{name}\b", cell) for cell in row)]
        assert rows and all(f"{name} (simulated)" in row for row in rows)
    assert not re.search(r"\b(warm|cold) \(simulated\)", page.text)
    assert "2 ms to open, 0.6 ms to access, 110 MB/s, 8 at a time" in page.text


def test_noise_is_marked(tmp_path, undrawn):
    body = made.measurement(3, ("warm",))
    body["runs"][1]["training"]["images_per_s"]["noisy"] = True
    page = page_of(tmp_path, m=body)
    assert [row[0] for row in page.rows if any("noisy" in cell for cell in row)] == ["wds original"]
    assert "1 of 3 runs are noisy" in page.text


def test_what_was_not_measured_is_named_with_its_reason(whole):
    page, _, documents = whole
    (gap,) = documents["measurement"]["not_measured"]
    assert [gap["input"], gap["condition"], gap["reason"]] in page.rows
    assert page.rows.count([gap["input"], f"not measured: {gap['reason']}"]) == 3


def test_a_loss_stands_out_and_what_the_spreads_allow_to_be_none_does_not(tmp_path, undrawn):
    body = made.measurement(3, ("warm",)) | {"repeats": 5}
    folder, same, slow = (run["training"]["images_per_s"] for run in body["runs"])
    for mine, factor in ((same, 0.99), (slow, 0.5)):
        mine |= {key: folder[key] * factor for key in ("min", "median", "max")}
    for run, factor in zip(body["runs"][1:], (0.99, 0.5)):
        run["speedup"]["training"] = factor
    html = page_of(tmp_path, m=body).html
    assert "≈ 0.99×" in html and "<b>0.50× *</b>" in html and "<b>0.99×" not in html


def test_one_input_one_condition_and_nothing_measured_make_a_page(tmp_path):
    alone = page_of(tmp_path / "alone", m=made.measurement(1, ("warm", "nfs")))
    assert alone.pictures.keys() == {f"m-{name}" for name in MEASURED if not name.startswith("speedup")}
    assert alone.text.count("there is no other input beside the folder") == 3
    warm = page_of(tmp_path / "warm", m=made.measurement(2, ("warm",)))
    assert warm.pictures.keys() == {f"m-{name}" for name in MEASURED if name != "storage"}
    assert "there is one condition only" in warm.text
    nothing = made.measurement(2, ("cold",)) | {"runs": []}
    page = page_of(tmp_path / "nothing", m=nothing)
    assert not page.pictures and page.text.count("nothing was measured") == len(MEASURED)


def test_without_the_folder_under_a_condition_there_is_no_speedup(tmp_path):
    body = made.measurement(3, ("warm", "nfs"))
    body["runs"] = [run for run in body["runs"] if (run["input"], run["condition"]) != ("folder", "nfs")]
    for run in body["runs"]:
        if run["condition"] == "nfs":
            del run["speedup"]
    body["not_measured"] = [{"input": "folder", "condition": "nfs", "reason": "took too long"}]
    page = page_of(tmp_path, m=body)
    assert len(page.pictures) == len(MEASURED)
    assert sum(row[1:2] == ["no folder"] for row in page.rows) == 4


def test_odd_names_are_shown_as_they_are(tmp_path):
    body = made.measurement(2, ("warm",))
    name = "<b>&$x_1$ an input with a name that is much too long for a picture"
    body["inputs"][1]["name"] = body["runs"][1]["input"] = body["packing"][0]["input"] = name
    page = page_of(tmp_path, m=body)
    assert "&lt;b&gt;&amp;$x_1$ an input" in page.html
    assert sum(row[0] == name for row in page.rows) == 5
    assert [name, "was packed already"] in page.rows


def test_a_point_of_a_sweep_says_that_it_is_the_knee(tmp_path):
    body = made.sweep(workers=(0, 1, 8, 64, 96), slots=tuple(range(2, 40, 2)))
    page = page_of(tmp_path, s=body)
    (row,) = [row for row in page.rows if "knee" in row[-1]]
    assert row[:2] == [str(body["knee"]["slots"]), str(body["knee"]["workers"])]
    assert f"of {len(range(2, 40, 2))} numbers of batches" in page.text
    assert f"Not tried: {made.LEFT_OUT}" in page.text


def test_a_prediction_without_a_limit_or_a_check_makes_a_page(tmp_path):
    body = made.prediction(1) | {"check": []}
    body["predictions"][0]["limits"]["latency"] = None
    page = page_of(tmp_path, p=body)
    assert page.pictures.keys() == {"p-limits"}
    assert "no limit" in page.rows[1] and "no figure to check the prediction with" in page.text


def test_files_of_the_same_name_keep_their_pictures_apart(tmp_path, undrawn):
    files = [made.write(tmp_path / folder, m=made.sweep())[0] for folder in "ab"]
    write_page(files, tmp_path / "r.html", tmp_path / "images")
    assert sorted(os.listdir(tmp_path / "images")) == ["m-1-sweep.png", "m-2-sweep.png"]


# --- how pictures are laid out -------------------------------------------------------------------


def overlapping(figure) -> list[str]:
    """Texts of a figure that overlap each other or leave the figure."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.text import Text

    renderer, whole_box = FigureCanvasAgg(figure).get_renderer(), figure.bbox.padded(1)
    figure.draw_without_rendering()
    beyond = {
        tick.label1
        for axes in figure.axes
        for axis in (axes.xaxis, axes.yaxis)
        for tick in axis.get_major_ticks()
        if not min(axis.get_view_interval()) <= tick.get_loc() <= max(axis.get_view_interval())
    }
    shown = []
    for text in figure.findobj(Text):
        if text not in beyond and text.get_visible() and text.get_text().strip():
            shown.append((text.get_text(), text.get_window_extent(renderer).padded(-1), text.get_rotation()))
    found = [f"{text!r} leaves the picture" for text, box, _ in shown if not inside(whole_box, box)]
    for axes in figure.axes:
        edge = axes.get_window_extent(renderer).padded(8)
        boxes = [(text.get_text(), text.get_window_extent(renderer)) for text in axes.texts]
        found += [f"{text!r} leaves its panel" for text, box in boxes if not edge.x0 <= box.x0 <= box.x1 <= edge.x1]
    flat = [(text, box) for text, box, rotation in shown if rotation in (0, 90)]
    for i, (text, box) in enumerate(flat):
        found += [f"{text!r} covers {other!r}" for other, its in flat[i + 1 :] if box.overlaps(its)]
    return found


def inside(outer, box) -> bool:
    return outer.x0 <= box.x0 and box.x1 <= outer.x1 and outer.y0 <= box.y0 and box.y1 <= outer.y1


@pytest.mark.parametrize(("count", "conditions"), [(13, 6), (5, 1), (4, 2), (1, 6)])
def test_no_text_of_a_picture_covers_another_or_is_cut(count, conditions):
    body = made.measurement(count, tuple(made.CONDITIONS)[-conditions:])
    runs, palette = Runs(body), look.Palette(body["inputs"])
    figures = [speed.speedup(runs, palette, what, "Speed") for what in ("training", "read", "decode")]
    figures += [steps.step_parts(runs, palette), steps.attribution(runs, palette)]
    figures += [steps.latency(runs, palette), speed.storage(runs, palette)]
    predicted = made.prediction(count)
    figures += [prediction.limits(predicted, palette), prediction.check(predicted["check"], palette)]
    faults = [fault for figure in figures for fault in overlapping(figure)]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("workers", [(2,), (0, 1, 2, 3, 4), (1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96)])
def test_no_text_of_a_sweep_covers_another_or_is_cut(workers):
    faults = overlapping(sweep.picture(made.sweep(workers=workers, slots=(2, 3, 4, 8))))
    assert not faults, "\n".join(faults)


def test_no_two_inputs_look_alike():
    for count in (4, 7, 13):
        entries = made.inputs(count)
        palette = look.Palette(entries)
        looks = [tuple(round(255 * channel) for channel in palette.colour(entry["name"])) for entry in entries]
        assert len(set(looks)) == count


def test_ticks_are_few_and_hold_1():
    for low, high in ((0.9, 1.4), (0.85, 50), (0.02, 3), (0.5, 2000), (0.999, 1.001), (1e-5, 1e7)):
        ticks = look.ratio_ticks(low, high)
        assert 1 <= len(ticks) <= 7 and all(low <= tick <= high for tick in ticks), (low, high, ticks)
        if high / low < 1e4:
            assert any(abs(tick - 1) < 1e-9 for tick in ticks), (low, high, ticks)
