"""Batches on their way to a GPU: slots in pinned memory, copies on a stream of their own."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator

from .errors import UnsupportedError

_AHEAD = 2  # batches whose copy is queued before the one in use is done


def cuda_device(device):
    """`device` as torch.device, or None for the CPU. Refuses what is not there: nothing falls back to the CPU."""
    if device is None or str(device) == "cpu":
        return None
    if str(device).partition(":")[0] != "cuda":
        raise ValueError(f"device={str(device)!r}: give 'cuda', 'cuda:N' or 'cpu'")
    torch = torch_with_cuda(f"device={str(device)!r}")
    wanted = torch.device(device)
    if wanted.index is not None and wanted.index >= torch.cuda.device_count():
        raise UnsupportedError(f"device={str(device)!r}: there are {torch.cuda.device_count()} GPUs here")
    return wanted if wanted.index is not None else torch.device("cuda", torch.cuda.current_device())


def torch_with_cuda(option: str):
    """The module torch, where it has a GPU."""
    try:
        import torch
    except ModuleNotFoundError as error:
        raise UnsupportedError(f"{option} needs torch, which is not installed", advice="pip install torch") from error
    if not torch.cuda.is_available():
        raise UnsupportedError(
            f"{option} needs a GPU, and torch sees none here",
            advice="see torch.cuda.is_available(); without a GPU leave out pin_memory= and device=",
        )
    return torch


def pinning(device=None) -> tuple[Callable[[int, int], None], Callable[[int], None]]:
    """What pins memory (address, bytes), and what ends that (address), on `device` or on the current one: whichever
    thread calls, and whatever it computes on, no other GPU is begun to be used."""
    torch = torch_with_cuda("pin_memory=True")
    runtime = torch.cuda.cudart()
    where = torch.cuda.current_device() if device is None else device

    def pin(address: int, size: int) -> None:
        with torch.cuda.device(where):
            torch.cuda.check_error(int(runtime.cudaHostRegister(address, size, 0)))

    def unpin(address: int) -> None:
        with torch.cuda.device(where):
            torch.cuda.check_error(int(runtime.cudaHostUnregister(address)))

    return pin, unpin


def _each(function: Callable, images):
    """Of the images of a batch, or of each of its views."""
    return [function(one) for one in images] if isinstance(images, list) else function(images)


class CudaCopies:
    """Copies batches to a GPU on a stream of its own. One thread."""

    def __init__(self, device):
        import torch

        self._torch, self._device = torch, device
        self._stream = torch.cuda.Stream(device)

    def start(self, images, labels) -> tuple:
        """Queues a copy. Returns images and labels on the GPU, and the event after which they are there."""
        with self._torch.cuda.stream(self._stream):
            images = _each(lambda one: one.to(self._device, non_blocking=True), images)
            labels = labels.to(self._device, non_blocking=True)  # few bytes, which CUDA puts aside first
        return images, labels, self._stream.record_event()

    def hand_over(self, images, labels, copied) -> None:
        """Lets the stream that the caller computes on wait for a copy, and own the memory."""
        using = self._torch.cuda.current_stream(self._device)
        using.wait_event(copied)
        _each(lambda one: one.record_stream(using), images)
        labels.record_stream(using)


def on_device(batches: Iterator, is_ready: Callable[[], bool], copies) -> Iterator:
    """The batches with images and labels on the GPU. The next ones are copied meanwhile, as far as they are ready. The
    memory of a batch is kept until its copy is done, also when the iterator is dropped."""
    queued: collections.deque = collections.deque()  # (batch, its event) whose copy was begun
    kept: collections.deque = collections.deque()  # (images in pinned memory, the event after which they may go)
    try:
        while True:
            while len(queued) < _AHEAD and (not queued or is_ready()):
                batch = next(batches, None)
                if batch is None:
                    break
                images, labels, copied = copies.start(batch[0], batch.labels)
                kept.append((batch[0], copied))
                queued.append((batch.moved(images, labels), copied))
            if not queued:
                return
            while kept and kept[0][1].query():
                kept.popleft()
            batch, copied = queued.popleft()
            copies.hand_over(batch.images, batch.labels, copied)
            yield batch
    finally:
        for _, copied in kept:
            copied.synchronize()
