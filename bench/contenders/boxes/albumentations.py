"""albumentations over OpenCV, in a DataLoader. Its Mosaic makes the output's size at once: no larger canvas."""

import json
import os
import random

os.environ["NO_ALBUMENTATIONS_UPDATE"] = "1"  # or it asks the network for its newest version

import albumentations as A
import cv2
import numpy
import torch
from contenders.boxes.endless import BACKGROUND, endless

PACKAGES = ["albumentations", "opencv-python-headless"]
FILL = (BACKGROUND,) * 3


def letterbox(side):
    return [A.LongestMaxSize(side), A.PadIfNeeded(side, side, fill=FILL)]


def mosaic(side):
    return [
        A.Mosaic(
            grid_yx=(2, 2),
            target_size=(side, side),
            cell_shape=(side, side),
            center_range=(0.25, 0.75),
            fit_mode="contain",
            fill=FILL,
            p=1,
        ),
        A.Affine(scale=(0.5, 1.5), translate_percent=(-0.1, 0.1), fill=FILL, p=1),
        A.HueSaturationValue(hue_shift_limit=3, sat_shift_limit=178, val_shift_limit=102, p=1),  # 0.015, 0.7, 0.4
        A.HorizontalFlip(p=0.5),
    ]


class Coco(torch.utils.data.Dataset):
    def __init__(self, folder, workload, side):
        told = json.loads((folder / "instances.json").read_text())
        self.paths = [str(folder / "images" / image["file_name"]) for image in told["images"]]
        place = {image["id"]: i for i, image in enumerate(told["images"])}
        found = [[] for _ in self.paths]
        for one in told["annotations"]:
            x, y, w, h = one["bbox"]
            found[place[one["image_id"]]].append([x, y, x + w, y + h, one["category_id"]])
        self.objects = [numpy.array(objects, numpy.float32).reshape(-1, 5) for objects in found]
        steps = {"letterbox": letterbox, "mosaic": mosaic}[workload](side)
        rules = A.BboxParams(format="pascal_voc", label_fields=["labels"], clip=True, min_width=1, min_height=1)
        self.others = 3 if workload == "mosaic" else 0
        self.steps = A.Compose(steps, bbox_params=rules)

    def __len__(self):
        return len(self.paths)

    def read(self, i):
        image = cv2.cvtColor(cv2.imread(self.paths[i], cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB)
        return {"image": image, "bboxes": self.objects[i][:, :4], "labels": self.objects[i][:, 4]}

    def __getitem__(self, i):
        cv2.setNumThreads(0)
        sample = self.read(i)
        if self.others:
            sample["mosaic_metadata"] = [self.read(other) for other in random.choices(range(len(self)), k=self.others)]
        made = self.steps(**sample)
        return torch.from_numpy(made["image"]), (made["bboxes"], made["labels"])


def batches(folder, options):
    for images, targets in endless(Coco(folder, options.workload, options.side), options):
        yield images, sum(len(boxes) for boxes, _ in targets)
