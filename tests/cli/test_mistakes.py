"""Mistakes and what the program says to them: what, where and what to do next, in a few lines.

mistakes.txt has the whole text for those that a new user makes first, to be read aloud. OTHERS has the exit code and words
of the text for the others.

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
from python_support import BIN, DAMAGE, DONE, FAILED, SHAPES, USAGE, pack, photo, put

GOLDEN = Path(__file__).with_suffix("").with_name("mistakes.txt")
SAID = re.compile(r"^\$ (?P<command>.*)\n(?P<text>(?:.+\n)+)", re.M)
MISTAKES = SAID.findall(GOLDEN.read_text())

# Command, exit code, words that it says.
OTHERS = [
    ("packhorse verify packed", USAGE, "'verify'", "packhorse inspect", "--verify"),
    ("packhorse pack photos", USAGE, "OUT, --format", "missing"),
    ("packhorse pack photos out --format", USAGE, "--format needs a value"),
    ("packhorse pack my photos out --format wds", USAGE, "'out'", "too many", "spaces"),
    ("packhorse pack gs://bucket/photos.tar out --format wds", USAGE, "'gs://bucket/photos.tar'", "s3://"),
    ("packhorse pack environment/data.mdb out --format wds", FAILED, "packhorse index environment/data.mdb"),
    ("packhorse pack flat out --format wds --labels label.txt", FAILED, "cannot open", "label.txt"),
    ("packhorse pack list.jsonl out --format wds", DAMAGE, "rejected: list.jsonl: line 2: no JSON", "1 of 2 inputs"),
    ("packhorse pack photos photos/out --format wds", USAGE, "inside the source", "photos/out"),
    ("packhorse pack photos out --format wds --image rezise", USAGE, "'rezise'", "did you mean resize?", "roi"),
    ("packhorse pack photos out --format wds --short-side 256", USAGE, "--short-side", "--image original", "--image resize"),
    ("packhorse pack photos out --format wds --image roi --restart-mcus 0", USAGE, "--restart-mcus", "'0'", "from 1 to 8192"),
    ("packhorse pack photos out --format wds --image resize --quality 101", USAGE, "--quality", "'101'", "from 1 to 100"),
    ("packhorse pack photos out --format wds --image resize --short-side 0", USAGE, "--short-side", "'0'", "from 1 to 65535"),
    ("packhorse pack photos out --format wds --image raw --size 16385", USAGE, "--size", "'16385'", "from 1 to 16384"),
    ("packhorse pack photos out --format wds --image resize --chroma 444", USAGE, "--chroma", "'444'", "420"),
    ("packhorse pack photos out --format wds --jobs four", USAGE, "'four'", "--jobs", "whole number"),
    ("packhorse pack photos out --format wds --limit 0", USAGE, "--limit", "'0'", "above 0"),
    ("packhorse pack photos out --format wds --shard-bytes 1GX", USAGE, "'1GX'", "256MiB"),
    ("packhorse pack photos out --format wds --deduplicate drp", USAGE, "--deduplicate", "'drp'", "did you mean drop?"),
    ("packhorse pack photos out --format wds --split 9010", USAGE, "'9010'", "90:10"),
    ("packhorse pack photos out --format wds --max-rejects some", USAGE, "'some'", "0.5%"),
    ("packhorse pack photos out --format wds --task 8/8", USAGE, "'8/8'", "0 <= I < N"),
    ("packhorse pack photos out --format wds --seed 1 --no-shuffle", USAGE, "--seed", "--no-shuffle", "one of the two"),
    ("packhorse pack photos out --format wds --fields json", USAGE, "no extra field 'json'", "--field-from json=FOLDER"),
    ("packhorse pack photos out --format lmdb --compress zstd", USAGE, "lmdb", "--compress"),
    ("packhorse inspect train-0.tar", FAILED, "train-0.tar", "not a directory", "packhorse index"),
    ("packhorse inspect cut", DAMAGE, "cut/dataset.json", "not valid JSON: line 1, column 15"),
    ("packhorse inspect packed --verify ful", USAGE, "--verify", "'ful'", "did you mean full?"),
    ("packhorse inspect packed --sheet sheet.html", USAGE, "--sheet", "one dataset", "packed/train"),
    ("packhorse unpack packed/val photos", FAILED, "already exists", "photos"),
    ("packhorse diff packed", USAGE, "B is missing", "packhorse diff A B"),
    ("packhorse repair damaged flat", USAGE, "split 'val'", "--split-folders"),
    ("packhorse bench pakced", FAILED, "does not exist", "pakced"),
    ("packhorse bench packed --batch 64", USAGE, "'--batch'", "did you mean --batch-size?"),
    ("packhorse export-index packed-lmdb", USAGE, "lmdb", "packed-lmdb/train", "indexes are made for: wds"),
    ("packhorse fit --data packed/train", USAGE, "'fit'", "packhorse-train fit"),
    ("packhorse index photos", FAILED, "no shards", "packhorse pack"),
    ("packhorse pack boxes out --format wds", USAGE, "'images'", "--field-from txt=labels  packs 2 images with their objects"),
    ("packhorse pack segments out --format wds --field-from 'mask.png=masks/{name}.png'", USAGE, "no placeholder {name}", "{stem}"),
    ("packhorse pack flat out --format wds --labels lines.jsonl", USAGE, "line 2", "no JSON object", "lines.jsonl"),
    ("packhorse pack yolo out --format wds --targets yolo:yolo/dataset.yaml", FAILED, "cannot open", "yolo/dataset.yaml"),
    ("packhorse pack yolo out --format wds --targets yolo:yolo", USAGE, "is a file", "yolo:FOLDER/data.yaml"),
    ("packhorse pack yolo/data.yaml out --format wds --targets yolo:yolo/data.yaml", USAGE, "folder of images", "without --targets"),
    ("packhorse pack yolo/moved.yaml out --format wds", USAGE, "'photos/train'", "no yolo/photos/train", "--targets yolo:yolo/moved.yaml"),
    ("packhorse-train", USAGE, "subcommand is missing", "fit, detect"),
    ("packhorse-train fitt --data packed/train", USAGE, "'fitt'", "did you mean fit?"),
    ("packhorse-train pack photos out", USAGE, "'pack'", "run `packhorse pack`"),
    ("packhorse-train fit", USAGE, "--data is missing"),
    ("packhorse-train fit --data nothing", FAILED, "does not exist", "nothing"),
    ("packhorse-train fit --data environment", FAILED, "no images", "packhorse index environment"),
    ("packhorse-train fit --data packed/train --batch 64", USAGE, "'--batch'", "did you mean --batch-size?"),
    ("packhorse-train fit --data packed/val --batch-size 64", USAGE, "36 images", "one batch of 64", "packed/val"),
    ("packhorse-train fit --data packed/train --batch-size many", USAGE, "'many'", "--batch-size", "whole number"),
    ("packhorse-train fit --data packed/train --device gpu", USAGE, "--device", "'gpu'", "cuda"),
    ("packhorse-train eval --data packed/val", USAGE, "--checkpoint", "--weights"),
]


def make_place(root, packed):
    """Photos and datasets, and what people have instead. packed(format): the shapes in this format."""
    root.mkdir(exist_ok=True)
    shutil.copytree(SHAPES, root / "photos")
    shutil.copytree(packed("wds"), root / "packed")
    shutil.copytree(packed("lmdb"), root / "packed-lmdb")
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
    made.text(root / "yolo/one.yaml", "train: images/train\nnames: [cat]\n")
    made.text(root / "yolo/moved.yaml", "train: photos/train\nnames: [cat, dog]\n")
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
    if not (BIN / command.split()[0]).exists():
        pytest.skip(f"mistakes: not built here: {command.split()[0]}")
    before = sorted(os.listdir(root))
    done = subprocess.run(
        ["bash", "-c", command], cwd=root, env=dict(os.environ, PATH=f"{BIN}:{os.environ['PATH']}", LC_ALL="C"),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, check=False,
    )
    for name in set(os.listdir(root)) - set(before):
        shutil.rmtree(root / name)
    return f"exit code {done.returncode}\n{done.stdout}".replace(f"{root}/", "")


@pytest.fixture(scope="module")
def place(tmp_path_factory, packed_shapes):
    return make_place(tmp_path_factory.mktemp("mistakes") / "place", packed_shapes)


def check_form(text):
    """The text says what is wrong and what to do next, in a few lines and without a library's words."""
    code, *lines = text.splitlines()
    assert code != f"exit code {DONE}"
    first = next(i for i, line in enumerate(lines) if re.match(r"packhorse(-train)?: error: ", line))
    error = list(dict.fromkeys(lines[first:]))[:4]
    assert any(line.startswith("  next:  ") for line in error), text
    assert len(lines) <= 10, text
    assert not re.search(r"json\.exception|Run with --help|e\+\d|terminate|what\(\)", text)


def name_of(command):
    return re.sub(r"\W+", " ", command)


@pytest.mark.parametrize("command, text", MISTAKES, ids=[name_of(command) for command, _ in MISTAKES])
def test_the_message_is_the_one_in_the_file(place, command, text):
    assert said(command, place) == text
    check_form(text)


# packhorse-train takes a second to start.
ROWS = [
    pytest.param(row, id=name_of(row[0]), marks=[pytest.mark.thorough] if row[0].startswith("packhorse-train") else [])
    for row in OTHERS
]


@pytest.mark.parametrize("row", ROWS)
def test_the_message_has_the_exit_code_and_the_words(place, row):
    command, code, *words = row
    text = said(command, place)
    assert text.startswith(f"exit code {code}\n"), text
    for word in words:
        assert word in text, text
    check_form(text)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        for form in ("wds", "lmdb"):
            pack(SHAPES, Path(folder) / form, "--format", form)
        root = make_place(Path(folder) / "place", lambda form: Path(folder) / form)
        GOLDEN.write_text("\n".join(f"$ {command}\n{said(command, root)}" for command, _ in MISTAKES))
