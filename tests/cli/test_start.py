"""The cost of every start of the program."""

import subprocess

from python_support import PACKHORSE


def test_image_codecs_are_not_loaded_before_an_image_needs_them():
    libraries = subprocess.run(["ldd", PACKHORSE], capture_output=True, text=True, check=True).stdout
    assert "libopencv_core" in libraries
    assert "imgcodecs" not in libraries
    assert "gdal" not in libraries
