"""pin_memory= and device=: refused without a GPU; their order, memory and state, with a stand-in for CUDA; and on a GPU."""

import contextlib
import gc

import numpy as np
import pytest
from package import packhorse
from packhorse import _device
from python_support import SHAPES, pack

torch = pytest.importorskip("torch", reason="torch is not installed")


@pytest.fixture(scope="module", name="packed")
def packed_fixture(tmp_path_factory):
    out = tmp_path_factory.mktemp("packed") / "shapes"
    pack(SHAPES, out, "--format", "wds", "--image", "resize", "--short-side", "64")
    return out / "train"


def loader(packed, **options):
    return packhorse.Loader(packed, 16, **{"size": 32, "seed": 3, **options})


def content(batches):
    return [(b.images.cpu().numpy().tobytes(), b.labels.tolist(), b.samples.tolist()) for b in batches]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_nothing_falls_back(packed):
    for options in ({"pin_memory": True}, {"device": "cuda"}, {"device": torch.device("cuda", 1)}):
        with pytest.raises(packhorse.errors.UnsupportedError, match="needs a GPU.*\n.*torch.cuda.is_available"):
            loader(packed, **options)
    assert content(loader(packed, device="cpu")) == content(loader(packed))


class Pinned:
    """A stand-in for cudaHostRegister, with the addresses that are pinned."""

    def __init__(self, most=1000):
        self.now, self.all, self.most = set(), 0, most

    def pin(self, address, size):
        assert address % 4096 == size % 4096 == 0 and address not in self.now
        if len(self.now) == self.most:
            raise RuntimeError("CUDA error: no more")
        self.now.add(address)
        self.all += 1

    def unpin(self, address):
        self.now.remove(address)


def pinned_by(monkeypatch, pinned):
    monkeypatch.setattr(_device, "pinning", lambda device=None: (pinned.pin, pinned.unpin))


def test_slots_are_pinned_used_again_and_given_back(packed, monkeypatch):
    pinned = Pinned()
    pinned_by(monkeypatch, pinned)
    expected = content(loader(packed))
    for workers in (0, 2):
        reader = loader(packed, pin_memory=True, slots=3, workers=workers)
        assert len(pinned.now) == 3
        assert content(reader) == expected
        for batch in reader:
            assert batch.images.data_ptr() in pinned.now
        assert pinned.all <= 3 + 3
        del reader
        gc.collect()
        assert pinned.now == {batch.images.data_ptr()}
        del batch
        assert not pinned.now
        pinned.all = 0


def test_memory_that_cannot_be_pinned_is_an_error(packed, monkeypatch):
    for most in (0, 2):
        pinned = Pinned(most)
        pinned_by(monkeypatch, pinned)
        with pytest.raises(RuntimeError, match="CUDA error: no more"):
            loader(packed, pin_memory=True)
        assert not pinned.now
    with pytest.raises(ValueError, match="choose one"):
        loader(packed, pin_memory=True, huge_pages=True)


class TwoGpus:
    """A stand-in for torch with two GPUs, the first of which is the current one: what is pinned on which."""

    def __init__(self):
        self.current, self.pinned, self.cuda = 0, {}, self

    def current_device(self):
        return self.current

    def cudart(self):
        return self

    @contextlib.contextmanager
    def device(self, wanted):
        before, self.current = self.current, wanted if isinstance(wanted, int) else wanted.index
        yield
        self.current = before

    def check_error(self, code):
        if code:
            raise RuntimeError(f"CUDA error: {code}")

    def cudaHostRegister(self, address, size, flags):
        if address in self.pinned:
            return 712
        self.pinned[address] = self.current
        return 0

    def cudaHostUnregister(self, address):
        return 0 if self.pinned.pop(address, None) == self.current else 713


@pytest.mark.parametrize("device", [None, 1])
def test_memory_is_pinned_on_the_gpu_that_it_is_for(packed, monkeypatch, device):
    gpus = TwoGpus()
    monkeypatch.setattr(_device, "torch_with_cuda", lambda option: gpus)
    if device is not None:
        monkeypatch.setattr(_device, "cuda_device", lambda name: torch.device("cuda", device))
        monkeypatch.setattr(_device, "CudaCopies", lambda wanted: Copies(1))
    reader = loader(packed, **({"pin_memory": True} if device is None else {"device": "cuda:1"}))
    assert set(gpus.pinned.values()) == {device or 0} and gpus.current == 0
    gpus.current = 1 - (device or 0)  # what the caller does meanwhile
    assert content(reader) == content(loader(packed))
    assert set(gpus.pinned.values()) == {device or 0}
    del reader
    gc.collect()
    assert gpus.pinned == {} and gpus.current == 1 - (device or 0)


