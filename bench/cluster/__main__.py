"""What each engine of packhorse.cluster adds to tasks of known length.

    python3 bench/cluster                           # every engine that is installed: 1,000 tasks of 10 ms on 4 workers
    python3 bench/cluster dask --tasks 100 --json build/cluster-bench.json

Run it with a Python that has the engines and the built package (PYTHONPATH=build/release/python). The workers are processes of
this machine, so more workers than CPUs measure less than the engine. "added" is what a task costs one worker beyond its 10 ms.
"""

import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(Path(__file__).resolve().parent), str(ROOT / "tests/cluster")]

ENGINES = {"processes": "json", "dask": "distributed", "ray": "ray", "spark": "pyspark", "mpi": "mpi4py"}


def measure(engine, tasks, seconds):
    """Seconds for the first task alone, and for all."""
    import engine_program
    from sleeping import Sleep

    from packhorse import cluster

    end = None
    if engine in ("ray", "dask"):
        address, end = getattr(engine_program, f"host_{engine}")()
        engine_program.join(engine, address)
    elif engine == "spark":
        engine_program.join(engine, None)

    def work(each):
        times = []
        for count in (4, tasks):
            begin = time.perf_counter()
            made = cluster._collect(each, lambda **given: Sleep("pack", (), {"seconds": seconds}, part="task", **given), 1, count, None)
            assert len(made) == count
            times.append(time.perf_counter() - begin)
        return times

    times = cluster._by(engine, work)
    if engine == "ray":
        import ray

        ray.shutdown()  # it would break with the nodes
    if end:
        end()
    return times


def run(engine, tasks, ms):
    """Measures in a process of its own."""
    mpirun = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "5"] if engine == "mpi" else []
    package = importlib.util.find_spec("packhorse").origin  # workers have other working directories: no relative paths
    path = os.pathsep.join(map(str, [Path(__file__).resolve().parent, ROOT / "tests/cluster", Path(package).resolve().parents[1]]))
    environment = {**os.environ, "PYTHONPATH": path, "PYSPARK_PYTHON": sys.executable, "RAY_AUTH_MODE": "disabled",
                   "SPARK_LOCAL_IP": "127.0.0.1", "RAY_USAGE_STATS_ENABLED": "0"}  # fmt: skip
    done = subprocess.run([*mpirun, sys.executable, __file__, "--measure", engine, "--tasks", str(tasks), "--ms", str(ms)],
                          env=environment, capture_output=True, text=True, check=False)  # fmt: skip
    if done.returncode != 0:
        return {"engine": engine, "failed": done.stderr.strip().splitlines()[-1:]}
    start, seconds = json.loads(done.stdout.splitlines()[-1])
    workers = 2 if engine == "spark" else 4 if engine != "processes" else os.cpu_count()
    added = seconds * workers / tasks * 1000 - ms
    return {"engine": engine, "workers": workers, "start_s": start, "seconds": seconds, "ideal_s": tasks * ms / 1000 / workers, "added_ms": added}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("engines", nargs="*", metavar="ENGINE", help=", ".join(ENGINES))
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument("--ms", type=float, default=10)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        times = measure(options.measure, options.tasks, options.ms / 1000)
        if os.environ.get("OMPI_COMM_WORLD_RANK", "0") == "0":
            print(json.dumps(times))
        return
    found = []
    print("| engine | workers | 4 tasks, s | all tasks, s | without the engine, s | added to a task, ms |\n|---|---|---|---|---|---|")
    for engine in options.engines or ENGINES:
        if not importlib.util.find_spec(ENGINES[engine]) or (engine == "mpi" and not shutil.which("mpirun")):
            print(f"| {engine} | not installed | | | | |")
            continue
        found.append(run(engine, options.tasks, options.ms))
        row = found[-1]
        if "failed" in row:
            print(f"| {engine} | failed: {row['failed']} | | | | |")
        else:
            print(f"| {engine} | {row['workers']} | {row['start_s']:.2f} | {row['seconds']:.2f} | {row['ideal_s']:.2f} | {row['added_ms']:.1f} |")
    if options.json:
        options.json.write_text(json.dumps({"bench": "cluster", "tasks": options.tasks, "ms": options.ms, "rows": found}, indent=1))


if __name__ == "__main__":
    main()
