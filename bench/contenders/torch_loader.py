"""The DataLoader of PyTorch, as those use it that bring a Dataset of their own."""



def data_loader(dataset, options, **more):
    """Batches of a dataset, made by as many processes as there are jobs."""
    import torch

    torch.set_num_threads(1)  # in the processes: they are the parallelism
    return torch.utils.data.DataLoader(dataset, options.batch, num_workers=options.jobs, persistent_workers=True, **more)


class Samples:
    """A map-style dataset of `size` samples that sample(store, i) reads. The store is opened by open(), in each process
    on first use."""

    def __init__(self, size, open, sample):
        self.size, self.open, self.sample, self.store = size, open, sample, None

    def __len__(self):
        return self.size

    def __getitem__(self, i):
        if self.store is None:
            self.store = self.open()
        return self.sample(self.store, i)


def decoding(dataset, decode):
    """A kind of dataset whose samples are {"image", "label"}, with its images decoded."""

    class Decoded(dataset):
        def __getitem__(self, i):
            sample = super().__getitem__(i)
            return decode(sample["image"]), sample["label"]

    return Decoded
