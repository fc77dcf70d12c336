"""The manifests for Kubernetes: valid by its schemas, and their pods do what they are for when they run as processes here.
No cluster is at hand in tests."""

import os
import signal
import subprocess

import kubernetes_validate
import pytest
import yaml
from halting import halted, halting
from python_support import BIN, ROOT, SHAPES, TRAIN, free_ports, pack, tree

CLUSTER = ROOT / "scripts/cluster"
OURS = {"pack": CLUSTER / "pack_kubernetes.yaml", "train": CLUSTER / "train_kubernetes.yaml"}
VERSIONS = ["1.31", "1.37"]  # 1.31: backoffLimitPerIndex, podFailurePolicy and podReplacementPolicy are there


def documents(name):
    return list(yaml.safe_load_all(OURS[name].read_text()))


def one(name, kind, called):
    (found,) = [doc for doc in documents(name) if doc["kind"] == kind and doc["metadata"]["name"] == called]
    return found


def pod(job):
    return job["spec"]["template"]["spec"]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", OURS)
def test_manifests_are_valid(name, version):
    for document in documents(name):
        if document["kind"] != "ServiceMonitor":  # of the Prometheus operator: its schema is no part of Kubernetes
            kubernetes_validate.validate(document, version, strict=True)


def test_numbers_and_names_agree():
    config, job = one("pack", "ConfigMap", "packhorse-pack")["data"], one("pack", "Job", "packhorse-pack")["spec"]
    assert job["completions"] == int(config["TASKS"])
    config, job = one("train", "ConfigMap", "packhorse-train")["data"], one("train", "Job", "packhorse-train")
    assert job["spec"]["completions"] == job["spec"]["parallelism"] == int(config["WORLD_SIZE"])
    service = one("train", "Service", "packhorse-train")
    name = service["metadata"]["name"]
    assert config["MASTER_ADDR"] == f"{job['metadata']['name']}-0.{name}" and pod(job)["subdomain"] == name
    ports = {port["name"]: port["port"] for port in service["spec"]["ports"]}
    assert ports == {port["name"]: port["containerPort"] for port in pod(job)["containers"][0]["ports"]}
    assert ports["rendezvous"] == int(config["MASTER_PORT"])
    labels = job["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"] == labels == one("train", "ServiceMonitor", name)["spec"]["selector"]["matchLabels"]


def run_as_pod(job, config, index, **changes):
    """The pod's command as a process of this machine, with the programs of this build first in its PATH."""
    container = pod(job)["containers"][0]
    environment = {**os.environ, **config, "JOB_COMPLETION_INDEX": str(index), "PATH": f"{BIN}:{os.environ['PATH']}",
                   "OMP_NUM_THREADS": "1", **changes}  # fmt: skip
    return subprocess.Popen([*container["command"], *container["args"]], env=environment, stderr=subprocess.PIPE, text=True,
                            stdout=subprocess.DEVNULL)  # fmt: skip


def test_the_pods_of_the_job_pack_all_shares_and_the_last_one_publishes(tmp_path):
    config = one("pack", "ConfigMap", "packhorse-pack")["data"]
    places = {"SOURCE": str(SHAPES), "OUT": str(tmp_path / "out"), "OPTIONS": f"{config['OPTIONS']} --shard-samples 20"}
    job = one("pack", "Job", "packhorse-pack")
    for index in reversed(range(job["spec"]["completions"])):
        assert run_as_pod(job, config, index, **places).wait() == 0
    assert not (tmp_path / "out").exists()
    assert run_as_pod(one("pack", "Job", "packhorse-finish"), config, 0, **places).wait() == 0
    pack(SHAPES, tmp_path / "whole", *places["OPTIONS"].split())
    assert tree(tmp_path / "out") == tree(tmp_path / "whole")


def test_a_wrong_option_ends_the_job_at_once(tmp_path):
    config, job = one("pack", "ConfigMap", "packhorse-pack")["data"], one("pack", "Job", "packhorse-pack")
    code = run_as_pod(job, config, 0, SOURCE=str(SHAPES), OUT=str(tmp_path / "out"), OPTIONS="--format wds --no-such").wait()
    (rule,) = [rule for rule in job["spec"]["podFailurePolicy"]["rules"] if rule["action"] == "FailJob"]
    assert code in rule["onExitCodes"]["values"]


@pytest.mark.skipif(not TRAIN.exists(), reason="packhorse-train is not part of this build")
def test_the_pods_train_together_and_go_on_when_one_was_lost(packed_shapes, tmp_path):
    out, processes = tmp_path / "run", 2
    (tmp_path / "programs").mkdir()
    which = '[ "$JOB_COMPLETION_INDEX $HALTS" = "0 1" ]'
    halting(tmp_path / "programs/packhorse-train", TRAIN, out, "rename", 8, which)  # in its second epoch
    config, job = one("train", "ConfigMap", "packhorse-train")["data"], one("train", "Job", "packhorse-train")
    places = {"DATA": str(packed_shapes("wds")), "RUN": str(out), "WORLD_SIZE": str(processes), "MASTER_ADDR": "127.0.0.1",
              "MASTER_PORT": str(free_ports()), "PATH": f"{tmp_path}/programs:{os.environ['PATH']}",
              "OPTIONS": "--arch smallnet --batch-size 16 --epochs 3 --device cpu --workers 1 --timeout 60"}  # fmt: skip
    job["spec"]["template"]["spec"]["containers"][0]["args"][0] = (
        pod(job)["containers"][0]["args"][0].replace("--metrics-port 9400", "--metrics-port 0")  # all are on one machine here
    )
    first, other = (run_as_pod(job, config, index, **places, HALTS="1") for index in range(processes))
    assert halted(TRAIN, str(out)) == first.pid
    other.kill()
    first.send_signal(signal.SIGCONT)
    assert first.wait() not in (0, 2) and other.wait() == -signal.SIGKILL
    again = [run_as_pod(job, config, index, **places) for index in range(processes)]
    said = [one_pod.communicate()[1] for one_pod in again]
    assert [one_pod.returncode for one_pod in again] == [0] * processes, said
    assert "epoch 3/3" in said[0] and "epoch 1/3" not in said[0]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_pods_of_kubeflow_are_valid(version):
    """Its own kind is no part of Kubernetes: what is checked are its pods."""
    for replicas in kubeflow().values():
        document = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "x"}, "template": replicas["template"]}
        kubernetes_validate.validate(document, version, strict=True)


def kubeflow():
    (job,) = yaml.safe_load_all((CLUSTER / "train_pytorchjob.yaml").read_text())
    assert (job["apiVersion"], job["kind"]) == ("kubeflow.org/v1", "PyTorchJob")
    return job["spec"]["pytorchReplicaSpecs"]


@pytest.mark.skipif(not TRAIN.exists(), reason="packhorse-train is not part of this build")
def test_the_pods_of_kubeflow_train_together(packed_shapes, tmp_path):
    operator = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_ports()), "WORLD_SIZE": "2"}
    places = {"DATA": str(packed_shapes("wds")), "RUN": str(tmp_path / "run"),
              "OPTIONS": "--arch smallnet --batch-size 16 --epochs 1 --device cpu --workers 1 --timeout 60"}  # fmt: skip
    pods = [run_as_pod({"spec": {"template": replicas["template"]}}, {}, 0, **operator, **places, RANK=str(rank))
            for rank, replicas in enumerate(kubeflow().values())]  # fmt: skip
    said = [one.communicate()[1] for one in pods]
    assert [one.returncode for one in pods] == [0, 0] and "epoch 1/1" in said[0], said
