"""packhorse::core: reads packed datasets as packhorse::reader does, and links no library that only packing needs."""

import re
import subprocess

import pytest
from python_support import BIN, LAYOUTS, SHAPES, pack, photos

CORE, FULL = BIN / "core_reads", BIN / "reader_reads"
NOT_IN_CORE = re.compile(r"tbb|opencv|archive|lmdb|hdf5|libz\.so|torch")


def reads(program, dataset):
    result = subprocess.run([program, dataset], capture_output=True, text=True)
    return result.returncode, result.stdout, result.stderr


def libraries_of(program):
    dynamic = subprocess.run(["readelf", "-d", program], capture_output=True, text=True, check=True).stdout
    return re.findall(r"NEEDED.*\[(.*)\]", dynamic)


def test_core_links_nothing_of_packing():
    assert not [name for name in libraries_of(CORE) if NOT_IN_CORE.search(name)]
    assert [name for name in libraries_of(FULL) if "archive" in name]  # the pattern can match


@pytest.mark.parametrize(("form", "mode"), list(zip(LAYOUTS, ["original", "roi", "raw", "original"])))
def test_core_reads_what_the_whole_reader_reads(tmp_path, form, mode):
    pack(SHAPES, tmp_path / "packed", "--format", form, "--image", mode)
    code, said, error = reads(CORE, tmp_path / "packed/train")
    assert code == 0 and re.match(r"\d\d+ images, [0-9a-f]{16}\n", said), error
    assert (code, said, error) == reads(FULL, tmp_path / "packed/train")


def test_core_reads_compressed_shards_and_photos(tmp_path):
    options = ("--format", "wds", "--compress", "zstd:1", "--limit", "40", "--allow-odd-classes")
    pack(photos("imagenet/imagenet200"), tmp_path / "packed", *options)
    assert reads(CORE, tmp_path / "packed") == reads(FULL, tmp_path / "packed")
    assert reads(CORE, tmp_path / "packed")[0] == 0


def test_core_says_that_a_folder_is_packed_first():
    code, said, error = reads(CORE, SHAPES)
    assert code == 1 and "not a packed dataset" in error and f"pack({SHAPES}, packed, format=wds)" in error
