"""The usual mistakes and what the program says to them: mistakes.txt, to be read aloud. Each says what, where and what to
do next, in a few lines, with an exit code that is not 0.

    python tests/cli/test_mistakes.py     writes mistakes.txt anew
"""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import annotated_support as made
import pytest
from python_support import BIN, DONE, ROOT, SHAPES, packhorse, photo, put

GOLDEN = Path(__file__).with_suffix("").with_name("mistakes.txt")
SAID = re.compile(r"^\$ (?P<command>.*)\n(?P<text>(?:.+\n)+)", re.M)
MISTAKES = SAID.findall(GOLDEN.read_text())


def make_place(root):
    """Photos and datasets, and what people have instead."""
    root.mkdir(exist_ok=True)
    shutil.copytree(SHAPES, root / "photos")
    for form in ("wds", "lmdb"):
        packhorse("pack", SHAPES, root / ("packed" if form == "wds" else "packed-lmdb"), "--format", form)
    shutil.copytree(root / "packed-lmdb/val/shard-000000.lmdb", root / "environment")
    for number in range(3):
        put(root / f"flat/{number}.jpg", photo(number))
        put(root / f"train-{number}.tar", (root / "packed/val/shard-000000.tar").read_bytes())
    for name in ("0.jpg", "1.jpg", "2.jpg", "cat/3.jpg", "dog/4.jpg"):
        put(root / "mixed" / name, photo() + name.encode())
    for name in ("cat/1.jpg", "dog/2.jpg"):
        put(root / "broken" / name, "no image")
    put(root / "labels.txt", "a.jpg cat\nb.jpg dog\n")
    put(root / "list.csv", "file,class\nflat/0.jpg,cat\n")
    put(root / "list.jsonl", '{"path": "flat/0.jpg", "label": "cat"}\n{"path" "flat/1.jpg"}\n')
    put(root / "lines.jsonl", '{"path": "0.jpg", "label": "cat"}\n{"path" "1.jpg"}\n')
    for number in range(2):
        put(root / f"segments/images/{number}.jpg", photo(number))
        put(root / f"segments/masks/{number}_mask.png", photo(number))
        put(root / f"boxes/images/{number}.jpg", photo(number))
        put(root / f"boxes/labels/{number}.txt", "0 0.5 0.5 0.1 0.1\n")
    made.yolo(root / "yolo")
    for name, places in (("no-names", ""), ("counted", "nc: 3\nnames: [cat, dog]\n"), ("one", "names: [cat]\n")):
        made.text(root / f"yolo/{name}.yaml", f"train: images/train\n{places}")
    made.text(root / "yolo/moved.yaml", "train: photos/train\nnames: [cat, dog]\n")
    made.text(root / "yolo/outside.yaml", "train: /data/images\nnames: [cat, dog]\n")
    made.yolo(root / "unlabelled")
    shutil.rmtree(root / "unlabelled/labels")
    made.coco(root / "coco")
    (root / "coco/annotations/instances_val2017.json").unlink()
    shutil.copytree(root / "packed/val", root / "cut")
    put(root / "cut/dataset.json", '{"id": "0123",')
    shutil.copytree(root / "packed/val", root / "damaged")
    shard = bytearray((root / "damaged/shard-000000.tar").read_bytes())
    shard[1000] ^= 255
    put(root / "damaged/shard-000000.tar", bytes(shard))
    return root


def said(command, root):
    """Exit code and both streams, as a shell shows them; the place itself is left out."""
    before = sorted(os.listdir(root))
    done = subprocess.run(
        ["bash", "-c", command], cwd=root, env=dict(os.environ, PATH=f"{BIN}:{os.environ['PATH']}", LC_ALL="C"),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, check=False,
    )
    for name in set(os.listdir(root)) - set(before):
        shutil.rmtree(root / name)
    return f"exit code {done.returncode}\n{done.stdout}".replace(f"{root}/", "")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return make_place(tmp_path_factory.mktemp("mistakes") / "place")


def test_there_are_forty():
    commands = [command for command, _ in MISTAKES]
    assert len(set(commands)) == len(commands) >= 40


@pytest.mark.parametrize("command, text", MISTAKES, ids=[re.sub(r"\W+", " ", command) for command, _ in MISTAKES])
def test_the_message_is_the_one_in_the_file(place, command, text):
    if not (BIN / command.split()[0]).exists():
        pytest.skip(f"mistakes: not built here: {command.split()[0]}")
    assert said(command, place) == text


@pytest.mark.parametrize("command, text", MISTAKES, ids=[re.sub(r"\W+", " ", command) for command, _ in MISTAKES])
def test_it_says_what_and_what_next(command, text):
    code, *lines = text.splitlines()
    assert code != f"exit code {DONE}"
    first = next(i for i, line in enumerate(lines) if re.match(r"packhorse(-train)?: error: ", line))
    error = list(dict.fromkeys(lines[first:]))[:4]
    assert any(line.startswith("  next:  ") for line in error), text
    assert len(lines) <= 10, text
    assert not re.search(r"json\.exception|Run with --help|e\+\d|terminate|what\(\)", text)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        root = make_place(Path(folder) / "place")
        GOLDEN.write_text("\n".join(f"$ {command}\n{said(command, root)}" for command, _ in MISTAKES))
