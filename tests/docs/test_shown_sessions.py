"""docs/demo.md and docs/cifar10.md, the output of scripts, show what `pack` prints today: ids, counts, sizes."""

import re

import pytest
from python_support import ROOT, SHAPES, packhorse, photos

# Their machine's: another version of these libraries may write other files, and so other ids.
LIBRARIES = {"lmdb": "LMDB 0.9.24", "hdf5": "1.10.8"}
PACKED = r"^\$ packhorse pack \S+ (?P<out>\S+) --format (?P<format>\w+)(?: --overwrite)?\n(?P<text>(?:.+\n)+)"
SHOWN = {
    (page, match["format"]): match
    for page in ("demo.md", "cifar10.md")
    for match in re.finditer(PACKED, (ROOT / "docs" / page).read_text(), re.M)
}


def test_all_formats_are_shown():
    assert sorted(SHOWN) == [(page, form) for page in ("cifar10.md", "demo.md") for form in ("hdf5", "lmdb", "wds")]


@pytest.mark.parametrize("page, form", SHOWN)
def test_the_page_shows_what_pack_prints(page, form, tmp_path):
    version = dict(re.findall(r"^(\S+) +(.*)$", packhorse("--version").out, re.M)).get(form, "")
    if not version.startswith(LIBRARIES.get(form, "")):
        pytest.skip(f"other versions of libraries write other files: {form} {version}")
    source = SHAPES if page == "demo.md" else photos("cifar10")
    shown = SHOWN[page, form]
    printed = packhorse("pack", source, tmp_path / "out", "--format", form).out
    timeless = [re.sub(r"\d+\.\d\d s", "TIME", text) for text in (printed, shown["text"])]
    assert timeless[0] == timeless[1].replace(shown["out"], str(tmp_path / "out"))
