"""The documentation as a web site: every page is in its navigation, it is made with every link and anchor leading
somewhere, and a browser without a network shows all of it."""

import re
import runpy
import shutil
import subprocess

import browser
import pytest
from python_support import BIN, ROOT

SITE = runpy.run_path(str(ROOT / "scripts/site"))
CONFIG = (ROOT / "mkdocs.yml").read_text()
NAV = re.findall(r"^ +- [^:]+: (\S+\.md)$|^  - [^:]+: (\S+\.md)$", CONFIG[CONFIG.index("\nnav:") :], re.M)


def test_every_page_is_in_the_navigation_once():
    named = sorted(a or b for a, b in NAV)
    assert named == sorted(map(SITE["staged_name"], SITE["pages"]()))


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of what the site is made of, with the mkdocs that is installed here."""
    stamp = ROOT / "build/site-venv/stamp"
    if not stamp.exists() or stamp.read_text() != SITE["REQUIREMENTS"].read_text():
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
    (root / "build/release").mkdir(parents=True)
    (root / "build/release/python").symlink_to(BIN.parent / "python")
    (root / "build/site-venv").symlink_to(ROOT / "build/site-venv")
    return root


def make(root):
    return subprocess.run([root / "scripts/site"], capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(copy, tmp_path_factory):
    result = make(copy)
    assert result.returncode == 0, result
    return shutil.copytree(copy / "build/site", tmp_path_factory.mktemp("made") / "site")


@pytest.fixture(scope="module")
def page(site):
    """A page of a browser, for a person who reads the site from a disk."""
    if browser.program() is None:
        pytest.skip(f"no browser: none of {', '.join(browser.PROGRAMS)}")
    with browser.started() as started:
        yield started


def test_a_broken_anchor_stops_it(copy, site):
    assert 'id="several-machines"' in (site / "docs/packing.html").read_text()
    (copy / "docs/cluster.md").write_text("# On a cluster\n\n[gone](packing.md#no-such-heading)\n")
    result = make(copy)
    assert result.returncode == 1 and "#no-such-heading" in result.stderr and not (copy / "build/site").exists(), result


def test_the_api_page_describes_all_that_the_package_exports(site):
    exported = re.findall(r'^    "(\w+)",$', (ROOT / "python/packhorse/__init__.py").read_text(), re.M)
    shown = (site / "api.html").read_text()
    assert len(exported) > 30 and [name for name in exported if f'id="packhorse{name.lower()}"' not in shown] == []
    assert "close_mosaic_from" in shown and "&lt;function" not in shown


FAULTS = """[
  ...[...document.images].filter(image => !image.complete || !image.naturalWidth || image.src.endsWith(".txt"))
      .map(image => `broken: ${image.src}`),
  ...[...document.querySelectorAll("pre, pre > code")].filter(code => code.scrollWidth > code.clientWidth + 1)
      .map(code => `cut off: ${code.innerText.slice(0, 60)}`),
  ...(document.documentElement.scrollWidth > innerWidth ? ["wider than the window"] : []),
]"""


@pytest.mark.parametrize("width, scheme", [(1280, "light"), (400, "dark")])
def test_every_page_is_shown_whole_and_asks_no_other_host(site, page, width, scheme):
    faults, pictures = {}, 0
    for path in sorted(set(site.rglob("*.html")) - {site / "404.html"}):  # which only servers show
        page.open(path.as_uri(), width=width, scheme=scheme)
        found = [*page.evaluate(FAULTS), *page.errors(), *(url for url in page.requested() if not url.startswith(("file:", "data:")))]
        pictures += page.evaluate("document.images.length")
        if found:
            faults[path.name] = found
    assert faults == {} and pictures >= 3


# What people look for, and the page that answers it.
QUESTIONS = {
    "torchrun": "docs/python-training.html",
    "DDP": "docs/python-training.html",
    "resume": "docs/python-training.html",
    "slow training": "docs/troubleshooting.html",
    "corrupt": "docs/troubleshooting.html",
    "GPU": "docs/python.html",
    "FFCV": "docs/migrating.html",
    "DALI": "docs/migrating.html",
    "state_dict": "api.html",
    "S3": "docs/remote.html",
    "COCO": "docs/annotations.html",
    "duplicates": "docs/comparing.html",
}
SEARCH = """(async () => {
  const field = document.querySelector(".md-search__input");
  field.focus();
  field.value = %r;
  field.dispatchEvent(new Event("keyup", { bubbles: true }));
  field.dispatchEvent(new Event("input", { bubbles: true }));
  const said = () => document.querySelector(".md-search-result__meta").textContent.trim();
  for (let turn = 0; turn < 1000 && !/^[0-9N]/.test(said()); turn++) await new Promise((done) => setTimeout(done, 20));
  return [said(), ...[...document.querySelectorAll(".md-search-result__link")].map((link) => new URL(link.href).pathname)];
})()"""


@pytest.mark.parametrize("words", QUESTIONS)
def test_the_search_finds_what_people_look_for(site, page, words):
    page.open((site / "index.html").as_uri())
    found = [path.removeprefix(f"{site}/") for path in page.evaluate(SEARCH % words)]
    assert QUESTIONS[words] in list(dict.fromkeys(found))[:6], found
