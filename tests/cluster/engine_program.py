"""An engine's cluster on this machine, and a driver that packs on it: what test_engines.py runs in processes of their own.

    engine_program.py host ENGINE            prints an address, and serves until its input ends
    engine_program.py drive ENGINE ARGUMENTS packs, and prints the report or the error; ARGUMENTS are JSON
"""

import json
import os
import signal
import sys

NODES = 4


def host_ray():
    from ray.cluster_utils import Cluster

    cluster = Cluster()
    for _ in range(NODES):
        cluster.add_node(num_cpus=1, object_store_memory=100 << 20, include_dashboard=False)
    cluster.wait_for_nodes()
    return cluster.address, cluster.shutdown


def host_dask():
    from distributed import LocalCluster

    cluster = LocalCluster(n_workers=NODES, threads_per_worker=1, processes=True, dashboard_address=None)
    return cluster.scheduler_address, cluster.close


def join(engine, address):
    """Connects this process to a cluster, as a user does."""
    if engine == "ray":
        import ray

        ray.init(address, log_to_driver=False)
    elif engine == "dask":
        from distributed import Client

        join.client = Client(address)
    elif engine == "spark":
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.ui.enabled", "false")
        builder.config("spark.executor.instances", "2").getOrCreate()


def drive(engine, source, out, options, address=None, die_after=None, tasks=6):
    import packhorse.cluster

    join(engine, address)

    def progress(done, count):
        assert 0 < done <= count == tasks
        if done == die_after:
            os.kill(os.getpid(), signal.SIGKILL)

    try:
        report = packhorse.cluster.pack(source, out, engine=engine, tasks=tasks, progress=progress, **options)
        check = packhorse.cluster.verify(out, engine=engine, tasks=2)
        said = {"packed": report.packed, "published": report.published, "verified": check.ok, "samples": check.samples}
    except packhorse.Error as error:
        said = {"error": type(error).__name__, "text": str(error)}
    if os.environ.get("OMPI_COMM_WORLD_RANK", "0") == "0":
        print(json.dumps(said))


if __name__ == "__main__":
    if sys.argv[1] == "host":
        address, end = {"ray": host_ray, "dask": host_dask}[sys.argv[2]]()
        print(address, flush=True)
        sys.stdin.read()
        end()
    else:
        drive(sys.argv[2], **json.loads(sys.argv[3]))
