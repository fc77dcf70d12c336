"""Random trees of images: packhorse packs what is true of them, as torchvision's ImageFolder does, or refuses.

    python tests/interop/test_random_trees.py 10000     the long run: trees 0 to 9999; prints how they ended"""

import collections
import os
import re
import shlex
import shutil
import sys
import tempfile
import zlib
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import pytest
import random_trees
from python_support import DAMAGE, DONE, SHAPES, USAGE, listed, run

SHORT = 120
LEFT = re.compile(r"/(__MACOSX|@eaDir|\._)")
PICTURES = [path.read_bytes() for path in sorted(SHAPES.rglob("*.jpg"))]
READING = re.compile(r"^(?:  next:  |         )(--\S.*?|the source \S.*?)  packs (\d+) images? ", re.M)


def build(tree, folder):
    for path in tree.images:
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        of_stem = zlib.crc32(re.split("[._-]", file.name)[0].encode())  # renderings of one picture have its proportions
        file.write_bytes(PICTURES[of_stem % len(PICTURES)])
    for path in tree.others:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        if path.endswith("/"):
            (folder / path).mkdir(exist_ok=True)
        else:
            (folder / path).write_bytes(b"text")
    return folder


def packed(out):
    """{split: {path in the split: class}} of a packed dataset."""
    datasets = {"": out} if (out / "dataset.json").exists() else {one.name: one for one in out.iterdir() if one.is_dir()}
    return {split: {one["path"]: one["class"] for one in listed(place)} for split, place in datasets.items()}


def image_folder(root):
    """{path: class} by torchvision, without what systems leave beside images."""
    from torchvision.datasets import ImageFolder

    found = ImageFolder(root)
    return {os.path.relpath(path, root): found.classes[label] for path, label in found.samples if not LEFT.search(path)}


def check(seed, place):
    """Packs a tree, and compares; returns how it ended."""
    tree, made_by = random_trees.make(seed)
    source, out = build(tree, place / "source"), place / "out"
    result = run("pack", source, out, "--format", "wds", "--no-shuffle")
    if result.code != DONE:
        assert result.code in (USAGE, DAMAGE) and not out.exists(), (made_by, result)
        if result.code == USAGE:
            check_readings(source, place, result.err)
        return "refused" if tree.ambiguous else "refused though clear: " + made_by
    assert not tree.ambiguous, f"tree {seed}, {made_by}: packed, though it has several readings"
    wanted = collections.defaultdict(dict)
    for path, (split, name) in tree.images.items():
        wanted[split]["/".join(path.split("/")[-2:])] = name
    assert packed(out) == wanted, f"tree {seed}, {made_by}"
    roots = {str(source / path).rsplit("/", 2)[0] for path in tree.images}
    if len(roots) == 1:
        assert packed(out).popitem()[1] == image_folder(roots.pop()), f"tree {seed}, {made_by}"
    return "packed"


def check_readings(source, place, message):
    """Each reading that a refusal tells works, and packs as many images as it says."""
    for number, (option, images) in enumerate(READING.findall(message)):
        words = shlex.split(option)
        origin, options = (words[2], words[4:]) if words[0] == "the" else (source, words)  # "the source X with OPTIONS"
        result = run("pack", origin, place / f"reading{number}", "--format", "wds", "--json", *options)
        assert result.code == DONE, (option, message, result)
        assert result.json["packed"] == int(images), (option, message)


@pytest.mark.parametrize("first", range(0, SHORT, 30))
def test_trees_are_packed_as_they_are_or_refused(first, tmp_path):
    ends = collections.Counter()
    for seed in range(first, first + 30):
        place = tmp_path / str(seed)
        place.mkdir()
        ends[check(seed, place).split(":")[0]] += 1
        shutil.rmtree(place)
    assert ends["packed"] > 0 and ends["refused"] > 0
    assert ends["refused though clear"] <= 3, ends


def end_of(seed):
    with tempfile.TemporaryDirectory() as place:
        try:
            return check(seed, Path(place))
        except AssertionError as error:
            print(f"tree {seed}: {error}", file=sys.stderr)
            return "WRONG"


def main():
    with ProcessPoolExecutor() as pool:
        ends = collections.Counter(pool.map(end_of, range(int(sys.argv[1])), chunksize=10))
    for end, count in ends.most_common():
        print(f"{count:7,} {end}")
    sys.exit(ends["WRONG"] > 0)


if __name__ == "__main__":
    main()
