"""The pictures of the pages are small, and scripts/pictures makes those of the README as they are."""

import os
import subprocess

import browser
import pytest
from python_support import BIN, ROOT

Image = pytest.importorskip("PIL.Image")
ImageChops = pytest.importorskip("PIL.ImageChops")
ImageStat = pytest.importorskip("PIL.ImageStat")
PICTURES = ROOT / "docs/pictures"


def test_every_picture_is_small():
    sizes = {path.name: path.stat().st_size for path in PICTURES.iterdir()}
    assert len(sizes) >= 5 and {name: size for name, size in sizes.items() if size >= 150_000} == {}


def test_the_pictures_of_the_readme_are_made_by_their_script(tmp_path):
    if browser.program() is None:
        pytest.skip(f"no browser: none of {', '.join(browser.PROGRAMS)}")
    made = subprocess.run([ROOT / "scripts/pictures", tmp_path], env={**os.environ, "PACKHORSE_BIN": str(BIN)}, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["loaders.svg", "report.png", "sheet.jpg"]
    assert (tmp_path / "loaders.svg").read_bytes() == (PICTURES / "loaders.svg").read_bytes()
    for name, difference in (("sheet.jpg", 2), ("report.png", 12)):  # levels; fonts and encoders differ between machines
        new, old = (Image.open(folder / name).convert("L") for folder in (tmp_path, PICTURES))
        assert new.size == old.size
        assert ImageStat.Stat(ImageChops.difference(new, old)).mean[0] < difference, f"{name}: run scripts/pictures"
