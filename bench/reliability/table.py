"""The results as Markdown, and into a page."""

BEGIN, END = "<!-- reliability: begin -->", "<!-- reliability: end -->"


def commas(number):
    return f"{number:,}"


def of(part, whole):
    return "all" if part == whole else f"**{commas(part)}** of {commas(whole)}"


def rows(header, lines):
    return "\n".join(
        [
            "| " + " | ".join(header) + " |",
            "|" + "---|" * len(header),
            *("| " + " | ".join(line) + " |" for line in lines),
        ]
    )


def ours_rows(results):
    for entry in results["formats"]:
        c = entry["ours"]
        yield [
            f"`{entry['format']}`",
            commas(c["damages"]),
            of(c["found"], c["damages"]),
            of(c["shard_named"], c["damages"]),
            commas(c["in_samples"]),
            of(c["sample_named"], c["in_samples"]),
            commas(c["reader_noticed"]),
            commas(c["reader_same"]),
            commas(c["reader_wrong"]),
        ]


def peer_rows(results):
    for entry in results["formats"]:
        for c in entry.get("peers", []):
            counts = [c[name] for name in ("noticed", "same", "wrong", "crashed", "hung")]
            yield [f"`{entry['format']}`", c["name"], commas(sum(counts)), *map(commas, counts)]


def text(results):
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    ours = rows(
        ["format", "damages", "found", "shard named", "flips in samples", "sample named", "reader: refused", "the same", "**wrong**"],
        ours_rows(results),
    )
    peers = rows(
        ["format", "reader", "damages", "noticed", "all delivered right", "**wrong or lost, without a word**", "crashed", "hung"],
        peer_rows(results),
    )
    return (
        f"{commas(results['flips'])} flipped bits and {commas(results['cuts'])} truncations a format, seed "
        f"{results['seed']}. {versions}.\n\n"
        f"packhorse:\n\n{ours}\n\nThe same damages, read by others:\n\n{peers}\n"
    )


def write(page, made):
    old = page.read_text()
    head, rest = old.split(BEGIN, 1)
    page.write_text(f"{head}{BEGIN}\n\n{made}\n{END}{rest.split(END, 1)[1]}")


def is_good(results):
    """Every damage found and named, every sample hit named, no wrong byte read. Of a zstd frame a few bits say nothing
    about its content; their flip is found by the file's SHA-256, and the sample need not be named."""
    return all(
        c["found"] == c["shard_named"] == c["damages"]
        and c["reader_wrong"] == 0
        and (c["sample_named"] == c["in_samples"] or entry["format"] == "wds-zstd")
        for entry in results["formats"]
        for c in [entry["ours"]]
    )
