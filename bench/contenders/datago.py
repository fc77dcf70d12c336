"""datago: threads that decode whole pictures. It has no random crop: torchvision's makes it, in threads here."""

import itertools
import json
import os
import warnings
from concurrent.futures import ThreadPoolExecutor

import datago
import torch

from contenders import Epochs, files
from contenders.decoders import tensor_crop

PACKAGES = ["datago"]


def batches(source, options):
    torch.set_num_threads(1)
    os.environ["DATAGO_MAX_TASKS"] = str(options.jobs)
    found = files(source)
    labels = {os.path.basename(os.path.dirname(path)): label for path, label, _ in found}
    settings = {
        "source_type": "file",
        "source_config": {"root_path": str(source), "random_sampling": True},
        "image_config": {"crop_and_resize": False, "image_to_rgb8": True},
        "limit": len(found),
        "samples_buffer_size": options.batch,
    }
    client, crop = datago.DatagoClient(json.dumps(settings)), tensor_crop(options.side)
    warnings.filterwarnings("ignore", "The given NumPy array is not writable")  # the crop only reads it
    threads = ThreadPoolExecutor(options.jobs)

    def cropped(sample):
        return crop(torch.from_numpy(sample.image.to_numpy_array()).permute(2, 0, 1))

    def label(sample):
        return labels[os.path.basename(os.path.dirname(json.loads(sample.id)))]

    def epoch():
        client.start()
        samples = iter(client.get_sample, None)
        while batch := list(itertools.islice(samples, options.batch)):
            yield torch.stack(list(threads.map(cropped, batch))), [label(sample) for sample in batch]

    return Epochs(epoch)
