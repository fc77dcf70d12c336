"""webdataset: tar shards in a new order each epoch, then a buffer. A process that gets no shard has nothing to do."""

import glob
import os
import tarfile

import webdataset

from contenders import REMOTE, endpoint, files, objects_below, read

PACKAGES = ["webdataset"]
BUFFER = 1000


def make(source, out, options):
    os.mkdir(out)
    pattern = os.path.join(out, "shard-%06d.tar")
    with webdataset.ShardWriter(pattern, maxcount=1 << 30, maxsize=options.shard_bytes, verbose=0) as writer:
        for path, label, key in files(source):
            writer.write({"__key__": key.replace(".", "_"), "jpg": read(path), "cls": label})


def count(out):
    total = 0
    for shard in glob.glob(os.path.join(out, "*.tar")):
        with tarfile.open(shard) as tar:
            total += sum(member.name.endswith(".jpg") and member.size > 0 for member in tar)
    return total


def shards(source):
    """Of a URL, as its documentation reads from anywhere: a curl for each. The bucket must be open to everybody."""
    if not source.startswith(REMOTE):
        return sorted(glob.glob(os.path.join(source, "*.tar")))
    bucket, keys = objects_below(source)
    return [f"pipe:curl -s -f -L {endpoint()}/{bucket}/{key}" for key in keys if key.endswith(".tar")]


def batches(source, options):
    import torch

    torch.set_num_threads(1)
    found, decode = shards(source), options.decode()
    samples = webdataset.WebDataset(found, shardshuffle=len(found), empty_check=False).shuffle(BUFFER)
    made = samples.map(lambda sample: (decode(sample["jpg"]), int(sample["cls"]))).batched(options.batch)
    return webdataset.WebLoader(made, batch_size=None, num_workers=options.jobs, persistent_workers=True)
