"""What the tests of the Python package share."""

import os
import sys

import pytest
from python_support import BIN, pack, photos

sys.path.insert(0, str(BIN.parent / "python"))
packhorse = pytest.importorskip("packhorse", reason="the Python package is not part of this build")


def environment():
    """That of a process which imports the package."""
    return {**os.environ, "PYTHONPATH": str(BIN.parent / "python")}


def packed_photos(out, *options):
    pack(photos("imagenet/imagenet200"), out, "--format", "wds", "--allow-odd-classes", *options)
    return out
