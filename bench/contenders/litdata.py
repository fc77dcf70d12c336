"""LitData: optimize() and its StreamingDataset. Nothing here calls it before keep_in(): it clears folders."""

import json
import os
import sys
import tempfile
from pathlib import Path

import litdata
from litdata.processing import data_processor

from contenders import REMOTE, emptied, endpoint, files, read
from contenders.torch_loader import decoding

PACKAGES = ["litdata"]
LONGEST_TEMPORARY = 107 - len("/pymp-12345678/listener-12345678")  # sockets that DataLoaders pass batches by


def keep_in(scratch):
    """optimize() begins with rmtree() of $TMPDIR/chunks and $TMPDIR/data, by default /tmp/chunks and /tmp/data,
    whatever they hold. Points all it clears at a folder of our own, and stops where LitData does not follow."""
    if not scratch:
        sys.exit("not run: LitData needs a scratch folder of its own, which it clears")
    scratch = os.path.realpath(scratch)
    folders = {"DATA_OPTIMIZER_CACHE_FOLDER": "chunks", "DATA_OPTIMIZER_DATA_CACHE_FOLDER": "data", "TMPDIR": "tmp"}
    for variable, name in folders.items():
        os.environ[variable] = os.path.join(scratch, name)
    os.makedirs(os.environ["TMPDIR"], exist_ok=True)
    tempfile.tempdir = None
    for path in (data_processor._get_cache_dir(), data_processor._get_cache_data_dir(), tempfile.gettempdir()):
        if not os.path.realpath(path).startswith(scratch + os.sep):
            sys.exit(f"not run: LitData would clear {path}")


class Sample:
    """Gives LitData numbers of samples, not paths: inputs that look like files it fetches, and removes, as its own."""

    def __init__(self, source):
        self.source, self.found = source, None

    def __call__(self, i):
        self.found = self.found or files(self.source)
        path, label, _ = self.found[i]
        return {"image": read(path), "label": label}


def make(source, out, options):
    keep_in(options.scratch)
    inputs = list(range(len(files(source))))
    litdata.optimize(Sample(source), inputs, out, chunk_bytes="64MB", num_workers=options.jobs, verbose=False)


def count(out):
    index = json.loads(Path(out, "index.json").read_text())
    assert all(Path(out, chunk["filename"]).is_file() for chunk in index["chunks"])
    return sum(chunk["chunk_size"] for chunk in index["chunks"])


def batches(source, options):
    keep_in(options.scratch)
    if len(tempfile.gettempdir()) > LONGEST_TEMPORARY:  # or it would wait for ever
        sys.exit(f"not run: {tempfile.gettempdir()} is too long a name for sockets in it: give a shorter --data")
    import torch

    torch.set_num_threads(1)
    place = {}
    if source.startswith(REMOTE):  # chunks come whole, into an empty folder
        from litdata.streaming import downloader

        # The client that it fetches chunks with insists on TLS otherwise, and takes no options of the caller's.
        downloader._OBSTORE_CLIENT_OPTIONS["allow_http"] = True
        place = {"cache_dir": emptied(options.scratch, "litdata"), "storage_options": {"endpoint_url": endpoint()}}
    kind = decoding(litdata.StreamingDataset, options.decode())
    dataset = kind(source, shuffle=True, drop_last=False, **place)
    workers = {"num_workers": options.jobs, "persistent_workers": True}
    return litdata.StreamingDataLoader(dataset, batch_size=options.batch, **workers)
