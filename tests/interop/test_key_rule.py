"""Members of foreign shards are grouped into samples as the `webdataset` package does it, whatever their names."""

import io
import tarfile

import pytest
from python_support import SHAPES, packhorse, run

wds = pytest.importorskip("webdataset")

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
# gnu and pax headers: the names that they store in a special way. (ustar headers cannot hold the long ones.)
SPECIAL = ["plain", "long names", "letters of the world"]
RUNS = {"ustar": [case for case in CASES if case != "long names"], "gnu": SPECIAL, "pax": SPECIAL}


def write_shard(path, names, form, first=0):
    """Gives each member its own bytes; labels count up from `first`, so that no sample can get another's."""
    pictures = sorted(SHAPES.rglob("*.jpg"))
    with tarfile.open(path, "w", format=form) as tar:
        for i, name in enumerate(names, first):
            if name.lower().endswith("cls"):
                data = str(i).encode()
            elif name.lower().endswith("jpg"):
                data = pictures[i].read_bytes()
            else:
                data = b"" if name.endswith("/") else f"member {i}".encode()
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))


def of_webdataset(paths):
    """(image, label, other members) of each sample with an image and a label, as a trainer would see them."""
    for sample in wds.WebDataset([str(path) for path in paths], shardshuffle=False):
        members = {k: v for k, v in sample.items() if k not in ("__key__", "__url__", "__local_path__")}
        if "jpg" in members and "cls" in members:
            yield members.pop("jpg"), int(members.pop("cls")), members


def of_packhorse(source, out):
    (out.parent / "classes.txt").write_text("".join(f"{i}\n" for i in range(100)))
    result = run(
        "pack", source, out, "--format", "wds", "--source-kind", "webdataset", "--no-shuffle", "--max-rejects", "99",
        "--classes", out.parent / "classes.txt",
    )  # fmt: skip
    assert result.code == 0, result
    packhorse("inspect", out, "--verify", "full")
    return list(of_webdataset([out / "shard-000000.tar"]))


@pytest.mark.parametrize("form", RUNS)
def test_samples_are_those_webdataset_sees(form, tmp_path):
    """A shard for each case."""
    (tmp_path / "shards").mkdir()
    shards, first = [], 0
    for i, case in enumerate(RUNS[form]):
        shards.append(tmp_path / f"shards/train-{i:02}.tar")
        write_shard(shards[-1], CASES[case], FORMATS[form], first)
        first += len(CASES[case])
    wanted = list(of_webdataset(shards))
    assert len(wanted) >= len(shards)
    assert of_packhorse(tmp_path / "shards", tmp_path / "out") == wanted


def test_two_members_of_one_extension_are_an_error_there_and_a_reject_here(tmp_path):
    shard = tmp_path / "shard.tar"
    write_shard(shard, ["a.jpg", "a.JPG", "a.cls", "b.jpg", "b.cls"], tarfile.PAX_FORMAT)
    with pytest.raises(ValueError, match="duplicate file name"):
        list(of_webdataset([shard]))
    result = run("pack", shard, tmp_path / "out", "--format", "wds", "--source-kind", "webdataset")
    assert result.code == 3 and "two members .jpg" in result.err + result.out


def test_a_hidden_file_between_the_members_of_a_sample_does_not_tear_it(tmp_path):
    """WebDataset takes a/.DS_Store for a sample "a/", and a/x for two."""
    shard = tmp_path / "shard.tar"
    write_shard(shard, ["a/x.jpg", "a/.DS_Store", "a/x.cls"], tarfile.PAX_FORMAT)
    assert list(of_webdataset([shard])) == []
    ((_, label, others),) = of_packhorse(shard, tmp_path / "out")
    assert label == 2 and others == {}
