"""Whether a loader delivers what there is: three epochs held against a folder that has one class a picture, where a
label names its sample."""

import collections
import os
import statistics

import numpy
from PIL import Image

EPOCHS = 3
SURELY_LIT = 25  # of 255: a picture's halves differ by more, so that a flip is seen
THUMBNAIL = 32


def originals(folder):
    """Of each label: (mean red, green, blue, by how much the left half is brighter)."""
    found = []
    for name in sorted(entry.name for entry in os.scandir(folder) if entry.is_dir()):
        (file,) = os.scandir(os.path.join(folder, name))
        with Image.open(file.path) as image:
            pixels = numpy.asarray(image.convert("RGB").resize((THUMBNAIL, THUMBNAIL)), float)
        half = THUMBNAIL // 2
        found.append((*pixels.mean((0, 1)), pixels[:, :half].mean() - pixels[:, half:].mean()))
    return numpy.array(found)


def rows_last(images):
    """Batches as [n, height, width, colours], which most have otherwise."""
    images = numpy.asarray(images)
    return images.transpose(0, 2, 3, 1) if images.shape[1] == 3 else images


class Seen:
    """What came in the epochs so far."""

    def __init__(self, originals):
        self.originals = originals
        self.colours = numpy.zeros((len(originals), 3))
        self.epochs, self.order, self.upright = [], [], []
        self.last_crops, self.same_crops = {}, 0
        self.overwritten = 0

    def epoch(self, batches):
        counts, first = collections.Counter(), None
        self.order = []
        for images, labels in batches:
            if first is None:
                first = (numpy.asarray(images), numpy.array(images))
            for pixels, label in zip(rows_last(images), map(int, labels)):
                counts[label] += 1
                self.order.append(label)
                self.add(pixels, label)
        self.overwritten += not numpy.array_equal(*first)
        self.epochs.append(counts)

    def add(self, pixels, label):
        self.colours[label] += pixels.mean((0, 1))
        lit = self.originals[label, 3]
        if abs(lit) > SURELY_LIT:
            half = pixels.shape[1] // 2
            self.upright.append((pixels[:, :half].mean() > pixels[:, half:].mean()) == (lit > 0))
        crop = hash(pixels.tobytes())
        self.same_crops += self.last_crops.get(label) == crop
        self.last_crops[label] = crop

    def facts(self):
        count = len(self.originals)
        times = numpy.maximum(1, sum(numpy.array([counts[i] for i in range(count)]) for counts in self.epochs))
        colours = self.colours / times[:, None]
        like = [float(numpy.corrcoef(colours[:, c], self.originals[:, c])[0, 1]) for c in range(3)]
        red_blue = numpy.corrcoef(colours[:, 0] - colours[:, 2], self.originals[:, 0] - self.originals[:, 2])
        return {
            "samples": count,
            "delivered": [counts.total() for counts in self.epochs],
            "lost": [sum(counts[i] == 0 for i in range(count)) for counts in self.epochs],
            "repeated": [sum(max(0, n - 1) for n in counts.values()) for counts in self.epochs],
            "colours_alike": min(like),
            "red_blue_alike": float(red_blue[0, 1]),
            "upright": float(statistics.fmean(self.upright)) if self.upright else None,
            "upright_of": len(self.upright),
            "moved": statistics.fmean(abs(label - i) for i, label in enumerate(self.order)) / count,
            "same_crops": self.same_crops,
            "overwritten": self.overwritten,
        }


def check(batches, folder):
    seen = Seen(originals(folder))
    for _ in range(EPOCHS):
        seen.epoch(batches)
    return seen.facts()
