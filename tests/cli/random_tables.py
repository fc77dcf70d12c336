"""Random tables of labels, and what they say: by Python's csv, and by the rule for labels in docs/labels.md.

    PACKHORSE_BIN=build/release/bin python tests/cli/random_tables.py 10000 [SEED]

packs a table each, and counts those that it refuses and those that it packs as they say. Exit code 1 for any other.
"""

import csv
import io
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import unicodedata
from collections import Counter
from pathlib import Path

PATHS = ["a.ppm", "b c.ppm", "d/e.ppm", "f;g.ppm", "h,i.ppm", "ü.ppm", "1.ppm", "x.y.ppm"]
NAMES = ["cat", "golden retriever", "crane, bird", "a;b", 'the "best"', "Übel", "7up", "x-1", "猫", "nano", "2.5 l", "1e3"]
INTEGERS = ["0", "1", "2", "3", "10", "11"]
MISSING = {"NaN", "nan", "None", "NULL", "null", "NA", "N/A", "n/a", "<NA>", "#N/A", "#NA"}
SPOILERS = ["03", "3.0", "nan", "+1", "cat", "CAT", "cafe\u0301", "café", "-0", "1_000", "５"]


def make_pictures(root):
    for number, path in enumerate(PATHS):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(b"P6 4 4 255 " + bytes([number]) * 48)


def is_integer(text):
    return re.fullmatch(r"0|-?[1-9][0-9]*", text, re.ASCII) is not None


def classes_of(labels):
    """The classes by the documented rule; None where it refuses."""
    if not MISSING.isdisjoint(labels):
        return None
    kinds = {
        "integer" if is_integer(text) else "number" if re.fullmatch(r"[+-]?\d*\.?\d*", text, re.ASCII) and re.search(r"[0-9]", text) else "name"
        for text in labels
    }
    if kinds == {"integer"}:
        largest = max(map(int, labels))
        return [str(label) for label in range(largest + 1)] if min(map(int, labels)) >= 0 else None
    padded = all(re.fullmatch("[0-9]+", text) for text in labels) and len({len(text) for text in labels}) == 1
    if kinds != {"name"} and not padded:
        return None
    alike = {unicodedata.normalize("NFC", text.casefold()) for text in labels}
    return sorted(set(labels), key=str.encode) if len(alike) == len(set(labels)) else None


def labels_in(dice):
    names = dice.sample(NAMES, 3)
    pool = dice.choice([INTEGERS, INTEGERS, names, names, ["00", "01", "10"], ["3.0", "4.0"]])
    labels = [dice.choice(pool) for _ in PATHS]
    if dice.random() < 0.2:
        labels[dice.randrange(len(labels))] = dice.choice(SPOILERS)
    return labels


def cell(dice, text, separator, quoting):
    must = any(c in text for c in (separator, '"', "\n")) or text != text.strip()
    if must or quoting == "all" or (quoting == "some" and dice.random() < 0.3):
        text = '"' + text.replace('"', '""') + '"'
    blank = dice.choice(["", "", "", " ", "  "])
    return blank + text + (blank if dice.random() < 0.5 else "")


def table(dice, of_list):
    """The bytes of a table, its separator, the options that name its columns, and the labels in it."""
    separator = dice.choice([",", ",", ";", "\t"])
    labels = labels_in(dice)
    columns = ["path", "label", *dice.sample(["width", "split_of", "2", "note"], dice.randrange(3))]
    dice.shuffle(columns)
    header = of_list or dice.random() < 0.5
    order = dice.sample(range(len(PATHS)), len(PATHS))
    quoting = dice.choice(["none", "some", "all"])
    rows = [columns] if header else []
    for i in order:
        values = {"path": PATHS[i], "label": labels[i], "width": "4", "split_of": "1,5", "2": "9", "note": dice.choice(["", "a b", "c; d"])}
        rows.append([values[column] for column in columns])
    end = dice.choice(["\n", "\n", "\r\n"])
    lines = [separator.join(cell(dice, text, separator, quoting) for text in row) for row in rows]
    if dice.random() < 0.2:
        lines.insert(dice.randrange(len(lines) + 1), "")
    text = end.join(lines) + dice.choice(["", end])
    if dice.random() < 0.05:
        text = text.replace('"', "", 1)
    encoding = dice.choice(["utf-8", "utf-8", "utf-8-sig", "utf-16", "utf-16-be", "cp1252"])
    data = text.encode(encoding, "replace")
    if encoding == "utf-16-be":
        data = b"\xfe\xff" + data
    options = []
    if not of_list:
        for role in ("path", "label"):
            named = header and dice.random() < 0.5
            options += [f"--{role}-column", role if named else str(columns.index(role) + 1)]
    return data, separator, options, (columns.index("path"), columns.index("label"), header)


def read_by_csv(data, separator, places):
    """path -> label as Python's csv reads them; None where these bytes are no such table."""
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = data.decode(encoding)
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True) if row]
    except (UnicodeDecodeError, csv.Error):
        return None
    path, label, header = places
    rows = rows[1:] if header else rows
    if not rows or any(len(row) <= max(path, label) for row in rows):
        return None
    return {row[path].strip(): row[label].strip() for row in rows}


def run(*args):
    program = Path(os.environ["PACKHORSE_BIN"]).resolve() / "packhorse"
    return subprocess.run([program, *args], capture_output=True, check=False)


def judge(seed, root):
    """'refused' or 'agrees', or what is wrong."""
    dice = random.Random(seed)
    of_list = dice.random() < 0.4
    data, separator, options, places = table(dice, of_list)
    name = "table" + dice.choice([".csv", ".tsv"] if of_list else [".csv", ".txt", ".tsv"])
    file = (root if of_list else root.parent) / name
    file.write_bytes(data)
    source = [file] if of_list else [root, "--labels", file, *options]
    out = root.parent / "out"
    done = run("pack", *source, out, "--format", "wds", "--no-shuffle", "-q")
    said = read_by_csv(data, separator, places)
    if done.returncode != 0:
        words = done.stderr.decode(errors="replace")
        if done.returncode < 0 or "next: " not in words or "nlohmann" in words:
            return f"ends with {done.returncode}: {words}"
        expected = said is None or set(said) != set(PATHS) or classes_of(list(said.values())) is None
        return "refused" if expected else "refused though it is clear"
    samples = json.loads(run("inspect", out, "--list", "--json").stdout)["samples"]
    packed = {sample["path"]: (sample["class"], sample["label"]) for sample in samples}
    if said is None:
        return f"packed what csv cannot read: {packed}"
    classes = classes_of(list(said.values()))
    if classes is None:
        return f"packed labels that are neither all integers nor all names: {packed}"
    wanted = {path: (label, classes.index(label)) for path, label in said.items()}
    return "agrees" if packed == wanted else f"packed {packed}, not {wanted}"


def count(tables, first, report):
    verdicts = Counter()
    with tempfile.TemporaryDirectory() as scratch:
        for seed in range(first, first + tables):
            with tempfile.TemporaryDirectory(dir=scratch) as place:
                root = Path(place) / "pictures"
                root.mkdir()
                make_pictures(root)
                verdict = judge(seed, root)
            if verdict not in ("agrees", "refused"):
                report(f"table {seed}: {verdict}")
            verdicts[verdict if verdict in ("agrees", "refused", "refused though it is clear") else "wrong"] += 1
    return verdicts


if __name__ == "__main__":
    found = count(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0, print)
    print(f"{sum(found.values())} tables: " + ", ".join(f"{number} {verdict}" for verdict, number in sorted(found.items())))
    sys.exit(1 if found["wrong"] else 0)
