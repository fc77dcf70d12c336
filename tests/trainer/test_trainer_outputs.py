"""What packhorse-train's options of output do to links, FIFOs and devices (tests/cli/test_outputs.py: packhorse's)."""

import os
import re
import stat
import threading

import pytest
from boxes_support import CPU, PLAIN, pack_drawn
from python_support import DONE, SHAPES, TRAIN, train

pytestmark = pytest.mark.skipif(not TRAIN.exists(), reason="packhorse-train is not part of this build")

OUTPUTS = {
    "fit --trace": ["--data", "boxes", *PLAIN, "--epochs", "1", "--trace-steps", "0:1", "--trace"],
    "eval --report": ["--checkpoint", "run/last.pt", "--data", "boxes", *CPU, "--report"],
    "detect --coco": ["boxes/val", "--checkpoint", "run/last.pt", *CPU, "--coco"],
    "export --output": ["--checkpoint", "run/last.pt", "--device", "cpu", "--output"],
    "measure --save": ["--folder", SHAPES, "--packed", "shapes", "--device", "cpu", "--batch-size", "24", "--repeats", "1",
                       "--max-seconds", "0.1", "--steps", "2", "--warmup-steps", "1", "--save"],
}  # fmt: skip


@pytest.fixture(scope="module", name="place")
def place_fixture(tmp_path_factory, packed_shapes):
    place = tmp_path_factory.mktemp("outputs")
    boxes = {"count": 8}
    (place / "boxes").symlink_to(pack_drawn(place / "drawn", train=boxes, val=boxes))
    (place / "shapes").symlink_to(packed_shapes("wds"))
    assert train("fit", "--data", "boxes", "--out", "run", *PLAIN, "--epochs", "1", cwd=place).code == DONE
    return place


def test_every_option_that_writes_a_file_is_in_the_table():
    options = set()
    for command in ("fit", "eval", "predict", "detect", "export", "measure", "sweep"):
        for option in re.split(r"^ +(?=-)", train(command, "--help-all").out, flags=re.M):
            if re.search(r"\b[Ww]rite\b.*(to this file|page of HTML)|File to write", " ".join(option.split())):
                options.add(f"{command} {re.search('--[a-z-]+', option)[0]}")
    assert options == set(OUTPUTS)


@pytest.mark.parametrize("name", OUTPUTS)
def test_links_fifos_and_devices_stay_and_are_written(name, place, tmp_path):
    command, file = name.split()[0], tmp_path / "file"

    def write():
        result = train(command, *OUTPUTS[name], file, cwd=place)
        assert result.code == DONE, result

    file.symlink_to("there")
    write()
    size = (tmp_path / "there").stat().st_size
    assert file.is_symlink() and size > 0
    file.unlink()
    os.mkfifo(file)
    read = []
    reader = threading.Thread(target=lambda: read.append(len(file.read_bytes())))
    reader.start()
    write()
    reader.join()
    assert file.is_fifo() and read[0] > size / 2  # traces and measurements differ a little
    file.unlink()
    try:
        os.mknod(file, 0o600 | stat.S_IFCHR, os.makedev(1, 3))
        file.open("wb").close()
    except PermissionError:
        return
    write()
    assert file.is_char_device() and sorted(os.listdir(tmp_path)) == ["file", "there"]
