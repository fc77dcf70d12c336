"""py-lmdb: a label of four bytes, then the file, by the sample's number; read by a Dataset in a DataLoader."""

import os

import lmdb

from contenders import files, read
from contenders.torch_loader import Samples, data_loader

PACKAGES = ["lmdb"]
PUTS_PER_COMMIT = 1000


def make(source, out, options):
    found = files(source)
    size = sum(os.path.getsize(path) for path, _, _ in found)
    environment = lmdb.open(out, map_size=2 * size + 8192 * len(found) + (64 << 20), subdir=False)
    transaction = environment.begin(write=True)
    for i, (path, label, _) in enumerate(found):
        transaction.put(b"%08d" % i, label.to_bytes(4, "little") + read(path), append=True)
        if (i + 1) % PUTS_PER_COMMIT == 0:
            transaction.commit()
            transaction = environment.begin(write=True)
    transaction.commit()
    environment.sync(True)
    environment.close()


def opened(path):
    return lmdb.open(path, subdir=False, readonly=True, lock=False)


def count(out):
    with opened(out) as environment:
        return environment.stat()["entries"]


def batches(source, options):
    decode = options.decode()

    def sample(values, i):
        value = values.get(b"%08d" % i)
        return decode(value[4:]), int.from_bytes(value[:4], "little")

    dataset = Samples(count(source), lambda: opened(source).begin(buffers=True), sample)
    return data_loader(dataset, options, shuffle=True)
