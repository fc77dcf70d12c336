"""OpenCV: reads, shrinks to a short side of 256 and writes JPEG files, one thread for each job."""

import os
from multiprocessing.pool import ThreadPool

import cv2

from contenders import files

PACKAGES = ["opencv-python-headless"]
SHORT_SIDE = 256


def make(source, out, options):
    cv2.setNumThreads(1)  # the jobs are the parallelism
    os.mkdir(out)

    def shrink(path):
        image = cv2.imread(path, cv2.IMREAD_COLOR)
        scale = SHORT_SIDE / min(image.shape[:2])
        size = [max(SHORT_SIDE, round(side * scale)) for side in image.shape[1::-1]]
        image = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
        cv2.imwrite(os.path.join(out, os.path.basename(path)), image, [cv2.IMWRITE_JPEG_QUALITY, 90])

    with ThreadPool(options.jobs) as pool:
        for _ in pool.imap_unordered(shrink, [path for path, _, _ in files(source)], chunksize=16):
            pass


def count(out):
    return sum(entry.stat().st_size > 0 for entry in os.scandir(out))
