"""Tables of classes and XML files cost time and memory by their size, not by what is in them times what is in them."""

import resource
import subprocess

import pytest
from python_support import DAMAGE, DONE, PACKHORSE, Result, listed, photo, put, rejects_of

MEMORY = 700 << 20


def run_bounded(*args):
    def limit():
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))

    done = subprocess.run(
        [PACKHORSE, *args], preexec_fn=limit, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    return Result(done.returncode, done.stdout, done.stderr)


def pack_bounded(source, out, *options):
    return run_bounded("pack", source, out, "--format=wds", "--json", "-j2", "--no-shuffle", *options)


@pytest.mark.parametrize("scores", [False, True], ids=["of 0 and 1", "of scores"])
def test_a_table_of_many_columns_takes_memory_by_its_cells(tmp_path, scores):
    """Its names are 2 MB; repeated for each row they would be 2 GB."""
    columns, rows = 16_000, 800 if not scores else 100
    source = tmp_path / "source"
    lines = ["path," + ",".join(f"class-{c:06}-{'x' * 120}" for c in range(columns))]
    for i in range(rows):
        cells = ["0"] * columns
        cells[i] = "1" if not scores else "0.5"
        lines.append(f"{i}.jpg," + ",".join(cells))
    for i in range(3):
        put(source / f"{i}.jpg", photo(i))
    table = put(tmp_path / "table.csv", "\n".join(lines) + "\n")
    result = pack_bounded(source, tmp_path / "out", "--unlabelled", "--targets", f"classes:{table}:*")
    assert result.code == DONE and result.json["packed"] == 3, result
    assert len(listed(tmp_path / "out")) == 3


GOOD = "<object><name>x</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>9</xmax><ymax>9</ymax></bndbox></object>"
DEPTH = (4 << 20) // 7 - 100
TREES = {
    "deep": "<a>" * DEPTH + "</a>" * DEPTH,
    "wide": "<a/>" * DEPTH,
    "many objects": "<object><name>x</name><bndbox><xmin>1</xmin></bndbox></object>" * (DEPTH // 10),
    "an object of many parts": "<object>" + "<part/>" * (DEPTH // 2) + "<name>x</name></object>",
    "many attributes": "<a " + "".join(f'b{i}="" ' for i in range(DEPTH // 3)) + "/>",
}


@pytest.mark.parametrize("tree", TREES)
def test_a_large_tree_of_xml_is_read_within_bounds(tmp_path, tree):
    for i in range(2):
        put(tmp_path / f"source/JPEGImages/{i}.jpg", photo(i))
    put(tmp_path / "source/Annotations/0.xml", f"<annotation>{GOOD}</annotation>")
    put(tmp_path / "source/Annotations/1.xml", f"<annotation>{TREES[tree]}</annotation>")
    result = pack_bounded(tmp_path / "source", tmp_path / "out", "--max-rejects=1")
    assert result.code == DONE, result
    assert result.json["packed"] + len(rejects_of(result.json)) == 2


def test_xml_beyond_the_bound_is_one_reject(tmp_path):
    for i in range(2):
        put(tmp_path / f"source/JPEGImages/{i}.jpg", photo(i))
        put(tmp_path / f"source/Annotations/{i}.xml", f"<annotation>{GOOD}{' ' * (i << 23)}</annotation>")
    result = pack_bounded(tmp_path / "source", tmp_path / "out")
    assert result.code == DAMAGE and "4 MiB" in result.json["rejects"][0]["reason"], result
