"""Members of foreign shards are grouped into samples as the `webdataset` package does it, whatever their names."""

import io
import tarfile

import pytest
from python_support import SHAPES, packhorse, run

LONG = "d" * 120 + "/" + "e" * 160
CASES = {
    "plain": ["a.jpg", "a.cls", "a.txt", "b.cls", "b.jpg"],
    "directories with dots": ["a.b/c.jpg", "a.b/c.cls", "a.b/c.d.txt", "a.b.c/d.e/f.jpg", "a.b.c/d.e/f.cls"],
    "dot and slash": ["./x.jpg", "./x.cls", "./a.b/y.jpg", "./a.b/y.cls"],
    "dot and slash for one member only": ["./x.jpg", "x.cls", "y.jpg", "y.cls"],
    "several dots": ["x.cls", "x.seg.jpg", "x.jpg", "x.a.b.txt", "y.jpg", "y.cls"],
    "upper case": ["X.JPG", "X.CLS", "X.A.Txt", "y.jpg", "Y.cls", "z.jpg", "z.cls"],
    "dot files": [".x.jpg", "y.jpg", ".DS_Store", "y.cls"],
    "hidden directories": [".h/x.jpg", ".h/x.cls", "a/.b/y.jpg", "a/.b/y.cls"],
    "meta": ["__meta__", "__meta__/a.jpg", "__meta__/a.cls", "b.jpg", "b.cls", "b.__note__", "____/c.jpg"],
    "almost meta": ["__a.jpg", "__a.cls", "__b__.jpg", "__b__.cls", "c/__d__/e.jpg", "c/__d__/e.cls"],
    "no members": ["README", "a.b/README", "x.jpg", "x.cls", "a/"],
    "long names": [LONG + ".jpg", LONG + ".cls", LONG + "/f.x.jpg", LONG + "/f.cls", LONG + "/f.jpg"],
    "letters of the world": ["ü/ß.jpg", "ü/ß.cls", "日本.語.txt", "日本.jpg", "日本.cls"],
    "line breaks": ["a\nb.jpg", "a\nb.cls", "d.e\n/f.jpg", "g\n/h.jpg", "g\n/h.cls"],
    "blanks": ["a b.jpg", "a b.cls", " .jpg", " .cls"],
    "keys apart": ["a.jpg", "a.cls", "b.jpg", "b.cls", "b.txt"],
}
FORMATS = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}
# Every kind of header for the names that it stores in a special way. (ustar headers cannot hold the long ones.)
RUNS = [(case, "ustar") for case in CASES if case != "long names"]
RUNS += [(case, form) for case in ("plain", "long names", "letters of the world") for form in ("gnu", "pax")]


def write_shard(path, names, form):
    """Gives each member its own bytes; labels count up, so that no sample can get another's."""
    pictures = sorted(SHAPES.rglob("*.jpg"))
    with tarfile.open(path, "w", format=form) as tar:
        for i, name in enumerate(names):
            if name.lower().endswith("cls"):
                data = str(i).encode()
            elif name.lower().endswith("jpg"):
                data = pictures[i].read_bytes()
            else:
                data = b"" if name.endswith("/") else f"member {i}".encode()
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))


def of_webdataset(wds, path):
    """(image, label, other members) of each sample with an image and a label, as a trainer would see them."""
    for sample in wds.WebDataset([str(path)], shardshuffle=False):
        members = {k: v for k, v in sample.items() if k not in ("__key__", "__url__", "__local_path__")}
        if "jpg" in members and "cls" in members:
            yield members.pop("jpg"), int(members.pop("cls")), members


def of_packhorse(wds, path, out):
    (out.parent / "classes.txt").write_text("".join(f"{i}\n" for i in range(100)))
    result = run(
        "pack", path, out, "--format", "wds", "--source-kind", "webdataset", "--no-shuffle", "--max-rejects", "9",
        "--classes", out.parent / "classes.txt",
    )  # fmt: skip
    assert result.code == 0, result
    packhorse("inspect", out, "--verify", "full")
    return list(of_webdataset(wds, out / "shard-000000.tar"))


@pytest.mark.parametrize(("case", "form"), RUNS)
def test_samples_are_those_webdataset_sees(case, form, tmp_path):
    wds = pytest.importorskip("webdataset")
    shard = tmp_path / "shard.tar"
    write_shard(shard, CASES[case], FORMATS[form])
    wanted = list(of_webdataset(wds, shard))
    assert wanted
    assert of_packhorse(wds, shard, tmp_path / "out") == wanted


def test_two_members_of_one_extension_are_an_error_there_and_a_reject_here(tmp_path):
    wds = pytest.importorskip("webdataset")
    shard = tmp_path / "shard.tar"
    write_shard(shard, ["a.jpg", "a.JPG", "a.cls", "b.jpg", "b.cls"], tarfile.PAX_FORMAT)
    with pytest.raises(ValueError, match="duplicate file name"):
        list(of_webdataset(wds, shard))
    result = run("pack", shard, tmp_path / "out", "--format", "wds", "--source-kind", "webdataset")
    assert result.code == 3 and "two members .jpg" in result.err + result.out


def test_a_hidden_file_between_the_members_of_a_sample_does_not_tear_it(tmp_path):
    """WebDataset takes a/.DS_Store for a sample "a/", and a/x for two."""
    wds = pytest.importorskip("webdataset")
    shard = tmp_path / "shard.tar"
    write_shard(shard, ["a/x.jpg", "a/.DS_Store", "a/x.cls"], tarfile.PAX_FORMAT)
    assert list(of_webdataset(wds, shard)) == []
    ((_, label, others),) = of_packhorse(wds, shard, tmp_path / "out")
    assert label == 2 and others == {}
