"""The results as Markdown."""

from common.page import table


def commas(number):
    return f"{number:,}"


def of(part, whole):
    return "all" if part == whole else f"**{commas(part)}** of {commas(whole)}"


OURS = {  # heading -> of our counts
    "damages": lambda c: commas(c["damages"]),
    "found": lambda c: of(c["found"], c["damages"]),
    "shard named": lambda c: of(c["shard_named"], c["damages"]),
    "flips in samples": lambda c: commas(c["in_samples"]),
    "sample named": lambda c: of(c["sample_named"], c["in_samples"]),
    "reader: refused": lambda c: commas(c["reader_noticed"]),
    "the same": lambda c: commas(c["reader_same"]),
    "**wrong**": lambda c: commas(c["reader_wrong"]),
}
PEERS = {  # heading -> a field of a peer's counts
    "noticed": "noticed",
    "all delivered right": "same",
    "**wrong or lost, without a word**": "wrong",
    "crashed": "crashed",
    "hung": "hung",
}


def peer_rows(results):
    for entry in results["formats"]:
        if peer := entry.get("peer"):
            counts = [peer[field] for field in PEERS.values()]
            yield [f"`{entry['format']}`", peer["name"], commas(sum(counts)), *map(commas, counts)]


def text(results):
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    ours = [[f"`{entry['format']}`", *(cell(entry["ours"]) for cell in OURS.values())] for entry in results["formats"]]
    return (
        f"{commas(results['flips'])} flipped bits and {commas(results['cuts'])} truncations a format, seed "
        f"{results['seed']}. {versions}.\n\npackhorse:\n\n{table(['format', *OURS], ours)}\n\n"
        f"The same damages, read by others:\n\n{table(['format', 'reader', 'damages', *PEERS], peer_rows(results))}"
    )


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
