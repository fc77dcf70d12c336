"""FFCV: its image field takes no encoded bytes: it decodes every file and encodes it again. Its loader decodes the crop
alone where JPEG allows it."""

from ffcv.fields import IntField, RGBImageField
from ffcv.fields.basics import IntDecoder
from ffcv.fields.rgb_image import RandomResizedCropRGBImageDecoder
from ffcv.loader import Loader, OrderOption
from ffcv.reader import Reader
from ffcv.transforms import RandomHorizontalFlip, Squeeze, ToTensor
from ffcv.writer import DatasetWriter
from PIL import Image

from contenders import RATIO, SCALE, files

PACKAGES = ["ffcv"]
LARGEST_PAGE = 1 << 24


class Pictures:
    """What FFCV's own ImageNet example gives its writer: decoded images and labels."""

    def __init__(self, source):
        self.found = files(source)

    def __len__(self):
        return len(self.found)

    def __getitem__(self, i):
        path, label, _ = self.found[i]
        with Image.open(path) as image:
            return image.convert("RGB"), label


def make(source, out, options):
    fields = {"image": RGBImageField(write_mode="jpg", jpeg_quality=90), "label": IntField()}
    page = min(options.shard_bytes, LARGEST_PAGE)
    writer = DatasetWriter(out, fields, num_workers=options.jobs, page_size=page)
    writer.from_indexed_dataset(Pictures(source), chunksize=50)


def count(out):
    return len(Reader(out).alloc_table)  # one allocation for each image written


def batches(source, options):
    import torch

    torch.set_num_threads(1)
    crop = RandomResizedCropRGBImageDecoder((options.side, options.side), SCALE, RATIO)
    pipelines = {
        "image": [crop, RandomHorizontalFlip(), ToTensor()],
        "label": [IntDecoder(), ToTensor(), Squeeze()],
    }
    whole = {} if options.defaults else {"drop_last": False}
    order = {"os_cache": True, "order": OrderOption.RANDOM}
    return Loader(source, batch_size=options.batch, num_workers=options.jobs, pipelines=pipelines, **order, **whole)
