"""The data loader that ultralytics trains with, through the functions its documentation names; used, never read."""

from ultralytics.cfg import get_cfg
from ultralytics.data import build_dataloader, build_yolo_dataset
from ultralytics.data.utils import check_det_dataset

PACKAGES = ["ultralytics"]
WORKLOADS = ["letterbox", "mosaic"]


def batches(folder, workload, side, batch, workers):
    # The numbers are its own defaults, but for the share of samples that are mosaics.
    settings = {"imgsz": side, "task": "detect", "hsv_h": 0.015, "hsv_s": 0.7, "hsv_v": 0.4, "translate": 0.1, "scale": 0.5}
    settings |= {"fliplr": 0.5, "mosaic": 1.0, "cache": False, "workers": workers, "rect": False}
    mode = "train" if workload == "mosaic" else "val"
    data = check_det_dataset(str(folder / "data.yaml"), autodownload=False)
    dataset = build_yolo_dataset(get_cfg(overrides=settings), str(folder / "images"), batch, data, mode=mode, rect=False)
    loader = build_dataloader(dataset, batch=batch, workers=workers, shuffle=True, rank=-1, pin_memory=False)
    while True:
        for made in loader:
            yield made["img"], len(made["bboxes"])