class Copies:
    """A stand-in for a GPU: a copy is done when its event is waited for, or `late` copies later."""

    def __init__(self, late):
        self.late, self.begun, self.handed_over, self.synchronized = late, [], [], 0

    def start(self, images, labels):
        number = len(self.begun)
        self.begun.append(images)  # the GPU reads this memory until the event
        return images, labels, Event(self, number)

    def hand_over(self, images, labels, copied):
        # What was to be copied has not been overwritten meanwhile.
        self.handed_over.append(images.numpy().copy())


class Event:
    def __init__(self, copies, number):
        self.copies, self.number = copies, number

    def query(self):
        return len(self.copies.begun) > self.number + self.copies.late

    def synchronize(self):
        self.copies.synchronized += 1


def with_copies(monkeypatch, late):
    copies = Copies(late)
    pinned_by(monkeypatch, Pinned())
    monkeypatch.setattr(_device, "cuda_device", lambda device: device)
    monkeypatch.setattr(_device, "CudaCopies", lambda device: copies)
    return copies


@pytest.mark.parametrize("late", [0, 1, 5])
def test_copies_come_in_order_and_states_count_what_was_delivered(packed, monkeypatch, late):
    expected = content(loader(packed))
    copies = with_copies(monkeypatch, late)
    reader = loader(packed, device="cuda")
    for number, batch in enumerate(reader):
        assert content([batch]) == [expected[number]]
        delivered = 16 * (number + 1)
        epoch, done = (0, delivered) if delivered < 120 else (1, 0)
        wanted = {"seed": 3, "epoch": epoch, "done": done, "order": "global", "data": reader.dataset.id}
        assert reader.state_dict() == wanted
        assert len(copies.begun) <= number + 2
    assert [images.tobytes() for images in copies.handed_over] == [images for images, _, _ in expected]


def test_an_iteration_that_a_newer_one_cuts_short_raises_with_copies_on_their_way_too(packed, monkeypatch):
    with_copies(monkeypatch, 1)
    reader = loader(packed, device="cuda")
    for taken in range(1, len(reader)):
        first = iter(reader)
        assert len([next(first) for _ in range(taken)]) == taken
        next(iter(reader))
        with pytest.raises(packhorse.errors.UsageError, match=f"{len(reader) - taken} batches of epoch .* not delivered"):
            next(first)


def test_targets_come_with_their_images_and_stay_in_memory(tmp_path, monkeypatch):
    with packhorse.Writer(
        tmp_path / "out", format="wds", image="resize", short_side=16, object_classes=["a"], shuffle=False
    ) as writer:
        for i in range(9):
            pixels = np.full((16, 16, 3), 20 * i, np.uint8)
            writer.add(pixels, "all", boxes=[[0, 0, 8, 8 - i % 4]] * i, box_labels=[0] * i)

    def batches(**options):
        return list(packhorse.Loader(tmp_path / "out", 2, size=16, targets=True, shuffle=False, workers=2, **options))

    expected = batches()
    with_copies(monkeypatch, 1)
    for batch, same in zip(batches(device="cuda"), expected, strict=True):
        assert type(batch) is packhorse.TargetBatch and batch.samples.tolist() == same.samples.tolist()
        assert torch.equal(batch.images, same.images) and torch.equal(batch.targets.boxes, same.targets.boxes)
        assert [len(one["boxes"]) for one in batch.targets.split(device="cpu")] == batch.samples.tolist()


def test_a_dropped_iterator_waits_for_its_copies(packed, monkeypatch):
    copies = with_copies(monkeypatch, 100)
    batches = iter(loader(packed, device="cuda"))
    next(batches)
    del batches
    gc.collect()
    assert copies.synchronized == len(copies.begun) > 0


def test_an_error_comes_after_the_batches_before_it(packed, monkeypatch):
    copies = with_copies(monkeypatch, 100)

    def fails():
        yield from list(loader(packed))[:3]
        raise packhorse.errors.CorruptError("the fourth")

    taken = []
    with pytest.raises(packhorse.errors.CorruptError):
        for batch in _device.on_device(fails(), lambda: False, copies):
            taken.append(batch)
    assert len(taken) == 3 and copies.synchronized == 3


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("options", [{}, {"dtype": "float16", "channels_last": False}, {"dtype": "float32", "workers": 0}])
def test_on_a_gpu(packed, options):
    expected = content(loader(packed, **options))
    for batch in loader(packed, pin_memory=True, **options):
        assert batch.images.is_pinned()
    reader = loader(packed, device="cuda", **options)
    for _ in range(20):
        reader.set_epoch(0)
        batches = []
        for batch in reader:
            assert batch.images.device.type == batch.labels.device.type == "cuda"
            batches.append(batch.moved((batch.images + 0), batch.labels))
        assert content(batches) == expected
    assert np.prod(batches[0].images.shape) == 16 * 3 * 32 * 32
