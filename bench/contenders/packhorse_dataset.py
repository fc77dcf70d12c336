"""packhorse.Dataset in an unchanged DataLoader: pictures by PIL, as in torchvision's examples."""

from contenders.decoders import pil_crop
from contenders.packhorse_loader import PACKAGES, packhorse, version  # noqa: F401
from contenders.torch_loader import data_loader


def batches(source, options):
    return data_loader(packhorse.Dataset(source, transform=pil_crop(options.side)), options, shuffle=True)
