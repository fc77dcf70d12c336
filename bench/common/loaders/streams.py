"""Loaders that stream shards, which their DataLoader processes share among themselves."""

import glob
import os
import sys
import tempfile

from common.litdata_folders import keep_litdata_in
from common.loaders.indexed import TorchLoader
from common.loaders.loader import BATCH

SHUFFLE_BUFFER = 1000
LONGEST_TEMPORARY = 107 - len("/pymp-12345678/listener-12345678")  # sockets that DataLoaders pass batches by


class WebDataset(TorchLoader):
    """Shards in a new order each epoch, then a buffer. A process that gets no shard has nothing to do."""

    store_packages, store_modules = ["webdataset"], ["webdataset"]

    def data_loader(self, source, jobs):
        import webdataset

        shards, decode = self.shards(source), self.decode()
        samples = webdataset.WebDataset(shards, shardshuffle=len(shards), empty_check=False).shuffle(SHUFFLE_BUFFER)
        batches = samples.map(lambda sample: (decode(sample["jpg"]), int(sample["cls"]))).batched(BATCH)
        return webdataset.WebLoader(batches, batch_size=None, num_workers=jobs, persistent_workers=True)

    def shards(self, source):
        return sorted(glob.glob(os.path.join(source, "*.tar")))


def decoding(dataset, decode):
    """A kind of dataset with its pictures decoded."""

    class Samples(dataset):
        def __getitem__(self, i):
            sample = super().__getitem__(i)
            return decode(sample["image"]), sample["label"]

    return Samples


class Mds(TorchLoader):
    store_packages, store_modules = ["mosaicml-streaming"], ["streaming"]

    def data_loader(self, source, jobs):
        from streaming import StreamingDataset
        from streaming.base.util import clean_stale_shared_memory
        from torch.utils.data import DataLoader

        clean_stale_shared_memory()  # of a run that was ended
        samples = decoding(StreamingDataset, self.decode())(**self.place(source), shuffle=True, batch_size=BATCH)
        return DataLoader(samples, BATCH, num_workers=jobs, persistent_workers=True)

    def place(self, source):
        return {"local": source}

    def close(self):
        from streaming.base.util import clean_stale_shared_memory

        del self.loader
        clean_stale_shared_memory()


class LitData(TorchLoader):
    store_packages, store_modules = ["litdata"], ["litdata"]

    def data_loader(self, source, jobs):
        keep_litdata_in(self.scratch)
        if len(tempfile.gettempdir()) > LONGEST_TEMPORARY:  # or it would wait for ever
            sys.exit(f"not run: {tempfile.gettempdir()} is too long a name for sockets in it: give a shorter --data")
        from litdata import StreamingDataLoader, StreamingDataset

        samples = decoding(StreamingDataset, self.decode())(source, shuffle=True, drop_last=False, **self.place())
        return StreamingDataLoader(samples, batch_size=BATCH, num_workers=jobs, persistent_workers=True)

    def place(self):
        return {}
