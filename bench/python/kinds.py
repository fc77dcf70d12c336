"""Kinds of images: the photos written by Pillow (or tifffile) as files of each kind, and the loaders that read it."""

import dataclasses
from collections.abc import Callable

from common.data import MAKERS, made_once, measured, photo_files

IO, CV, CODEC = "ImageFolder + torchvision.io", "ImageFolder + OpenCV", "ImageFolder + torchcodec"
PIL, BANDS, DALI = "ImageFolder + PIL", "ImageFolder + all bands", "DALI"


def saved(**options):
    """Written by Pillow."""
    return lambda picture, file: picture.save(file, **options)


def save_grey(picture, file):
    """Of 16 bits, all of which are used: the photo's grey, and noise below it."""
    import numpy as np
    from PIL import Image

    grey = np.asarray(picture.convert("L")).astype(np.uint16)
    noise = np.random.default_rng(grey.size).integers(0, 16, grey.shape, np.uint16)
    Image.fromarray(grey * 256 + noise).save(file)


def save_bands(picture, file):
    """Ten mixtures of the photo's colours, of 12 of 16 bits, as satellites' pictures are stored."""
    import numpy as np
    import tifffile

    shares = np.random.default_rng(10).dirichlet(np.ones(3), 10)
    bands = (np.asarray(picture).astype(np.float64) @ shares.T * 16).astype(np.uint16)
    layout = {"photometric": "minisblack", "planarconfig": "contig"}
    tifffile.imwrite(file, bands, compression="zlib", metadata=None, **layout)


@dataclasses.dataclass(frozen=True)
class Kind:
    title: str
    extension: str
    save: Callable
    peers: tuple
    channels: int = 3

    @property
    def data(self):
        return f"photos as {self.title}"

    @property
    def ours(self):
        return "packhorse.Loader" if self.save not in (save_grey, save_bands) else "packhorse.Loader + all bands"

    def make(self, places, count):
        def write(root):
            from PIL import Image

            for label, path in photo_files(places)[:count]:
                file = root / label / f"{path.stem}.{self.extension}"
                file.parent.mkdir(exist_ok=True)
                with Image.open(path) as picture:
                    self.save(picture.convert("RGB"), file)

        name = "".join(letter if letter.isalnum() else "-" for letter in self.data)
        return measured(made_once(places.data / f"{name}-{count}", write))


KINDS = {
    "png": Kind("PNG", "png", saved(), (PIL, IO, CV, CODEC, DALI)),
    "webp": Kind("WebP, quality 85", "webp", saved(quality=85), (PIL, IO, CV, CODEC, DALI)),
    "tiff-lzw": Kind("TIFF, LZW", "tif", saved(compression="tiff_lzw"), (PIL, CV, DALI)),
    "tiff": Kind("TIFF, not compressed", "tif", saved(), (PIL, CV, DALI)),
    "bmp": Kind("BMP", "bmp", saved(), (PIL, CV, DALI)),
    "png-16": Kind("PNG, grey of 16 bits", "png", save_grey, (BANDS,), 1),
    "tiff-10": Kind("TIFF, 10 bands of 16 bits", "tif", save_bands, (BANDS,), 10),
}
MAKERS |= {kind.data: kind.make for kind in KINDS.values()}
