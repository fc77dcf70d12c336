"""DALI's COCO reader on the CPU. It has no Mosaic."""

import numpy
from nvidia.dali import fn, pipeline_def, types

PACKAGES = ["nvidia-dali-cuda130"]


@pipeline_def(device_id=None, exec_dynamic=True)
def letterbox(folder, side):
    files, boxes, labels = fn.readers.coco(
        file_root=str(folder / "images"),
        annotations_file=str(folder / "instances.json"),
        ltrb=True,
        ratio=True,
        random_shuffle=True,
        name="coco",
    )
    pictures = fn.decoders.image(files, device="cpu", output_type=types.RGB)
    pictures = fn.resize(pictures, size=[side, side], mode="not_larger", antialias=True)
    shape = fn.cast(fn.shapes(pictures), dtype=types.FLOAT)
    across = fn.stack(shape[1], shape[0], shape[1], shape[0])
    boxes = boxes * across + (side - across) * 0.5
    return fn.crop(pictures, crop=(side, side), out_of_bounds_policy="pad", fill_values=[114.0] * 3), boxes, labels


def batches(folder, options):
    pipe = letterbox(folder, options.side, batch_size=options.batch, num_threads=options.jobs)
    pipe.build()
    while True:
        images, boxes, _ = pipe.run()
        yield numpy.asarray(images.as_tensor()), sum(shape[0] for shape in boxes.shape())
