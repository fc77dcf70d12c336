"""The contenders, and the benches that find all there is in one go: that they run, and what they make of what is wrong."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest
from bench_support import copied, heads
from python_support import BIN, ROOT, SHAPES

pytest.importorskip("torchvision")

MINE = '''
"""A loader of somebody who has read contenders/__init__.py: every picture once, in an order of its own."""

import random

import numpy
from contenders import Epochs, files
from PIL import Image

PACKAGES = ["pillow"]


def batches(source, options):
    def epoch():
        found = files(source)
        random.shuffle(found)
        for begin in range(0, len(found), options.batch):
            part = found[begin : begin + options.batch]
            size = (options.side, options.side)
            yield numpy.stack([numpy.asarray(Image.open(path).convert("RGB").resize(size)) for path, _, _ in part]), [
                WRONG(label) for _, label, _ in part
            ]

    return Epochs(epoch)
'''


@pytest.fixture(scope="module", name="benches")
def benches_fixture(tmp_path_factory):
    return copied(tmp_path_factory.mktemp("copy") / "bench")


@pytest.fixture(name="peer")
def peer_fixture(benches):
    def call(*words):
        command = [sys.executable, benches / "peer.py", *words]
        return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)

    return call


@pytest.fixture(name="singles")
def singles_fixture(tmp_path):
    """A folder of one class a picture."""
    for number, path in enumerate(sorted(SHAPES.rglob("*.jpg"))[:70]):
        (tmp_path / f"singles/class-{number:03}").mkdir(parents=True)
        shutil.copy(path, tmp_path / f"singles/class-{number:03}/picture.jpg")
    return tmp_path / "singles"


def test_a_new_contender_is_one_file(benches, peer, singles):
    (benches / "contenders/mine.py").write_text(MINE.replace("WRONG(label)", "label"))
    assert re.fullmatch(r"\d+\.\d+\.\d+\n", peer("version", "mine").stdout)
    done = peer("read", "mine", singles, 1, 0.01)
    found = json.loads(done.stdout)
    assert found["samples"] == 70 and found["labels"] == [1] * 70 and found["images"] % 70 == 0 and found["cpu_s"] > 0
    facts = json.loads(peer("verify", "mine", singles, 1, singles).stdout)
    assert (facts["delivered"], facts["lost"], facts["repeated"]) == ([70] * 3, [0] * 3, [0] * 3)
    assert facts["colours_alike"] > 0.8 and facts["same_crops"] > 0, "its crops are the same in each epoch"


WORDS = """
import json, sys
sys.path[:0] = [sys.argv[1], sys.argv[1] + "/peers"]
import verify
print(json.dumps(verify.wrong(json.loads(sys.stdin.read()))))
"""


def test_what_is_wrong_with_a_loader_is_found(benches, peer, singles):
    found = {}
    for name, wrong in (("repeats", "max(1, label)"), ("labels", "(label + 23) % 70")):
        (benches / f"contenders/{name}.py").write_text(MINE.replace("WRONG(label)", wrong))
        facts = peer("verify", name, singles, 1, singles).stdout
        command = [sys.executable, "-c", WORDS, benches]
        found[name] = json.loads(subprocess.run(command, input=facts, capture_output=True, text=True, check=True).stdout)
    assert found["repeats"][:2] == ["loses 1 of 70 samples", "repeats 1"]
    assert "labels and pictures do not belong together" in found["labels"][0]


def test_a_batch_that_is_not_as_asked_for_ends_a_pass(benches, peer, singles):
    (benches / "contenders/alpha.py").write_text(MINE.replace("WRONG(label)", "label").replace('"RGB"', '"RGBA"'))
    done = peer("read", "alpha", singles, 1, 0.01)
    assert done.returncode == 1 and "delivers batches of (64, 224, 224, 4)" in done.stderr and done.stdout == ""


@pytest.mark.parametrize("name, made", [("LMDB", "out.mdb"), ("h5py", "out.h5"), ("webdataset", "out")])
def test_what_a_contender_packs_is_what_it_counts(name, made, benches, singles, tmp_path):
    command = [sys.executable, benches / "peer.py", "make", name, singles, tmp_path / made, 1]
    done = subprocess.run([str(word) for word in command], input="go\n", capture_output=True, text=True, check=True)
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["ready", "done", "used"]
    count = [sys.executable, benches / "peer.py", "count", name, tmp_path / made]
    assert subprocess.run([str(word) for word in count], capture_output=True, text=True, check=True).stdout == "70\n"


# --- one go


def written(bench, page, marker, *options):
    """The heads of the tables that a bench writes into a copy of its page, and those of the page."""
    old = page.read_text()
    command = [sys.executable, ROOT / "bench" / bench, *options, "--write", page, "--json", page.with_suffix(".json")]
    environment = os.environ | {"PACKHORSE_BIN": str(BIN), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    new, begin, end = page.read_text(), f"<!-- {marker}: begin -->", f"<!-- {marker}: end -->"
    assert (new.split(begin)[0], new.split(end)[1]) == (old.split(begin)[0], old.split(end)[1])
    assert json.loads(page.with_suffix(".json").read_text())["schema"] == 1
    return [heads(text.split(begin)[1].split(end)[0]) for text in (new, old)]


def test_damages_are_judged_by_packhorse_and_by_others(tmp_path):
    page = shutil.copy(ROOT / "docs/measured/reliability.md", tmp_path / "page.md")
    options = ["--flips", 20, "--cuts", 4, "--formats", "wds", "lmdb", "--jobs", 1, "--photos", SHAPES / "val"]
    new, old = written("reliability", page, "reliability", *options, "--scratch", tmp_path)
    assert new == old and len(new) == 2
    ours, theirs = (row for row in page.read_text().splitlines() if row.startswith("| `lmdb` |"))
    assert ours.split(" | ")[1:4] == ["24", "all", "all"] and theirs.split(" | ")[1:3] == ["py-lmdb", "24"]


@pytest.fixture(scope="module", name="cifar")
def cifar_fixture(tmp_path_factory):
    """Ten classes of plain pictures, in the folders of CIFAR-10."""
    from PIL import Image

    root = tmp_path_factory.mktemp("cifar")
    for split, count in (("train", 256), ("test", 20)):
        for number in range(count):
            folder = root / f"{split}/class{number % 10}"
            folder.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (32, 32), (20 * (number % 10), number % 256, 90)).save(folder / f"{number}.png")
    return root


@pytest.mark.parametrize("study", ["trainer", "timm", "dino", "tail"])
def test_what_is_learnt_with_packhorse_and_without_it_is_compared(study, cifar, tmp_path):
    if study == "trainer" and not (BIN / "packhorse-train").exists():
        pytest.skip("packhorse-train is not part of this build")
    if study != "trainer":
        pytest.importorskip("timm")
    page = shutil.copy(ROOT / "docs/measured/accuracy.md", tmp_path / "page.md")
    (new,), old = written("accuracy", page, f"accuracy {study}", study, cifar, "--epochs", 1, "--repeats", 2)
    assert all(new == head[: len(new)] for head in old)  # it has none where nothing was measured
    assert re.search(r"^- .*standard error .*: (no measurable difference|\*\*A DIFFERENCE\*\*)$", page.read_text(), re.M)


JPEG = """
import json, runpy, sys
sys.path.insert(0, sys.argv[1])
made = runpy.run_path(sys.argv[1] + "/__main__.py", run_name="bench")
rates = {f"{kind}, {work}: {who}": [2.0 if who == "packhorse" else 1.0] * 3 for kind in made["KINDS"]
         for work, peer in made["PEERS"].items() for who in ("packhorse", peer)}
