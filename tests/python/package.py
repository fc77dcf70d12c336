"""What the tests of the Python package share."""

import os
import sys

import pytest
from python_support import BIN, pack, photos

# The sanitizer that the extension needs, where it is built with one: for Pythons alone, as other programs may hang with it.
PRELOADED = {"LD_PRELOAD": os.environ.pop("LD_PRELOAD")} if "LD_PRELOAD" in os.environ else {}

sys.path.insert(0, str(BIN.parent / "python"))
packhorse = pytest.importorskip("packhorse", reason="the Python package is not part of this build")


def environment():
    """That of a process which imports the package."""
    return {**os.environ, **PRELOADED, "PYTHONPATH": str(BIN.parent / "python")}


def packed_photos(out, *options):
    pack(photos("imagenet/imagenet200"), out, "--format", "wds", "--allow-odd-classes", *options)
    return out
