"""torchvision's CocoDetection with tv_tensors and transforms v2, in a DataLoader. It has no Mosaic."""

import torch
from contenders.boxes.endless import BACKGROUND, endless
from torchvision import datasets, tv_tensors
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as F

PACKAGES = ["torch", "torchvision"]


def coco(folder):
    found = datasets.CocoDetection(folder / "images", folder / "instances.json")
    return datasets.wrap_dataset_for_transforms_v2(found, target_keys=["boxes", "labels"])


def boxes_of(target, height, width):
    """Images without objects have no boxes in it."""
    none = tv_tensors.BoundingBoxes(torch.empty(0, 4), format="XYXY", canvas_size=(height, width))
    return target.get("boxes", none), target.get("labels", torch.empty(0, dtype=torch.long))


class Letterbox(torch.utils.data.Dataset):
    def __init__(self, folder, side):
        self.coco, self.side = coco(folder), side
        self.steps = v2.Compose([v2.ToImage(), v2.Resize(None, max_size=side, antialias=True)])

    def __len__(self):
        return len(self.coco)

    def __getitem__(self, i):
        picture, target = self.coco[i]
        boxes, labels = boxes_of(target, picture.height, picture.width)
        picture, boxes = self.steps(picture, boxes)
        height, width = picture.shape[-2:]
        left, top = (self.side - width) // 2, (self.side - height) // 2
        padding = [left, top, self.side - width - left, self.side - height - top]
        target = {"boxes": F.pad(boxes, padding), "labels": labels}
        return F.pad(picture, padding, fill=BACKGROUND), target


def batches(folder, options):
    for images, targets in endless(Letterbox(folder, options.side), options):
        yield images, sum(len(target["boxes"]) for target in targets)
