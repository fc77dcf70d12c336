"""The two decoders that storage without one of its own is read with: an encoded image -> a crop as a tensor."""

import io

MODULES = {
    "PIL": ["torchvision.transforms", "PIL.Image"],
    "torchvision.io": ["torchvision.io", "torchvision.transforms.v2"],
}
PACKAGES = {"PIL": ["torchvision", "torch", "pillow"], "torchvision.io": ["torchvision", "torch"]}


def pil_crop(side):
    from torchvision import transforms

    crop = [transforms.RandomResizedCrop(side), transforms.RandomHorizontalFlip(), transforms.PILToTensor()]
    return transforms.Compose(crop)


class Pil:
    """What the examples of torchvision do."""

    def __init__(self, side):
        self.crop = pil_crop(side)

    def __call__(self, encoded):
        from PIL import Image

        return self.crop(Image.open(io.BytesIO(encoded)).convert("RGB"))


class TorchvisionIo:
    """torchvision's own JPEG decoder, fed without copies."""

    def __init__(self, side):
        from torchvision.transforms import v2

        self.crop = v2.Compose([v2.RandomResizedCrop(side, antialias=True), v2.RandomHorizontalFlip()])

    def __call__(self, encoded):
        import torch
        from torchvision.io import ImageReadMode, decode_jpeg

        file = encoded if torch.is_tensor(encoded) else torch.frombuffer(encoded, dtype=torch.uint8)
        return self.crop(decode_jpeg(file, mode=ImageReadMode.RGB))


DECODERS = {"PIL": Pil, "torchvision.io": TorchvisionIo}
