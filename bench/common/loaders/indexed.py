"""Loaders that fetch a sample by its number: a DataLoader of PyTorch over a dataset with a length."""

from common.loaders.decode import DECODERS, MODULES, PACKAGES, pil_crop
from common.loaders.loader import BATCH, Loader


class TorchLoader(Loader):
    """A DataLoader of PyTorch with JOBS processes, and what decodes in them."""

    store_packages, store_modules = [], []

    def __init__(self, decoder, **options):
        super().__init__(**options)
        self.decoder = decoder
        self.packages = [*self.store_packages, *PACKAGES[decoder]]
        self.modules = ["torch.utils.data", *self.store_modules, *MODULES[decoder]]

    def decode(self):
        return DECODERS[self.decoder](self.side)

    def data_loader(self, source, jobs):
        from torch.utils.data import DataLoader

        return DataLoader(self.dataset(source), BATCH, shuffle=True, num_workers=jobs, persistent_workers=True)

    def dataset(self, source):
        raise NotImplementedError

    def open(self, source, jobs):
        import torch

        torch.set_num_threads(1)  # in the processes: they are the parallelism
        self.loader = self.data_loader(source, jobs)

    def epoch(self):
        return self.loader


class Folder(TorchLoader):
    """torchvision's ImageFolder; with PIL what its examples do."""

    def dataset(self, source):
        from torchvision import datasets
        from torchvision.io import read_file

        if self.decoder == "PIL":
            return datasets.ImageFolder(source, pil_crop(self.side))
        return datasets.ImageFolder(source, self.decode(), loader=read_file)


class LmdbSamples:
    """The LMDB of the packing bench: a label of four bytes, then the file. Opened in each process on first use."""

    def __init__(self, path, decode):
        import lmdb

        self.path, self.decode, self.values = path, decode, None
        with lmdb.open(path, subdir=False, readonly=True, lock=False) as environment:
            self.size = environment.stat()["entries"]

    def __len__(self):
        return self.size

    def __getitem__(self, i):
        import lmdb

        if self.values is None:
            environment = lmdb.open(self.path, subdir=False, readonly=True, lock=False)
            self.values = environment.begin(buffers=True)
        value = self.values.get(b"%08d" % i)
        return self.decode(value[4:]), int.from_bytes(value[:4], "little")


class Lmdb(TorchLoader):
    store_packages, store_modules = ["lmdb"], ["lmdb"]

    def dataset(self, source):
        return LmdbSamples(source, self.decode())


class Hdf5Samples:
    """The HDF5 file of the packing bench: flat bytes, offsets, labels. Opened in each process on first use."""

    def __init__(self, path, decode):
        import h5py

        self.path, self.decode, self.data = path, decode, None
        with h5py.File(path, "r") as file:
            self.offsets, self.labels = file["offsets"][:], file["labels"][:]

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        import h5py

        if self.data is None:
            self.data = h5py.File(self.path, "r")["data"]
        return self.decode(self.data[self.offsets[i] : self.offsets[i + 1]]), int(self.labels[i])


class Hdf5(TorchLoader):
    store_packages, store_modules = ["h5py"], ["h5py"]

    def dataset(self, source):
        return Hdf5Samples(source, self.decode())


class Decoding:
    """Makes a batch of the rows that Lance reads at once."""

    def __init__(self, decode):
        self.decode = decode

    def __call__(self, rows):
        import torch

        return torch.stack([self.decode(bytearray(row["image"])) for row in rows]), [row["label"] for row in rows]


class Lance(TorchLoader):
    """Its own DataLoader and map-style dataset: a batch is one take(), in processes that are spawned."""

    store_packages, store_modules = ["pylance"], ["lance.torch.data"]

    def data_loader(self, source, jobs):
        from lance.torch.data import SafeLanceDataset, get_safe_loader

        samples = SafeLanceDataset(str(source))
        return get_safe_loader(samples, BATCH, jobs, shuffle=True, collate_fn=Decoding(self.decode()))

    def close(self):
        del self.loader  # its processes would still look for what is cleared next
