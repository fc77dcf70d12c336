"""The scripts of docs/containers.md for files that packhorse does not read."""

import io
import subprocess
import sys

import numpy as np
import pytest
from python_support import ROOT, listed, pack

pytestmark = pytest.mark.thorough

def run_recipe(name, folder, *files):
    command = [sys.executable, ROOT / "docs/examples" / name, *files]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_chunked_hdf5_with_labels_in_a_file_of_their_own(tmp_path):
    h5py = pytest.importorskip("h5py")
    image = pytest.importorskip("PIL.Image")
    pixels = np.random.default_rng(0).integers(0, 256, (1300, 8, 8, 3), np.uint8)
    labels = (np.arange(1300) % 2).astype(np.uint8).reshape(-1, 1, 1, 1)
    files = []
    for split, part in (("train", slice(0, 1200)), ("valid", slice(1200, 1300))):
        for key, array in (("x", pixels[part]), ("y", labels[part])):
            files.append(f"camelyonpatch_level_2_split_{split}_{key}.h5")
            with h5py.File(tmp_path / files[-1], "w") as file:
                file.create_dataset(key, data=array, chunks=True, compression="gzip")
    run_recipe("hdf5_to_arrays.py", tmp_path, *files)
    report = pack(tmp_path / "arrays", tmp_path / "out", "--format", "wds")
    assert [split["split"] for split in report["splits"]] == ["train", "val"] and report["packed"] == 1300
    for s in listed(tmp_path / "out/val"):
        number = int(s["path"].split("/")[1].removesuffix(".png")) + 1200
        with open(tmp_path / "out/val" / s["shard"], "rb") as shard:
            shard.seek(s["offset"])
            stored = np.asarray(image.open(io.BytesIO(shard.read(s["bytes"]))))
        assert s["label"] == labels[number].item() and np.array_equal(stored, pixels[number])
