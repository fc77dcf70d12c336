"""The cost of every start of the program."""

import os
import subprocess

from python_support import PACKHORSE, SHAPES, pack


def test_image_codecs_are_not_loaded_before_an_image_needs_them():
    libraries = subprocess.run(["ldd", PACKHORSE], capture_output=True, text=True, check=True).stdout
    assert "libopencv_core" in libraries
    assert "imgcodecs" not in libraries
    assert "gdal" not in libraries


def test_a_sheet_and_a_report_of_jpegs_need_no_image_codecs(tmp_path):
    pack(SHAPES / "val", tmp_path / "packed", "--format", "wds", "--include", "*.jpg")

    def loaded(*options):
        command = [PACKHORSE, "inspect", tmp_path / "packed", *options]
        environment = {**os.environ, "LD_DEBUG": "files"}
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0 and "libopencv_core" in done.stderr
        return done.stderr

    assert "imgcodecs" not in loaded("--sheet", "sheet.jpg")
    assert "imgcodecs" not in loaded("--report", "report.html")
    assert "imgcodecs" in loaded("--sheet", "sheet.png")
