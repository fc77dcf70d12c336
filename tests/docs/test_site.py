"""The documentation as a web site: every page is in its navigation, and it is made with every link and anchor leading
somewhere."""

import re
import runpy
import shutil
import subprocess

import pytest
from python_support import ROOT

SITE = runpy.run_path(str(ROOT / "scripts/site"))
CONFIG = (ROOT / "mkdocs.yml").read_text()
NAV = re.findall(r"^ +- [^:]+: (\S+\.md)$|^  - [^:]+: (\S+\.md)$", CONFIG[CONFIG.index("\nnav:") :], re.M)


def test_every_page_is_in_the_navigation_once():
    named = sorted(a or b for a, b in NAV)
    assert named == sorted(map(SITE["staged_name"], SITE["pages"]()))


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of what the site is made of, with the mkdocs that is installed here."""
    if not (ROOT / "build/site-venv/stamp").exists():
        pytest.skip("no mkdocs: scripts/site installs it into build/site-venv")
    root = tmp_path_factory.mktemp("site")
    names = subprocess.run(
        ["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard", "-z"], capture_output=True, text=True, check=True
    ).stdout.split("\0")
    for name in filter(None, names):
        is_sample = name.endswith((".jpg", ".png")) and not name.startswith("docs/")
        if is_sample or not (ROOT / name).is_file():
            continue
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, root / name)
    (root / "build").mkdir()
    (root / "build/site-venv").symlink_to(ROOT / "build/site-venv")
    return root


def make(root):
    return subprocess.run([root / "scripts/site"], capture_output=True, text=True, check=False)


def test_it_is_made_and_a_broken_anchor_stops_it(copy):
    result = make(copy)
    assert result.returncode == 0, result
    page = (copy / "build/site/docs/packing.html").read_text()
    assert 'id="several-machines"' in page and "https://fonts" not in page
    (copy / "docs/cluster.md").write_text("# On a cluster\n\n[gone](packing.md#no-such-heading)\n")
    result = make(copy)
    assert result.returncode == 1 and "#no-such-heading" in result.stderr and not (copy / "build/site").exists(), result
