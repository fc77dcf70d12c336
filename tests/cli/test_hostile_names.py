"""Names are bytes. None of those bytes may steer the terminal, begin a line or hide, whatever prints the name and
wherever it comes from."""

import io
import json
import os
import re
import subprocess
import tarfile

import pytest
from python_support import DAMAGE, DONE, PACKHORSE, TRAIN, USAGE, photo, put

# ESC, BEL, a line break, a tab, C1's CSI, DEL, a right-to-left override, a zero-width space, no UTF-8, a backslash.
EVIL = b"a\x1b[2J\x07\nb\tc\xc2\x9b31m\x7f\xe2\x80\xaegpj\xe2\x80\x8b\xff\\x1b"
# A class is one line of classes.txt, so it has no line break.
EVIL_CLASS = EVIL.replace(b"\n", b"")
SHOWN = "a\\x1b[2J\\x07\\x0ab\\x09c\\xc2\\x9b31m\\x7f\\xe2\\x80\\xaegpj\\xe2\\x80\\x8b\\xff\\\\x1b"
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


def ended(*args, program=PACKHORSE, cwd=None):
    """(exit code, stdout, stderr) of a program; what it printed is checked to be safe for a terminal."""
    done = subprocess.run([program, *args], cwd=cwd, capture_output=True, stdin=subprocess.DEVNULL, check=False)
    texts = done.stdout.decode(), done.stderr.decode()  # which fails unless it is UTF-8
    assert not any(FORBIDDEN.search(text) for text in texts), repr(texts)
    return done.returncode, *texts


def ran(*args, code=DONE, program=PACKHORSE, cwd=None):
    """What the program printed, after it ended with `code`."""
    found, out, err = ended(*args, program=program, cwd=cwd)
    assert found == code, (found, out, err)
    return out, err


