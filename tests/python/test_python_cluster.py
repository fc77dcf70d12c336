"""packhorse.cluster with executors of this process; tests/cluster/test_engines.py has real engines."""

import concurrent.futures
import fcntl
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from package import environment, packhorse
from python_support import SHAPES, copy_tree, flip_byte, tree

import packhorse.cluster as cluster

OPTIONS = {"format": "wds", "shard_samples": 9}


@pytest.fixture(name="whole", scope="module")
def whole_fixture(tmp_path_factory):
    out = tmp_path_factory.mktemp("cluster") / "whole"
    packhorse.pack(SHAPES, out, **OPTIONS)
    return out


@pytest.fixture(name="threads")
def threads_fixture():
    with ThreadPoolExecutor(3) as executor:
        yield executor


class Twice(concurrent.futures.Executor):
    """Runs each task twice at the same time, and answers with the first that ends: as an engine that speculates."""

    def __init__(self, executor):
        self.executor, self.all = executor, []

    def submit(self, run, *arguments):
        pair = [self.executor.submit(run, *arguments) for _ in range(2)]
        self.all += pair
        first = concurrent.futures.wait(pair, return_when=concurrent.futures.FIRST_COMPLETED).done
        return first.pop()


class Changing(concurrent.futures.Executor):
    """Runs tasks here and now, each after change(number)."""

    def __init__(self, change):
        self.change, self.count = change, 0

    def submit(self, run, task):
        self.change(self.count)
        self.count += 1
        done = concurrent.futures.Future()
        done.set_result(run(task))
        return done


def test_tasks_give_the_bytes_of_one_run_and_one_report(whole, threads, tmp_path):
    said = []
    report = cluster.pack(SHAPES, tmp_path / "out", engine=threads, tasks=4, progress=lambda *done: said.append(done), **OPTIONS)
    assert tree(tmp_path / "out") == tree(whole) and sorted(os.listdir(tmp_path)) == ["out"]
    assert report.published and report.packed == 156 and report.shards_kept == report.shards == 18
    assert said == [(done, 4) for done in (1, 2, 3, 4)]


def test_a_task_that_runs_twice_at_the_same_time_changes_nothing(whole, tmp_path):
    with ThreadPoolExecutor(4) as executor:
        twice = Twice(executor)
        cluster.pack(SHAPES, tmp_path / "out", engine=twice, tasks=3, **OPTIONS)
        assert len(twice.all) == 6
    assert tree(tmp_path / "out") == tree(whole)


def test_relative_paths_are_those_of_the_driver(whole, monkeypatch, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "source").symlink_to(SHAPES)
    monkeypatch.chdir(tmp_path)
    cluster.pack("source", "out", engine=Changing(lambda number: os.chdir(tmp_path / "elsewhere")), tasks=2, **OPTIONS)
    assert tree(tmp_path / "out") == tree(whole)


def test_the_finish_waits_for_a_copy_of_a_task_that_the_engine_gave_up(whole, monkeypatch, threads, tmp_path):
    out, held = tmp_path / "out", []

    def hold(done, total):
        if done == total:
            held.append(open(f"{out}.partial/lock", "rb"))
            fcntl.flock(held[0], fcntl.LOCK_SH)

    waits = []

    def wait(seconds):
        waits.append(seconds)
        if len(waits) == 2:
            held[0].close()

    monkeypatch.setattr(cluster.time, "sleep", wait)
    cluster.pack(SHAPES, out, engine=threads, tasks=2, progress=hold, **OPTIONS)
    assert len(waits) == 2 and tree(out) == tree(whole)


def test_a_worker_that_cannot_see_the_disk_of_the_driver_is_an_error(tmp_path):
    out = tmp_path / "disk/out"
    out.parent.mkdir()

    def unmount(number):
        if number == 1:
            out.parent.rename(tmp_path / "unmounted")

    with pytest.raises(packhorse.errors.NotFoundError) as caught:
        cluster.pack(SHAPES, out, engine=Changing(unmount), tasks=2, **OPTIONS)
    assert "task 1/2 on " in caught.value.what and "s3://" in caught.value.advice and caught.value.path == str(tmp_path / "disk")


def test_the_mark_of_a_driver_that_was_killed_goes_and_that_of_another_stays(threads, tmp_path):
    dead, other = tmp_path / ".out.driver-1", tmp_path / ".out.driver-2"
    dead.touch()
    with open(other, "wb") as alive:
        fcntl.flock(alive, fcntl.LOCK_EX)
        cluster.pack(SHAPES, tmp_path / "out", engine=threads, tasks=2, **OPTIONS)
    assert other.exists() and not dead.exists()


def test_workers_that_list_other_files_are_an_error(tmp_path):
    source, out = copy_tree(SHAPES / "train", tmp_path / "source"), tmp_path / "out"
    count = packhorse.pack(source, tmp_path / "whole", **OPTIONS).seen
    image = next(source.rglob("*.jpg"))

    def fewer(number):
        if number == 1:
            image.rename(tmp_path / "away")

    with pytest.raises(packhorse.errors.StorageError, match=f"lists {count} inputs of .* {count - 1} of") as caught:
        cluster.pack(source, out, engine=Changing(fewer), tasks=2, **OPTIONS)
    assert "same call again" in caught.value.advice and not out.exists()
    (tmp_path / "away").rename(image)
    cluster.pack(source, out, engine=Changing(lambda number: None), tasks=2, **OPTIONS)
    assert tree(out) == tree(tmp_path / "whole")


