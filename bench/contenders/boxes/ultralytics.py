"""The data loader that ultralytics trains with, through the functions its documentation names; used, never read."""

import os

import tempfile

# What it keeps of its settings goes where temporary files go.
os.environ |= {"YOLO_CONFIG_DIR": tempfile.gettempdir(), "YOLO_OFFLINE": "true"}

from ultralytics.cfg import get_cfg
from ultralytics.data import build_dataloader, build_yolo_dataset
from ultralytics.data.utils import check_det_dataset

PACKAGES = ["ultralytics"]


def batches(folder, options):
    # The numbers are its own defaults, but for the share of samples that are mosaics.
    settings = {"task": "detect", "hsv_h": 0.015, "hsv_s": 0.7, "hsv_v": 0.4, "translate": 0.1, "scale": 0.5}
    settings |= {"fliplr": 0.5, "mosaic": 1.0, "cache": False, "rect": False}
    settings |= {"imgsz": options.side, "workers": options.jobs}
    mode = "train" if options.workload == "mosaic" else "val"
    data = check_det_dataset(str(folder / "data.yaml"), autodownload=False)
    made = get_cfg(overrides=settings)
    dataset = build_yolo_dataset(made, str(folder / "images"), options.batch, data, mode=mode, rect=False)
    sharing = {"rank": -1, "pin_memory": False}
    loader = build_dataloader(dataset, batch=options.batch, workers=options.jobs, shuffle=True, **sharing)
    while True:
        for batch in loader:
            yield batch["img"], len(batch["bboxes"])
