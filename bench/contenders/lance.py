"""Lance: its own DataLoader and map-style dataset: a batch is one take(), in processes that are spawned."""

import lance
import pyarrow
from lance.torch.data import SafeLanceDataset, get_safe_loader

from contenders import files, read

PACKAGES = ["pylance"]
ROWS = 1024  # handed over at once


def make(source, out, options):
    found = files(source)
    schema = pyarrow.schema([("image", pyarrow.binary()), ("label", pyarrow.int64())])

    def parts():
        for begin in range(0, len(found), ROWS):
            part = found[begin : begin + ROWS]
            columns = [[read(path) for path, _, _ in part], [label for _, label, _ in part]]
            yield pyarrow.record_batch(columns, schema=schema)

    lance.write_dataset(pyarrow.RecordBatchReader.from_batches(schema, parts()), out)


def count(out):
    return lance.dataset(out).count_rows()


class Decoding:
    """Makes a batch of the rows that Lance reads at once."""

    def __init__(self, decode):
        self.decode = decode

    def __call__(self, rows):
        import torch

        return torch.stack([self.decode(bytearray(row["image"])) for row in rows]), [row["label"] for row in rows]


def batches(source, options):
    import torch

    torch.set_num_threads(1)
    dataset = SafeLanceDataset(str(source))
    return get_safe_loader(dataset, options.batch, options.jobs, shuffle=True, collate_fn=Decoding(options.decode()))
