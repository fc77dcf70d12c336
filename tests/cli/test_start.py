"""The cost of every start of the program."""

import subprocess

from python_support import PACKHORSE


def test_no_library_that_brings_many_others():
    """OpenCV's own codecs would bring GDAL, and with it some 140 libraries."""
    libraries = subprocess.run(["ldd", PACKHORSE], capture_output=True, text=True, check=True).stdout
    assert "libopencv_core" in libraries
    assert "imgcodecs" not in libraries
    assert "gdal" not in libraries
