"""The Python on the pages that people copy from runs against the package: blocks of Python, and the new lines of diffs."""

import json
import re
import subprocess
import sys

import pytest
from package import environment
from python_support import ROOT, SHAPES, pack

torch = pytest.importorskip("torch", reason="torch is not installed")

PAGES = ["README.md", "AGENTS.md", "docs/migrating.md"]
BLOCK = re.compile(r"^```(python|diff)\n(.*?)^```$", re.M | re.S)
# What the blocks use and do not show. FFCV's constants are arrays, as it takes them times 255.
BEFORE = """
import json, sys
import numpy, packhorse
from torch.utils.data import DataLoader
from torchvision.transforms.v2 import Compose, PILToTensor, RandomResizedCrop
MEAN, STD = numpy.array([0.485, 0.456, 0.406]), numpy.array([0.229, 0.224, 0.225])
transform = Compose([RandomResizedCrop(32), PILToTensor()])
jpeg = open("photos/val/balls/balls-01.jpg", "rb").read()
about, samples = {"a": 1}, [(jpeg, "cat"), (jpeg + b"0", "dog")]
"""
AFTER = """
if "loader" in globals():
    images, labels = next(iter(loader))
    assert len(images) == len(labels) > 0
"""


def run_of(kind, code):
    """What runs of a block: of a diff, its new and its common lines."""
    return re.sub(r"^[+ ]", "", re.sub(r"^-.*\n", "", code, flags=re.M), flags=re.M) if kind == "diff" else code


# What takes long to import is imported once; each block runs in a process of its own, in a folder of its own.
RUNNER = """
import json, os, sys
import torch, torchvision.transforms.v2
for folder, code in json.load(sys.stdin):
    if (child := os.fork()) == 0:
        os.chdir(folder)
        exec(compile(code, "<block>", "exec"), {"__name__": "__main__"})
        sys.exit(0)
    if os.waitpid(child, 0)[1] != 0:
        sys.exit(code)
"""


@pytest.mark.parametrize("page", PAGES)
def test_the_python_of_the_page_runs(page, tmp_path):
    pytest.importorskip("torchvision", reason="torchvision is not installed")
    found = BLOCK.findall((ROOT / page).read_text())
    assert found
    blocks = []
    for number, (kind, text) in enumerate(found):
        folder, code = tmp_path / str(number), run_of(kind, text)
        folder.mkdir()
        (folder / "photos").symlink_to(SHAPES)
        if 'packhorse.pack("photos", "packed"' not in code:
            pack(SHAPES, folder / "packed", "--format", "wds")
            (folder / "shards").mkdir()
            for shard in (folder / "packed/train").glob("*.tar"):
                (folder / "shards" / shard.name).symlink_to(shard)
        blocks.append([str(folder), BEFORE + code + AFTER])
    done = subprocess.run([sys.executable, "-c", RUNNER], input=json.dumps(blocks), capture_output=True, text=True, check=False,
                          env={**environment(), "OMP_NUM_THREADS": "1"})  # fmt: skip
    assert done.returncode == 0, done.stderr[-5000:]


def test_each_message_of_troubleshooting_is_one_of_the_programs():
    page = (ROOT / "docs/troubleshooting.md").read_text()
    messages = [piece for cell in re.findall(r"^\| (.*?) \| ", page, re.M) for piece in re.findall(r'"([^"]+)"', cell)]
    text = "".join(
        re.sub(r'"\s*\n\s*f?"', "", path.read_text())
        for folder in ("libpack", "reader", "trainer", "tools", "python")
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in (".cc", ".h", ".py")
    )
    parts = [part for message in messages for part in re.split(r" ?\.\.\. ?", message) if part]
    assert len(parts) > 12 and [part for part in parts if part not in text] == []


def test_the_command_that_writes_the_ids_of_imagenets_labels(tmp_path):
    """With a scipy that is as small as what the command needs of it."""
    [command] = re.findall(r"^  ```sh\n(  python3 -c .*?)^  ```$", (ROOT / "docs/labels.md").read_text(), re.M | re.S)
    synsets = "[S(ILSVRC2012_ID=n, WNID=f'n0{n}') for n in (1, 1000, 1001)]"
    (tmp_path / "scipy").mkdir()
    (tmp_path / "scipy/io.py").write_text(
        f"from types import SimpleNamespace as S\ndef loadmat(name, squeeze_me, struct_as_record):\n    return {{'synsets': {synsets}}}\n"
    )
    subprocess.run(["bash", "-c", re.sub("^  ", "", command, flags=re.M)], cwd=tmp_path, check=True)
    assert (tmp_path / "ids.txt").read_text() == "1 n01\n1000 n01000\n"


def test_every_block_of_code_begins_on_a_line_of_its_own():
    pages = [ROOT / "README.md", ROOT / "AGENTS.md", *(ROOT / "docs").rglob("*.md")]
    assert [page.name for page in pages if re.search(r"^ *```\w* +\S", page.read_text(), re.M)] == []
