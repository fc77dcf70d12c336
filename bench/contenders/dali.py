"""DALI on the CPU, with its fused decode and random crop."""

from nvidia.dali import fn, pipeline_def, types
from nvidia.dali.plugin.pytorch import DALIGenericIterator, LastBatchPolicy

from contenders import RATIO, SCALE, Epochs

PACKAGES = ["nvidia-dali-cuda130"]


def batches(source, options):
    padded = {} if options.defaults else {"pad_last_batch": True}
    partial = {} if options.defaults else {"last_batch_policy": LastBatchPolicy.PARTIAL}

    @pipeline_def(batch_size=options.batch, num_threads=options.jobs, device_id=None)
    def pictures():
        files, labels = fn.readers.file(
            file_root=source, random_shuffle=True, prefetch_queue_depth=2, name="Reader", **padded
        )
        area = {"random_area": list(SCALE), "random_aspect_ratio": list(RATIO)}
        crops = fn.decoders.image_random_crop(files, device="cpu", output_type=types.RGB, **area)
        crops = fn.resize(crops, size=[options.side, options.side])
        return fn.flip(crops, horizontal=fn.random.coin_flip()), labels

    names = ["images", "labels"]
    loader = DALIGenericIterator([pictures()], names, reader_name="Reader", auto_reset=True, **partial)
    return Epochs(lambda: ((batch["images"], batch["labels"]) for (batch,) in loader))
