"""What the loaders around torch's DataLoader share."""

import torch

BACKGROUND = 114


class Endless(torch.utils.data.Sampler):
    """All samples in random order, again and again, so that a pass does not end with an epoch."""

    def __init__(self, size):
        self.size = size

    def __iter__(self):
        while True:
            yield from torch.randperm(self.size).tolist()


def stacked(samples):
    """Boxes stay a list: images have different numbers of them."""
    images, targets = zip(*samples)
    return torch.stack(images), list(targets)


def endless(dataset, options):
    torch.set_num_threads(1)
    return torch.utils.data.DataLoader(
        dataset,
        batch_size=options.batch,
        sampler=Endless(len(dataset)),
        num_workers=options.jobs,
        collate_fn=stacked,
        worker_init_fn=one_thread,
    )


def one_thread(_):
    torch.set_num_threads(1)
