"""MosaicML Streaming: MDS shards and its StreamingDataset. From storage shards come whole, into an empty folder."""

import json
import os
from pathlib import Path

import streaming
from streaming.base.util import clean_stale_shared_memory

from contenders import REMOTE, emptied, endpoint, files, read
from contenders.torch_loader import data_loader, decoding

PACKAGES = ["mosaicml-streaming"]


def make(source, out, options):
    with streaming.MDSWriter(out=out, columns={"image": "bytes", "label": "int"}) as writer:
        for path, label, _ in files(source):
            writer.write({"image": read(path), "label": label})


def count(out):
    index = json.loads(Path(out, "index.json").read_text())
    assert all(Path(out, shard["raw_data"]["basename"]).is_file() for shard in index["shards"])
    return sum(shard["samples"] for shard in index["shards"])


def batches(source, options):
    clean_stale_shared_memory()  # of a run that was ended
    place = {"local": source}
    if source.startswith(REMOTE):
        os.environ["S3_ENDPOINT_URL"] = endpoint()
        place = {"remote": source, "local": emptied(options.scratch, "mds")}
    dataset = decoding(streaming.StreamingDataset, options.decode())(**place, shuffle=True, batch_size=options.batch)
    return data_loader(dataset, options)


def close():
    clean_stale_shared_memory()
