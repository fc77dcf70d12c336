"""What decodes for the tools that do not: an encoded image -> a crop as a tensor [colours, height, width]."""

import io


def pil_crop(side):
    """What the examples of torchvision do with a picture of PIL."""
    from torchvision import transforms

    crop = [transforms.RandomResizedCrop(side), transforms.RandomHorizontalFlip(), transforms.PILToTensor()]
    return transforms.Compose(crop)


def tensor_crop(side):
    from torchvision.transforms import v2

    return v2.Compose([v2.RandomResizedCrop(side, antialias=True), v2.RandomHorizontalFlip()])


class Pil:
    packages, modules = ["torchvision", "torch", "pillow"], ["torch.utils.data", "torchvision.transforms", "PIL.Image"]
    dtype, by_path = "uint8", False

    def __init__(self, side):
        self.crop = pil_crop(side)

    def __call__(self, encoded):
        from PIL import Image

        return self.crop(Image.open(io.BytesIO(encoded)).convert("RGB"))


class OfTensors:
    """Decodes to a tensor, which torchvision crops."""

    packages, modules = ["torchvision", "torch"], ["torch.utils.data", "torchvision.io", "torchvision.transforms.v2"]
    dtype, by_path = "uint8", False

    def __init__(self, side):
        self.crop = tensor_crop(side)

    def __call__(self, encoded):
        return self.crop(self.decode(encoded))


class TorchvisionIo(OfTensors):
    """torchvision's own decoders, fed without copies."""

    def decode(self, encoded):
        import torch
        from torchvision.io import ImageReadMode, decode_image

        file = encoded if torch.is_tensor(encoded) else torch.frombuffer(encoded, dtype=torch.uint8)
        return decode_image(file, mode=ImageReadMode.RGB)


class OpenCv(OfTensors):
    packages, modules = ["opencv-python-headless", "torchvision", "torch"], ["cv2", *OfTensors.modules]
    by_path = True

    def decode(self, path):
        import cv2
        import torch

        cv2.setNumThreads(1)
        picture = cv2.cvtColor(cv2.imread(path, cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB)
        return torch.from_numpy(picture).permute(2, 0, 1)


class TorchCodec(OfTensors):
    packages, modules = ["torchcodec", "torchvision", "torch"], ["torchcodec.decoders", *OfTensors.modules]
    by_path = True

    def decode(self, path):
        from torchcodec.decoders import ImageReadMode, decode_image

        return decode_image(path, mode=ImageReadMode.RGB)


class Augmented(TorchvisionIo):
    """With torchvision's steps after the crop. packhorse has the same under the names of `ours`."""

    ours = ""

    def __init__(self, side):
        from torchvision.transforms import v2

        self.crop = v2.Compose([tensor_crop(side), *self.steps(v2)])


class RandAugmented(Augmented):
    ours = "RandAugment()"

    def steps(self, v2):
        return [v2.RandAugment()]


class SimClrAugmented(Augmented):
    """The colours of SimCLR (Chen et al. 2020, arXiv:2002.05709)."""

    ours = "ColorJitter(0.8, 0.8, 0.8, 0.2, p=0.8), RandomGrayscale(0.2), GaussianBlur(23, p=0.5)"

    def steps(self, v2):
        jitter = v2.RandomApply([v2.ColorJitter(0.8, 0.8, 0.8, 0.2)], 0.8)
        return [jitter, v2.RandomGrayscale(0.2), v2.RandomApply([v2.GaussianBlur(23)], 0.5)]


class TimmAugmented(Pil):
    """timm's RandAugment, of pictures of PIL, as its recipes have it."""

    packages, modules = ["timm", *Pil.packages], ["timm.data.auto_augment", *Pil.modules]
    by_path = True
    ours = "rand-m7-mstd0.5-inc1"  # of 9, magnitudes reach 10, with which Pillow 13 refuses to posterize

    def __init__(self, side):
        from timm.data.auto_augment import rand_augment_transform
        from torchvision import transforms

        *crop, to_tensor = pil_crop(side).transforms
        self.crop = transforms.Compose([*crop, rand_augment_transform(self.ours), to_tensor])

    def __call__(self, path):
        from PIL import Image

        return self.crop(Image.open(path).convert("RGB"))


class AllBands(OfTensors):
    """Every band of 16 bits as a float of 0 to 1: TIFFs by tifffile, others by Pillow."""

    packages, modules = ["tifffile", "torchvision", "torch"], ["tifffile", "PIL.Image", *OfTensors.modules]
    dtype, by_path = "float32", True

    def decode(self, path):
        import numpy
        import tifffile
        import torch
        from PIL import Image

        bands = tifffile.imread(path) if path.endswith(".tif") else numpy.asarray(Image.open(path))
        bands = torch.from_numpy(bands.astype(numpy.float32) / numpy.float32(65535))
        return bands[None] if bands.ndim == 2 else bands.permute(2, 0, 1)


DECODERS = {
    "PIL": Pil,
    "torchvision.io": TorchvisionIo,
    "OpenCV": OpenCv,
    "torchcodec": TorchCodec,
    "all bands": AllBands,
    "RandAugment": RandAugmented,
    "SimCLR": SimClrAugmented,
    "timm": TimmAugmented,
}
