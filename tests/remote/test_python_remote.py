"""The Python package with datasets at URLs: the samples and batches of the disk, in threads, processes and after a fork."""

import json
import os
import subprocess
import sys
import textwrap

import pytest
from python_support import BIN, packhorse

PACKAGE = BIN.parent / "python"
pytestmark = pytest.mark.skipif(not (PACKAGE / "packhorse/_remote.pyi").exists(), reason="the Python package is not built")


def python(code, *arguments, **environment):
    """What `code` prints as JSON."""
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    env = os.environ | {"PYTHONPATH": str(PACKAGE)} | {name: str(value) for name, value in environment.items()}
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


BATCHES = """
    import hashlib, json, sys
    import packhorse
    path, cache = sys.argv[1:]
    if "://" in path:
        packhorse.configure_remote(cache=cache, region="us-east-1")
    loader = packhorse.Loader(path, batch_size=16, size=32, order="global", seed=5)
    digest = hashlib.sha256()
    for epoch in range(2):
        for images, labels in loader:
            digest.update(bytes(memoryview(images.numpy() if hasattr(images, "numpy") else images)))
            digest.update(bytes(memoryview(labels.numpy() if hasattr(labels, "numpy") else labels)))
    print(json.dumps([digest.hexdigest(), packhorse.remote_counters()]))
"""


@pytest.mark.parametrize(("kind", "how"), [("web", "memory"), ("bucket", "cache")])
def test_batches_are_those_of_the_disk(request, kind, how, local, tmp_path):
    server = request.getfixturevalue(kind)
    url = "s3://private/packed/train" if kind == "bucket" else f"{server.url}/packed/train"
    environment = server.environment() if kind == "bucket" else {}
    cache = tmp_path / "cache" if how == "cache" else ""
    here, none = python(BATCHES, local, "")
    there, counters = python(BATCHES, url, cache, **environment)
    assert there == here and none == {}
    assert counters["requests"] > 0 and counters["failed_requests"] == 0
    if how == "cache":
        again, counters = python(BATCHES, url, cache, **environment)
        assert again == here and counters["runs_fetched"] == 0 < counters["runs_cached"], counters
        packhorse("cache", "verify", f"--cache={cache}")


def test_the_usual_order_is_by_windows_first(web, local, tmp_path):
    code = """
        import json, sys
        import packhorse
        packhorse.configure_remote(cache=sys.argv[3])
        def samples(path, **how):
            loader = packhorse.Loader(path, batch_size=16, size=32, seed=5, **how)
            return [[batch.samples.tolist() for batch in loader] for epoch in range(2)]
        url, local = sys.argv[1:3]
        print(json.dumps([samples(url), samples(local, order="window-first"), samples(local, order="window"), samples(local)]))
    """
    for cache in ("", tmp_path / "cache"):
        url, first, window, order = python(code, f"{web.url}/packed/train", local, cache)
        assert url == (first if cache else window)
        assert first == [window[0], order[1]] and window[0] != order[0]


def test_a_state_from_the_middle_of_an_epoch_goes_on_in_its_order_alone(web, local):
    code = """
        import json, sys
        import packhorse
        packhorse.configure_remote(cache="")
        url, local = sys.argv[1:]
        def loader(path, **how):
            return packhorse.Loader(path, batch_size=16, size=32, seed=5, **how)
        begun = loader(url)
        batches = iter(begun)
        seen = [next(batches).samples.tolist() for _ in range(3)]
        state = begun.state_dict()
        try:
            loader(local).load_state_dict(state)
            said = "nothing"
        except ValueError as error:
            said = str(error)
        other = loader(local, order=state["order"])
        other.load_state_dict(state)
        rest = [batch.samples.tolist() for batch in other]
        print(json.dumps([state["order"], said, sorted(sum(seen + rest, [])) == list(range(96))]))
    """
    order, said, whole = python(code, f"{web.url}/packed/train", local)
    assert order == "window" and "give order='window'" in said and whole


WORKERS = """
import json, multiprocessing, os, sys
import packhorse


def main(url, local, cache):
    packhorse.configure_remote(cache=cache)
    dataset, right = packhorse.Dataset(url, image="bytes"), packhorse.Dataset(local, image="bytes")
    some = range(0, len(right), 9)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        same = pool.map(dataset.read, some) == [right.read(i) for i in some]
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            dataset.read(0)
            said = "nothing"
        except packhorse.errors.UsageError as error:
            said = str(error)
        os.write(into, said.encode())
        os._exit(0)
    os.waitpid(child, 0)
    print(json.dumps([same, os.read(out, 4096).decode(), dataset.read(1) == right.read(1)]))


if __name__ == "__main__":
    main(*sys.argv[1:])
"""


def test_samples_reach_workers_that_are_spawned_and_not_those_that_are_forked(web, local, tmp_path):
    (tmp_path / "workers.py").write_text(WORKERS)  # spawned processes import it
    command = [sys.executable, tmp_path / "workers.py", f"{web.url}/packed/train", local, tmp_path / "cache"]
    env = os.environ | {"PYTHONPATH": str(PACKAGE)}
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    same, said, still = json.loads(done.stdout)
    assert same and still and "before a fork" in said, done.stdout


def test_unpack_and_inspect_take_urls_and_errors_are_exceptions(web, local, tmp_path):
    code = """
        import json, sys
        import packhorse
        url, nothing, out = sys.argv[1:]
        packhorse.configure_remote(cache="")
        report = packhorse.unpack(url, out)
        try:
            packhorse.Loader(nothing, batch_size=4, size=32)
            said = "nothing"
        except packhorse.errors.NotFoundError as error:
            said = str(error)
        print(json.dumps([packhorse.inspect(url).samples, said]))
    """
    samples, said = python(code, f"{web.url}/packed/train", f"{web.url}/packed/nothing", tmp_path / "out")
    packhorse("unpack", local, tmp_path / "here")
    assert sorted(p.name for p in (tmp_path / "out").rglob("*.jpg")) == sorted(p.name for p in (tmp_path / "here").rglob("*.jpg"))
    assert samples == len(list((tmp_path / "out").rglob("*.jpg"))) and "no dataset.json below the URL" in said


def test_local_datasets_do_not_load_what_speaks_to_storage(local):
    code = """
        import json, sys
        import packhorse
        len(packhorse.Dataset(sys.argv[1]))
        print(json.dumps("packhorse._remote" in sys.modules))
    """
    assert python(code, local) is False