def test_a_worker_of_another_version_is_an_error(monkeypatch, tmp_path):
    def update(number):
        monkeypatch.setattr(cluster, "version", lambda: "0.0.1")

    with pytest.raises(packhorse.errors.UnsupportedError, match=r"this worker has packhorse 0\.0\.1, the driver "):
        cluster.pack(SHAPES, tmp_path / "out", engine=Changing(update), tasks=2, **OPTIONS)


@pytest.mark.parametrize(
    "engine, more, said",
    [
        ("slurm", {}, "choose one of: processes, ray, dask, spark, mpi"),
        ("processes", {"task": "0/2"}, "task= cannot be given here"),
        ("processes", {"tasks": 0}, "tasks=0"),
        ("processes", {"tasks": "2"}, "tasks='2'"),
        (["ray"], {}, "there is no engine ['ray']"),
        ("processes", {"source": "a.parquet"}, "from_parquet"),
    ],
)
def test_mistakes_are_said_before_anything_begins(engine, more, said, tmp_path):
    with pytest.raises(packhorse.errors.UsageError, match=".") as caught:
        cluster.pack(more.pop("source", SHAPES), tmp_path / "out", engine=engine, **more, **OPTIONS)
    assert said in str(caught.value) and not os.listdir(tmp_path)


def test_verify_refuses_what_would_mean_something_else_of_its_parts(whole, threads):
    for more in ({"subset": "0/4"}, {"against": SHAPES}):
        with pytest.raises(packhorse.errors.UsageError, match=f"{[*more][0]}= cannot be given here"):
            cluster.verify(whole, engine=threads, **more)


def test_mistaken_options_are_those_of_pack_and_no_lost_task(threads, tmp_path):
    for call in (lambda **more: packhorse.pack(SHAPES, tmp_path / "out", **more),
                 lambda **more: cluster.pack(SHAPES, tmp_path / "out", engine=threads, tasks=2, **more)):  # fmt: skip
        for more, said in (({}, "missing required keyword argument 'format'"), ({"format": "wds", "jbos": 1}, "did you mean 'jobs'"),
                           ({"format": "wds", "shard_samples": []}, "shard_samples must be")):  # fmt: skip
            with pytest.raises(TypeError, match=said):
                call(**more)
    assert not os.listdir(tmp_path)


def test_an_engine_that_is_not_installed_is_named_with_its_extra(monkeypatch, tmp_path):
    def missing(name):
        raise ModuleNotFoundError(f"No module named {name!r}")

    monkeypatch.setattr(cluster.importlib, "import_module", missing)
    for engine, package in (("ray", "ray"), ("dask", "dask[distributed]"), ("spark", "pyspark"), ("mpi", "mpi4py")):
        with pytest.raises(packhorse.errors.UnsupportedError, match=f"the engine {engine} is not installed") as caught:
            cluster.pack(SHAPES, tmp_path / "out", engine=engine, **OPTIONS)
        assert package in caught.value.advice and f"packhorse[{engine}]" in caught.value.advice


def test_errors_of_an_engine_say_what_to_do(tmp_path):
    def fail(error):
        def change(number):
            raise error

        with pytest.raises(packhorse.Error) as caught:
            cluster.pack(SHAPES, tmp_path / "out", engine=Changing(change), tasks=2, **OPTIONS)
        return caught.value

    error = fail(RuntimeError("Traceback ...\nModuleNotFoundError: No module named 'packhorse'\n"))
    assert isinstance(error, packhorse.errors.UnsupportedError) and "the workers have no packhorse" in error.what
    error = fail(RuntimeError("the node died\nat java.base/..."))
    assert error.what == "Changing: a task was lost: RuntimeError: the node died" and "same call again" in error.advice
    error = fail(packhorse.errors.NoSpaceError("the disk is full", "/x"))
    assert isinstance(error, packhorse.errors.NoSpaceError) and not os.listdir(tmp_path)


def test_a_script_that_its_workers_would_run_again_is_told(tmp_path):
    call = f"packhorse.cluster.pack({str(SHAPES)!r}, {str(tmp_path / 'out')!r}, engine='processes', tasks=1, format='wds')"
    (tmp_path / "script.py").write_text(f"import packhorse.cluster\n{call}\n")
    done = subprocess.run([sys.executable, tmp_path / "script.py"], env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "next:  finished shards are kept" in done.stderr
    assert 'below `if __name__ == "__main__":`' in done.stderr.splitlines()[-1]


def test_an_error_of_a_task_is_that_of_pack_and_names_the_task(threads, tmp_path):
    with pytest.raises(packhorse.errors.NotFoundError, match="task [01]/2 on .*: "):
        cluster.pack(tmp_path / "none", tmp_path / "out", engine=threads, tasks=2, **OPTIONS)
    (tmp_path / "out").mkdir()
    with pytest.raises(packhorse.errors.ExistsError):
        cluster.pack(SHAPES, tmp_path / "out", engine=threads, tasks=2, **OPTIONS)


def test_verify_joins_the_reports_of_its_tasks(whole, threads, tmp_path):
    report = cluster.verify(whole, engine=threads, tasks=3, decode=True)
    assert report.ok and report.samples == report.decoded == 156 and report.walked == 18 and report.json["ok"]
    copy_tree(whole, tmp_path / "packed")
    flip_byte(tmp_path / "packed/train/shard-000003.tar", 5000)
    (tmp_path / "packed/train/classes.txt").unlink()
    report = cluster.verify(tmp_path / "packed", engine=threads, tasks=3)
    assert not report.ok and "damaged" in report.problem and "repair" in report.advice
    assert [finding.shard for finding in report.findings].count("train/classes.txt") == 1
    assert "train/shard-000003.tar" in [finding.shard for finding in report.findings]
