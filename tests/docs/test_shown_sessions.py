"""docs/demo.md, the output of scripts, shows what `pack` prints today: ids, counts, sizes."""

import re

import pytest
from python_support import ROOT, SHAPES, packhorse, photos

PACKED = r"^\$ packhorse pack (?P<source>\S+) (?P<out>\S+) --format wds(?: --overwrite)?\n(?P<text>seen (?:(?!\.\.\.).+\n)+)"
SHOWN = {match["source"]: match for match in re.finditer(PACKED, (ROOT / "docs/demo.md").read_text(), re.M)}


def test_both_sessions_are_shown():
    assert sorted(SHOWN) == ["cifar10", "samples/shapes"]


@pytest.mark.parametrize("name", SHOWN)
def test_the_page_shows_what_pack_prints(name, tmp_path):
    shown = SHOWN[name]
    source = photos(name) if name == "cifar10" else SHAPES
    printed = packhorse("pack", source, tmp_path / "out", "--format", "wds").out
    timeless = [re.sub(r"\d+\.\d\d s", "TIME", text) for text in (printed, shown["text"])]
    assert timeless[0] == timeless[1].replace(shown["out"], str(tmp_path / "out"))