rates |= {"transcode: through libjpeg-turbo": [4.0] * 3, "transcode: packhorse": [6.0] * 3}
for section in ("bench", "tiny", "progressive"):
    print(f"<!-- {section} -->", made["tables"]({"photos": 3, "threads": 1, "rates": rates}, section))
"""


def test_the_tables_of_the_decoders_are_those_of_their_page():
    command = [sys.executable, "-c", JPEG, ROOT / "bench/jpeg"]
    printed = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True).stdout
    page = (ROOT / "docs/measured/jpeg.md").read_text()
    for section in ("bench", "tiny", "progressive"):
        made = printed.split(f"<!-- {section} -->")[1].split("<!--")[0]
        shown = page.split(f"<!-- jpeg {section}: begin -->")[1].split("<!--")[0]
        works = [re.findall(r"^\| ([^|]+) \|", text, re.M) for text in (made, shown)]
        assert heads(made) == heads(shown)[: len(heads(made))] and works[0] == works[1][: len(works[0])]
        assert "| 2.00 | 2.00 |" in made and "| 1.50 |" in made


def test_what_engines_add_is_measured(tmp_path):
    command = [sys.executable, ROOT / "bench/cluster", "processes", "--tasks", "8", "--ms", "1", "--json", tmp_path / "out.json"]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(BIN.parent / "python")}, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and re.search(r"^\| processes \| \d+ \| [\d.]+ \| [\d.]+ \|", done.stdout, re.M), done.stdout + done.stderr
    (row,) = json.loads((tmp_path / "out.json").read_text())["rows"]
    assert row["seconds"] > row["ideal_s"] and row["engine"] == "processes"
