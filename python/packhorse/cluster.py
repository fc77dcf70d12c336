"""Packing and verifying on many machines, by the engine that runs there: Ray, Dask, Spark, MPI, or any executor. docs/cluster.md.

    import packhorse.cluster

    report = packhorse.cluster.pack("/data/photos", "/data/packed", engine="ray", format="wds")

The work is cut into tasks, as with pack(task="I/N") and verify(subset="I/N"). The engine places them and starts lost ones
again; a task may run twice, also at the same time. The dataset has the bytes of a single run.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import fcntl
import functools
import glob
import importlib
import multiprocessing
import os
import re
import socket
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from . import packing, remote
from ._options import PackOptions, Path, VerifyOptions, takes
from ._reader import version
from .errors import Error, ExistsError, InterruptedError, NotFoundError, StorageError, UnsupportedError, UsageError
from .reports import PackReport, VerifyReport

if TYPE_CHECKING:
    from typing import Unpack  # since Python 3.11

__all__ = ["Engine", "pack", "verify"]

Engine = str | concurrent.futures.Executor
Result = TypeVar("Result")

_TASKS_PER_SLOT = 4  # so that a slow machine delays the end by a quarter of its share
_HELD = (0.1, 0.2, 0.5, 1, 2, 4, 8, 15, 30)  # seconds between looks at a directory that a task still holds
_ANOTHER_TRY_MAY_HELP = (StorageError, InterruptedError)


@takes(PackOptions)
def pack(
    source: Path,
    out: Path,
    *,
    engine: Engine,
    tasks: int | None = None,
    log: Path | None = None,
    progress: packing.Progress | None = None,
    **options: Unpack[PackOptions],
) -> PackReport:
    """packhorse.pack(), by the workers of an engine. `source` and `out` are where every worker sees them: on a common disk
    or at URLs. This process finishes: it checks every shard and publishes. If it dies, or a worker is lost for good, the
    same call goes on.

    engine    "ray", "dask", "spark": the cluster that this process is connected to; "mpi": the ranks of mpirun, which
              all make this call; "processes": of this machine; or a concurrent.futures.Executor
    tasks     into how many the work is cut; each lists the source. Default: 4 for each CPU of the workers
    jobs      threads of each task (1); Ray reserves as many CPUs
    log       as for packhorse.pack()
    progress  called with (done, all) tasks
    """
    _refuse(options, "pack", "task", "finish", "dry_run")
    if packing.is_table(source):
        raise UsageError("tables are not packed in tasks", os.fsdecode(source), "packhorse.from_parquet() packs them, on one machine")
    source, out = _everywhere(source), _everywhere(out)
    given: dict[str, Any] = {**options}
    given["jobs"] = given.get("jobs") or 1

    def work(each: _Each) -> PackReport:
        with _seen_by_all(out) as token:
            make = functools.partial(_Task, "pack", (source, out), given, part="task", token=token)
            answers = _collect(each, make, given["jobs"], tasks, progress)
        _refuse_other_listings(answers)
        return _finish(source, out, log=log, finish=True, **{**given, "jobs": None})

    return _by(engine, work)


@takes(VerifyOptions)
def verify(
    dataset: Path,
    level: str = "full",
    *,
    engine: Engine,
    tasks: int | None = None,
    progress: packing.Progress | None = None,
    **options: Unpack[VerifyOptions],
) -> VerifyReport:
    """packhorse.verify(), by the workers of an engine. `dataset` is where every worker sees it. The report joins those of
    the tasks. Its numbers count what was done: each task checks the small files, so these count several times.

    engine, tasks, jobs, progress
              as for pack()

    Without subset= and against=: packhorse.verify() compares with a source.
    """
    _refuse(options, "verify", "subset", "against")
    dataset = _everywhere(dataset)
    given: dict[str, Any] = {**options}
    given["jobs"] = given.get("jobs") or 1

    def work(each: _Each) -> VerifyReport:
        make = functools.partial(_Task, "verify", (dataset, level), given, part="subset")
        return _joined([answer.report for answer in _collect(each, make, given["jobs"], tasks, progress)])

    return _by(engine, work)


def _refuse(options: Any, call: str, *names: str) -> None:
    """What would say something else of a part than of the whole."""
    for name in names:
        if options.get(name):
            raise UsageError(f"{name}= cannot be given here", advice=f"the tasks are parts already; packhorse.{call}() takes it")


@dataclass(frozen=True)
class _Task:
    """What a worker gets."""

    call: str  # a function of packhorse.packing
    arguments: tuple[str, ...]
    options: dict[str, Any]
    number: int
    count: int
    part: str  # the option that says which part of the whole this is
    token: str = ""  # a file that the driver's disk has
    version: str = version()
    remote: tuple[tuple[str, Any], ...] = ()

    @property
    def name(self) -> str:
        return f"packhorse-{self.call}-{self.number}"

    def attempt(self) -> Any:
        """The report of this part; raises what packhorse raises."""
        if self.version != version():
            raise UnsupportedError(
                f"this worker has packhorse {version()}, the driver {self.version}", advice="install one version everywhere"
            )
        if self.token and not os.path.exists(self.token):
            raise NotFoundError(
                "this worker does not see the disk on which the dataset is to be",
                os.path.dirname(self.token),
                "give a directory that all workers share, at the same path, or a bucket: s3://BUCKET/PLACE",
            )
        remote.adopt(dict(self.remote))
        call = packing.verify if self.call == "verify" else _pack_here
        return call(*self.arguments, **{**self.options, self.part: f"{self.number}/{self.count}"})


@dataclass(frozen=True)
class _Answer:
    host: str
    task: _Task
    report: Any = None
    error: Exception | None = None


_Make = Callable[..., _Task]
_Each = Callable[[Callable[[int], "list[_Task]"], int], Iterator[_Answer]]


def _run(task: _Task) -> _Answer:
    """Runs in a worker. An error is an answer, too, so that no engine repeats what cannot succeed."""
    host = socket.gethostname()
    try:
        return _Answer(host, task, task.attempt())
    except _ANOTHER_TRY_MAY_HELP:
        raise
    except Error as error:
        what = f"task {task.number}/{task.count} on {host}: {error.what}"
        return _Answer(host, task, None, type(error)(what, error.path, error.advice, error.key, error.code))
    except TypeError as error:  # of options
        return _Answer(host, task, None, error)


def _pack_here(source: str, out: str, **options: Any) -> PackReport:
    """packhorse.pack(), whose shards on their way to a URL wait in a directory that goes with the call. That it is there
    lets a run go on whose driver died between two splits; what another run has stored is refused file by file."""
    if not remote.is_url(out) or options.get("staging"):
        return packing.pack(source, out, **options)
    with tempfile.TemporaryDirectory(prefix="packhorse-") as staging:
        return packing.pack(source, out, **{**options, "staging": staging})


def _finish(source: str, out: str, **options: Any) -> PackReport:
    """Waits a minute for tasks whose answers nobody needs any more (of a lost worker, or run twice by the engine)."""
    for seconds in _HELD:
        try:
            return _pack_here(source, out, **options)
        except ExistsError as error:
            if error.path != f"{out}.partial":
                raise
            time.sleep(seconds)
    return _pack_here(source, out, **options)


def _everywhere(path: Path) -> str:
    """The path for workers, which have other working directories."""
    text = os.fsdecode(path)
    return text if remote.is_url(text) else os.path.abspath(text)


@contextlib.contextmanager
def _seen_by_all(out: str) -> Iterator[str]:
    """A file beside `out`, by which workers see that it is on their disk, too; "" for URLs. It is locked, so that the next
    driver removes it where this one is killed."""
    if remote.is_url(out):
        yield ""
        return
    mark = os.path.join(os.path.dirname(out), f".{os.path.basename(out)}.driver-")
    for left in glob.glob(glob.escape(mark) + "*"):
        with contextlib.suppress(OSError), open(left, "rb") as dead:
            fcntl.flock(dead, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(left)
    try:
        file = open(mark + uuid.uuid4().hex, "xb")  # noqa: SIM115: closed below
    except OSError as error:
        raise StorageError(f"cannot write here: {error.strerror}", os.path.dirname(out), "make this directory") from error
    with file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        try:
            yield file.name
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(file.name)


def _collect(each: _Each, make: _Make, jobs: int, tasks: int | None, progress: packing.Progress | None) -> list[_Answer]:
    """The answers of all tasks, by number; raises the first error among them."""
    if tasks is not None and (not hasattr(tasks, "__index__") or tasks < 1):
        raise UsageError(f"tasks={tasks!r}", advice="give a whole number, 1 or more")
    settings = tuple(remote.options().items())

    def cut(slots: int) -> list[_Task]:
        count = tasks or _TASKS_PER_SLOT * max(slots, 1)
        return [make(number=number, count=count, remote=settings) for number in range(count)]

    answers: dict[int, _Answer] = {}
    with packing.following(progress) as moved, contextlib.closing(each(cut, jobs)) as found:  # type: ignore[type-var]  # a generator
        for answer in found:
            if answer.error is not None:
                raise answer.error
            answers[answer.task.number] = answer
            if moved is not None:
                moved(len(answers), answer.task.count)
    return [answers[number] for number in sorted(answers)]


def _refuse_other_listings(answers: list[_Answer]) -> None:
    first = answers[0]
    listed = ("seen", "skipped", "classes")
    for other in answers:
        mine, theirs = ([getattr(one.report, name) for name in listed] for one in (first, other))
        if mine != theirs:
            raise StorageError(
                f"workers see different sources: {first.host} lists {mine[0]} inputs of {mine[2]} classes, "
                f"{other.host} {theirs[0]} of {theirs[2]}",
                first.task.arguments[0],
                "let all workers see the same files, and nobody change them; then make the same call again",
            )


def _joined(reports: list[VerifyReport]) -> VerifyReport:
    """One report of all parts. What is wrong with a small file is in each of them, and said once."""
    findings = list(dict.fromkeys(finding for report in reports for finding in report.findings))
    notes = list(dict.fromkeys(note for report in reports for note in report.notes))
    counts = {name: sum(getattr(one, name) for one in reports) for name in ("files", "samples", "bytes", "walked", "decoded")}
    bad = next((report for report in reports if not report.ok), reports[0])
    isolated = all(report.isolated for report in reports)
    json = {"ok": bad.ok, "checked": counts, "isolated": isolated, "notes": notes, "findings": [asdict(one) for one in findings]}
    return replace(bad, json=json, findings=findings, notes=notes, isolated=isolated, **counts)


# The engines: each runs the tasks that `cut` makes for its number of slots, and hands out their answers as they come.


def _by(engine: Engine, work: Callable[[_Each], Result]) -> Result:
    if isinstance(engine, concurrent.futures.Executor):
        return _named(type(engine).__name__, work, functools.partial(_executor, engine))
    if engine == "mpi":
        return _mpi(work)
    if not isinstance(engine, str) or engine not in _ENGINES:
        known = ", ".join([*_ENGINES, "mpi"])
        raise UsageError(f"there is no engine {engine!r}", advice=f"choose one of: {known}; or give a concurrent.futures.Executor")
    return _named(engine, work, _ENGINES[engine])


def _named(name: str, work: Callable[[_Each], Result], each: _Each) -> Result:
    """Makes errors of the engine ours, which say what to do."""

    def translated(cut, jobs):
        try:
            yield from each(cut, jobs)
        except Error as error:
            cause = getattr(error, "cause", error)  # Ray's are both its own and ours
            raise cause from None if cause is not error else error.__cause__
        except Exception as error:
            raise _engine_error(name, error) from error

    return work(translated)


def _engine_error(name: str, error: Exception) -> Error:
    text = str(error)
    if "No module named 'packhorse'" in text:
        return UnsupportedError(
            f"{name}: the workers have no packhorse", advice=f"install packhorse {version()} in the Python of every worker"
        )
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    ours = [line for line in lines if re.match(r"packhorse\.errors\.\w+: ", line)]
    what = (ours or lines or [""])[0][:500]
    advice = "finished shards are kept: make the same call again; the engine's log says more"
    if isinstance(error, concurrent.futures.BrokenExecutor):
        advice += '. Workers import the script that made them: let it make calls below `if __name__ == "__main__":`'
    return StorageError(f"{name}: a task was lost: {type(error).__name__}: {what}", advice=advice)


def _module(name: str, package: str, extra: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise UnsupportedError(
            f"the engine {extra} is not installed: {error}", advice=f"pip install '{package}' (packhorse[{extra}] names it)"
        ) from error


def _executor(executor: concurrent.futures.Executor, cut: Callable[[int], list[_Task]], jobs: int) -> Iterator[_Answer]:
    slots = getattr(executor, "_max_workers", None) or os.cpu_count() or 1
    futures = [executor.submit(_run, task) for task in cut(slots)]
    try:
        for future in concurrent.futures.as_completed(futures):
            yield future.result()
    finally:
        for future in futures:
            future.cancel()


def _processes(cut: Callable[[int], list[_Task]], jobs: int) -> Iterator[_Answer]:
    context = multiprocessing.get_context("spawn")  # not fork(): this process may have threads of packhorse
    with concurrent.futures.ProcessPoolExecutor(mp_context=context, initializer=_end_with_parent) as executor:
        yield from _executor(executor, cut, jobs)


def _end_with_parent() -> None:
    """Ends this process with the one that started it, for which a worker of a pool would otherwise wait for ever."""

    def wait() -> None:
        multiprocessing.parent_process().join()  # type: ignore[union-attr]
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def _ray(cut: Callable[[int], list[_Task]], jobs: int) -> Iterator[_Answer]:
    ray = _module("ray", "ray", "ray")
    if not ray.is_initialized():
        ray.init()
    run = ray.remote(num_cpus=jobs, retry_exceptions=list(_ANOTHER_TRY_MAY_HELP))(_run)
    slots = int(ray.cluster_resources().get("CPU", 1)) // jobs
    waiting = [run.options(name=task.name).remote(task) for task in cut(slots)]
    try:
        while waiting:
            done, waiting = ray.wait(waiting)
            yield ray.get(done[0])
    finally:
        for one in waiting:
            ray.cancel(one)


def _dask(cut: Callable[[int], list[_Task]], jobs: int) -> Iterator[_Answer]:
    distributed = _module("distributed", "dask[distributed]", "dask")
    try:
        client = distributed.default_client()
    except ValueError as error:
        raise UsageError(
            "this process has no Dask client", advice='make one first: dask.distributed.Client("tcp://SCHEDULER:8786")'
        ) from error
    tasks = cut(sum(client.nthreads().values()))
    run = uuid.uuid4().hex  # the same key would be the same result
    futures = client.map(_run, tasks, key=[f"{task.name}-{run}" for task in tasks], retries=3)
    try:
        for future in distributed.as_completed(futures):
            yield future.result()
    finally:
        client.cancel(futures)


def _spark(cut: Callable[[int], list[_Task]], jobs: int) -> Iterator[_Answer]:
    context = _module("pyspark.sql", "pyspark", "spark").SparkSession.builder.getOrCreate().sparkContext
    tasks = cut(context.defaultParallelism)
    context.setJobDescription(tasks[0].name.rpartition("-")[0])
    try:
        yield from context.parallelize(tasks, len(tasks)).map(_run).collect()
    finally:
        context.setJobDescription(None)


_ENGINES: dict[str, _Each] = {"processes": _processes, "ray": _ray, "dask": _dask, "spark": _spark}


def _mpi(work: Callable[[_Each], Result]) -> Result:
    """All ranks call this; rank 0 hands out tasks to the others, and all get what came of it."""
    world = _module("mpi4py.MPI", "mpi4py", "mpi").COMM_WORLD
    outcome: tuple[Any, Exception | None] = (None, None)
    with _module("mpi4py.futures", "mpi4py", "mpi").MPICommExecutor(world, root=0) as executor:
        if executor is not None:
            try:
                outcome = (_named("mpi", work, functools.partial(_executor, executor)), None)
            except Exception as error:  # the other ranks wait for it
                outcome = (None, error)
    report, failure = world.bcast(outcome)
    if failure is not None:
        raise failure
    return report
