"""torchvision's CocoDetection with tv_tensors and transforms v2, in a DataLoader."""

import random

import torch
from loaders.common import BACKGROUND, endless
from torchvision import datasets, tv_tensors
from torchvision.transforms import InterpolationMode, v2
from torchvision.transforms.v2 import functional as F

PACKAGES = ["torch", "torchvision"]
WORKLOADS = ["letterbox", "mosaic"]


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

    def fitted(self, i):
        picture, target = self.coco[i]
        picture, (boxes, labels) = picture, boxes_of(target, picture.height, picture.width)
        return *self.steps(picture, boxes), labels

    def __getitem__(self, i):
        picture, boxes, labels = self.fitted(i)
        height, width = picture.shape[-2:]
        left, top = (self.side - width) // 2, (self.side - height) // 2
        padding = [left, top, self.side - width - left, self.side - height - top]
        target = {"boxes": F.pad(boxes, padding), "labels": labels}
        return F.pad(picture, padding, fill=BACKGROUND), target


class Mosaic(Letterbox):
    """Four letterboxed pictures around a point of a canvas of twice the side, which is then moved and scaled."""

    def __init__(self, folder, side):
        super().__init__(folder, side)
        self.last = v2.Compose([
            v2.RandomAffine(
                0, (0.05, 0.05), (0.5, 1.5), interpolation=InterpolationMode.BILINEAR, fill=BACKGROUND
            ),  # of the canvas: 0.1 of the side
            v2.CenterCrop(side),
            v2.ColorJitter(brightness=0.4, saturation=0.7, hue=0.015),
            v2.RandomHorizontalFlip(),
            v2.SanitizeBoundingBoxes(),
        ])

    def __getitem__(self, i):
        side = self.side
        canvas = torch.full((3, 2 * side, 2 * side), BACKGROUND, dtype=torch.uint8)
        x, y = (random.randint(side // 2, side + side // 2) for _ in range(2))
        every_box, every_label = [], []
        for place, sample in enumerate([i, *random.choices(range(len(self)), k=3)]):
            picture, boxes, labels = self.fitted(sample)
            height, width = picture.shape[-2:]
            left, top = x - width * (place % 2 == 0), y - height * (place < 2)
            right, bottom = min(left + width, 2 * side), min(top + height, 2 * side)
            cut_x, cut_y = max(0, -left), max(0, -top)
            canvas[:, top + cut_y : bottom, left + cut_x : right] = picture[:, cut_y : bottom - top, cut_x : right - left]
            every_box.append(boxes + torch.tensor([left, top, left, top]))
            every_label.append(labels)
        boxes = tv_tensors.BoundingBoxes(torch.cat(every_box), format="XYXY", canvas_size=(2 * side, 2 * side))
        target = {"boxes": F.clamp_bounding_boxes(boxes), "labels": torch.cat(every_label)}
        return self.last(tv_tensors.Image(canvas), target)


def batches(folder, workload, side, batch, workers):
    dataset = {"letterbox": Letterbox, "mosaic": Mosaic}[workload](folder, side)
    for images, targets in endless(dataset, batch, workers):
        yield images, sum(len(target["boxes"]) for target in targets)