def unprinted(text):
    """The bytes of a printed name, by the rule in docs/inspect.md."""
    return re.sub(
        rb"\\(\\|x([0-9a-f]{2}))",
        lambda found: b"\\" if found[1] == b"\\" else bytes([int(found[2], 16)]),
        text.encode(),
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder whose own name, classes and files are hostile; one file of each class is rejected."""
    root = os.path.join(os.fsencode(tmp_path_factory.mktemp("hostile")), EVIL)
    for at, name in enumerate([EVIL_CLASS, b"b" + EVIL_CLASS]):
        for image in range(3):
            path = os.path.join(root, name, EVIL + str(image).encode() + b".jpg")
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(photo(10 * at + image))
        with open(os.path.join(root, name, b"bad" + EVIL + b".jpg"), "wb") as file:
            file.write(b"no image")
        with open(os.path.join(root, name, b"text" + EVIL), "wb") as file:
            file.write(b"no image")
    return root


@pytest.fixture(scope="module")
def packed(folder):
    out = folder + b".packed"
    ran("pack", folder, out, "--format", "wds", "--max-rejects", "2")
    return out


def test_pack_says_names_safely(folder, tmp_path):
    for more in ([], ["--json"]):
        ran("pack", folder, tmp_path / "refused", "--format", "wds", *more, code=DAMAGE)
        options = ["--format", "wds", "--max-rejects", "2", "--overwrite", "--log", tmp_path / "log", *more]
        out, err = ran("pack", folder, os.fsencode(tmp_path) + b"/" + EVIL, *options)
        assert f"bad{SHOWN}.jpg" in err
        assert SHOWN in out or more
    log = (tmp_path / "log").read_text()
    assert not FORBIDDEN.search(log)
    rejects = [json.loads(line)["path"] for line in log.splitlines() if '"reject"' in line]
    assert sorted(unprinted(path) for path in rejects) == [
        os.path.join(name, b"bad" + EVIL + b".jpg") for name in (EVIL_CLASS, b"b" + EVIL_CLASS)
    ]


def test_inspect_shows_names_safely(packed, tmp_path):
    for options in ("", "--list --json", "--show 0", "--verify full --decode", "--sheet sheet.jpg"):
        ran("inspect", packed, *options.split(), cwd=tmp_path)
    for options in ("", "--show 0", "--sheet sheet.jpg"):
        ran("inspect", packed, *options.split(), "--json", cwd=tmp_path)
    ran("inspect", packed, "--report", "page.html", cwd=tmp_path)
    page = (tmp_path / "page.html").read_text()
    assert not FORBIDDEN.search(page) and "\\x1b[2J" in page


def test_a_list_has_a_line_for_each_sample_and_eight_columns(packed):
    out, _ = ran("inspect", packed, "--list")
    lines = [line.split("\t") for line in out.splitlines()]
    assert len(lines) == 6 and {len(line) for line in lines} == {8}
    assert {unprinted(line[3]) for line in lines} == {EVIL_CLASS, b"b" + EVIL_CLASS}
    assert {unprinted(os.path.basename(line[7])) for line in lines} == {EVIL + b"%d.jpg" % n for n in range(3)}
    shell = subprocess.run(["bash", "-c", 'printf %b "$1"', "bash", lines[0][3]], capture_output=True, check=True)
    assert shell.stdout == unprinted(lines[0][3])


def test_findings_and_comparisons_say_names_safely(folder, packed, tmp_path):
    damaged = packed + b".damaged"
    subprocess.run(["cp", "-r", packed, damaged], check=True)
    for more in ([], ["--json"]):
        with open(os.path.join(damaged, b"shard-000000.tar"), "r+b") as shard:
            shard.seek(600)
            shard.write(b"\xff\xff\xff")
        ran("inspect", damaged, "--verify", "full", *more, code=DAMAGE)
        ran("inspect", packed, "--against", folder, *more)
        ran("diff", packed, packed, *more)
        passes = ["--repeats", "1", "--min-seconds", "0.01", "--metrics", tmp_path / "metrics"]
        ran("bench", packed, folder, "--work", "read", *passes, *more)
        text = (tmp_path / "metrics").read_text()
        assert not FORBIDDEN.search(text) and 'input="' in text
        ran("export-index", packed, "-o", tmp_path / "peer", *more)
        ran("repair", damaged, folder, *more)
        ran("stats", packed, *more)
        ran("duplicates", packed, *more)
    other = os.path.join(os.path.dirname(folder), b"other" + EVIL)
    for name in (EVIL_CLASS, b"c" + EVIL_CLASS):
        os.makedirs(os.path.join(other, name))
        with open(os.path.join(other, name, EVIL + b"0.jpg"), "wb") as file:
            file.write(photo(30))
    ran("pack", other, other + b".packed", "--format", "lmdb")
    for more in ([], ["--json"]):
        ran("diff", packed, other + b".packed", *more, code=DAMAGE)
        ran("duplicates", packed, other + b".packed", *more)
        ran("inspect", packed, "--against", other, *more, code=DAMAGE)
    ran("unpack", packed, os.fsencode(tmp_path) + b"/un" + EVIL)


def test_names_of_splits_are_compared_safely(folder, packed, tmp_path):
    both, other = (os.path.join(os.fsencode(tmp_path), name) for name in (b"both", b"other"))
    for name in (b"a" + EVIL, b"b" + EVIL):
        os.makedirs(both, exist_ok=True)
        subprocess.run(["cp", "-r", packed, os.path.join(both, name)], check=True)
    subprocess.run(["cp", "-r", folder, other], check=True)
    os.remove(os.path.join(other, EVIL_CLASS, EVIL + b"0.jpg"))
    out, _ = ran("inspect", both, "--against", other, code=DAMAGE)
    assert f"difference: a{SHOWN}/" in out and f", a{SHOWN}/shard-000000.tar, sample " in out
    ran("inspect", both, "--against", other, "--json", code=DAMAGE)


def test_a_name_that_is_escaped_is_the_same_in_a_list_of_rejects(tmp_path):
    """`--against` names a rejected file as it is printed, and matches it to the sample whose name has those bytes."""
    source = tmp_path / "source"
    labels = tmp_path / "labels.txt"
    name = EVIL.translate(None, b"\n\t")  # these end a line or a path
    lines = [name + b"%d.jpg %s\n" % (n, label) for n, label in enumerate((b"x", b"y", b"x", b"y"))]
    for n, line in enumerate(lines):
        put(source / os.fsdecode(line[:-3]), photo(n))
    labels.write_bytes(b"".join(lines))
    ran("pack", source, tmp_path / "out", "--format", "wds", "--labels", labels)
    labels.write_bytes(b"".join(lines[1:]))
    out, _ = ran("inspect", tmp_path / "out", "--against", source, "--labels", labels, code=DAMAGE)
    findings = [line for line in out.splitlines() if line.startswith("difference: ")]
    assert len(findings) == 1 and ": changed, " in findings[0], out


def test_errors_say_names_safely(tmp_path):
    for args in (
        ["inspect", EVIL],
        ["pack", EVIL, "out", "--format", "wds"],
        ["pack", "in", EVIL, "--format", EVIL],
        ["index", EVIL],
        ["diff", EVIL, EVIL],
        ["unpack", EVIL, EVIL],
        ["bench", EVIL, "--storage", EVIL],
        ["export-index", EVIL],
    ):
        code, out, err = ended(*args, cwd=tmp_path)
        assert code != DONE and "\\x1b[2J" in err and out == "", args
    for args in (["inspect", b"--" + EVIL], [EVIL]):
        assert ran(*args, code=USAGE, cwd=tmp_path)[1] != ""


def test_a_tar_is_reported_safely(tmp_path):
    archive = os.fsencode(tmp_path) + b"/" + EVIL + b".tar"
    with tarfile.open(archive, "w", format=tarfile.PAX_FORMAT, errors="surrogateescape") as tar:
        for name in (b"one/" + EVIL + b".jpg", b"two/" + EVIL + b".jpg", b"two/bad" + EVIL + b".jpg"):
            content = b"bad" if b"bad" in name else photo(name.startswith(b"two"))
            member = tarfile.TarInfo(os.fsdecode(name))
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
        link = tarfile.TarInfo(os.fsdecode(b"two/link" + EVIL + b".jpg"))
        link.type, link.linkname = tarfile.LNKTYPE, os.fsdecode(b"nowhere" + EVIL)
        tar.addfile(link)
    out = tmp_path / "out"
    for more in ([], ["--json", "--overwrite"]):
        ran("pack", archive, out, "--format", "hdf5", "--max-rejects", "9", *more)
        ran("inspect", out, "--list", *more[:1])


def test_keys_and_classes_of_adopted_shards_are_shown_safely(tmp_path):
    with tarfile.open(tmp_path / "a.tar", "w", format=tarfile.PAX_FORMAT, errors="surrogateescape") as tar:
        for number in range(3):
            for extension, content in ((b".jpg", photo(number)), (b".cls", b"%d" % number)):
                member = tarfile.TarInfo(os.fsdecode(EVIL.replace(b"\n", b"") + b"%d" % number + extension))
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
    put(tmp_path / "classes.txt", b"\n".join(EVIL_CLASS + b"%d" % n for n in range(3)) + b"\n")
    options = ["--max-rejects", "3", "--log", tmp_path / "log"]
    ran("index", tmp_path / "a.tar", "--out", tmp_path / "o", *options, "--classes", tmp_path / "classes.txt", code=USAGE)
    ran("index", tmp_path / "a.tar", *options)  # takes the class list beside it
    for options in ([], ["--list"], ["--list", "--json"], ["--verify", "full"], ["--show", "0"]):
        ran("inspect", tmp_path, *options)


def test_a_manifest_is_shown_safely(packed):
    """The content of dataset.json is bytes from outside, too."""
    forged = packed + b".forged"
    subprocess.run(["cp", "-r", packed, forged], check=True)
    path = os.path.join(forged, b"dataset.json")
    with open(path, encoding="utf-8") as file:
        manifest = json.load(file)
    manifest["image"] = manifest["packhorse"] = "\x1b[2J\u202e\u009b\n"
    with open(path, "w", encoding="utf-8") as file:
        json.dump(manifest, file)
    for options in ([], ["--json"], ["--verify", "quick"], ["--list"]):
        ended("inspect", forged, *options)


@pytest.mark.thorough
@pytest.mark.skipif(not TRAIN.exists(), reason="built without the trainer")
def test_the_trainer_says_names_safely(folder, packed, tmp_path):
    small = ["--arch", "smallnet", "--image-size", "32", "--batch-size", "2"]
    for args in (
        ["fit", "--data", packed, *small, "--epochs", "1", "--out", os.fsencode(tmp_path) + b"/" + EVIL],
        ["fit", "--data", EVIL],
        ["fit", "--data", packed, "--init-from", EVIL, *small],
        ["eval", "--checkpoint", EVIL, "--data", packed],
        ["predict", EVIL],
        [EVIL],
    ):
        ended(*args, program=TRAIN, cwd=tmp_path)
    good = os.path.join(os.path.dirname(folder), b"good" + EVIL)
    for number in range(4):
        name = os.path.join(good, (b"", b"b")[number % 2] + EVIL_CLASS, EVIL + b"%d.jpg" % number)
        os.makedirs(os.path.dirname(name), exist_ok=True)
        with open(name, "wb") as file:
            file.write(photo(number))
    ran("pack", good, good + b".packed", "--format", "wds")
    passes = [*small, "--repeats", "1", "--max-seconds", "0.05", "--warmup-steps", "1", "--workers", "1"]
    for more in ([], ["--json"]):
        ran("measure", "--folder", good, "--packed", good + b".packed", *passes, *more, program=TRAIN)
    ran("sweep", "--data", good + b".packed", *passes, "--slots", "2", program=TRAIN)
