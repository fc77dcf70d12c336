"""Ultralytics trains a YOLO on a dataset packed with boxes: it reads images and boxes from the shards."""

import math
import pathlib
import cv2
import numpy as np
import packhorse
from ultralytics.data.dataset import YOLODataset
from ultralytics.models.yolo.detect import DetectionTrainer


class PackedDataset(YOLODataset):
    def get_img_files(self, path):
        self.packed = packhorse.Dataset(path, image="numpy")
        return [f"{path}/{i}.jpg" for i in range(len(self.packed))]  # names that say which sample

    def get_labels(self):
        return [self.label(i) for i in range(len(self.packed))]

    def label(self, i):
        objects = self.packed.objects(i, upright=True)
        height, width = objects.size
        one = np.asarray(objects.flags) & 1 == 0  # not a crowd
        left, top, right, bottom = (np.asarray(objects.boxes)[one] / [width, height, width, height]).T.astype(np.float32)
        boxes = np.stack([(left + right) / 2, (top + bottom) / 2, right - left, bottom - top], 1)
        form = {"normalized": True, "bbox_format": "xywh", "segments": [], "keypoints": None}
        classes = np.asarray(objects.labels, np.float32)[one, None]
        return {"im_file": self.im_files[i], "shape": (height, width), "cls": classes, "bboxes": boxes, **form}

    def load_image(self, i, rect_mode=True, resize_short=False):
        sample = int(pathlib.Path(self.im_files[i]).stem)  # validation sorts the images by shape
        image = self.packed[sample][0][..., ::-1]  # BGR
        height, width = image.shape[:2]
        scale = self.imgsz / max(height, width)
        size = (self.imgsz, self.imgsz) if not rect_mode else (math.ceil(width * scale), math.ceil(height * scale))
        image = cv2.resize(image, np.minimum(size, self.imgsz).tolist())
        self.buffer = [*self.buffer, i][-self.max_buffer_length :] if self.augment else []  # of images for a mosaic
        return image, (height, width), image.shape[:2]


class PackedTrainer(DetectionTrainer):
    def build_dataset(self, path, mode="train", batch=None):
        training = mode == "train"
        more = {"augment": training, "rect": not training, "pad": 0.0 if training else 0.5, "hyp": self.args, "batch_size": batch}
        return PackedDataset(path, self.args.imgsz, data=self.data, **more)


if __name__ == "__main__":
    PackedTrainer(overrides={"model": "yolo11n.yaml", "data": "data.yaml", "epochs": 100, "imgsz": 640}).train()
