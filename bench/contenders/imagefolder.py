"""torchvision's ImageFolder in a DataLoader; with PIL what its examples do."""

from contenders.decoders import pil_crop
from contenders.torch_loader import data_loader

PACKAGES = ["torchvision"]


def batches(source, options):
    from torchvision import datasets
    from torchvision.io import read_file

    if options.decoder == "PIL":
        dataset = datasets.ImageFolder(source, pil_crop(options.side))
    else:
        decode = options.decode()
        dataset = datasets.ImageFolder(source, decode, loader=str if decode.by_path else read_file)
    return data_loader(dataset, options, shuffle=True)
