"""Seeded flips and cuts in each format: every one is found and named, and no wrong byte is ever read.

bench/reliability does the same in thousands, beside other people's readers.
"""

import json
import random
import shutil
import subprocess

import pytest
from python_support import BIN, SHAPES, files_of, pack

FORMATS = {
    "wds": (),
    "wds-zstd": ("--compress", "zstd"),
    "lmdb": (),
    "lmdb-members": ("--fields", "json"),
    "hdf5": ("--fields", "json"),
}


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """36 pictures, each with a small field beside it."""
    folder = tmp_path_factory.mktemp("photos") / "source"
    shutil.copytree(SHAPES / "val", folder)
    for photo in list(folder.rglob("*.*")):
        photo.with_suffix(".json").write_text(json.dumps({"was": photo.name}))
    return folder


@pytest.mark.parametrize("flips,cuts", [(40, 8), pytest.param(200, 40, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("form", FORMATS)
def test_every_flip_and_every_cut_is_found(source, tmp_path, form, flips, cuts):
    out = tmp_path / "out"
    pack(source, out, "--format", form.removesuffix("-zstd"), "--classes-at", "1", "--shard-samples", "8", *FORMATS[form])
    dice = random.Random(f"{form} {flips}")
    sizes = {file: (out / file).stat().st_size for file in files_of(out)}
    data = [file for file in sizes if file.startswith("shard-") and not file.endswith(".index")]
    weights = [sizes[file] for file in data]
    plan = []
    for i in range(flips):
        # Shards are drawn by size, and every tenth time any file; half of the flips are near the ends, where structure
        # is.
        file = dice.choice(list(sizes)) if i % 10 == 0 else dice.choices(data, weights)[0]
        near = dice.choice([sizes[file], min(4096, sizes[file])])
        at = dice.randrange(near)
        plan.append(f"flip {file} {dice.choice([at, sizes[file] - 1 - at])} {dice.randrange(8)}")
    for i in range(cuts):
        file = dice.choice(list(sizes) if i % 4 == 0 else data)
        plan.append(f"cut {file} {dice.randrange(sizes[file])}")
    done = subprocess.run(
        [BIN / "damage_shards", out], input="\n".join(plan), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    verdicts = [line.split() for line in done.stdout.splitlines()]
    assert len(verdicts) == len(plan)
    payloads = 0
    for damage, (found, named, payload, sample, reader) in zip(plan, verdicts):
        assert (found, named) == ("1", "1"), damage
        assert reader != "WRONG", damage
        if payload == "1":
            payloads += 1
            if form == "wds-zstd" and reader == "same":
                continue  # a bit of a frame that does not affect its content
            assert sample == "1" and reader == "noticed", damage
    assert payloads > flips // 5
