"""Watching packhorse-train from outside: TensorBoard, JSON lines, Prometheus and traces, read with their own
readers."""

import json
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.request

import pytest
from python_support import DONE, FAILED, ROOT, SHAPES, STARTED, TERMINATED, TRAIN, USAGE, finish, packhorse, train
from test_train_processes import results
from test_train_processes import start as start_together

pytestmark = [pytest.mark.thorough,
              pytest.mark.skipif(not TRAIN.exists(), reason="packhorse-train is not part of this build")]  # fmt: skip
QUICK = ["--arch", "smallnet", "--batch-size", "24", "--device", "cpu", "--workers", "2"]
EACH_STEP = ["--checkpoint-every", "1"]  # this also reports each step
GRAFANA = ROOT / "docs/grafana"
WATCH_PAGE = ROOT / "docs/reference/metrics.md"


@pytest.fixture(scope="module", name="data")
def data_fixture(packed_shapes):
    return packed_shapes("wds")


def fit(data, out, *options):
    result = train("fit", "--data", data, "--out", out, *QUICK, "--json", *options)
    assert result.code == DONE, result
    return result


def scalars(run):
    """tag -> [(step, value)], as TensorBoard shows them."""
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    events = accumulator.EventAccumulator(str(run / "tensorboard"))
    events.Reload()
    return {tag: [(event.step, event.value) for event in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


def step_lines(run):
    return [json.loads(line) for line in (run / "steps.jsonl").read_text().splitlines()]


def test_tensorboard_and_the_json_lines_show_the_run(data, tmp_path):
    loader = pytest.importorskip("tensorboard.backend.event_processing.event_file_loader")
    report = fit(data, tmp_path / "run", "--epochs", "2", *EACH_STEP).json
    shown = scalars(tmp_path / "run")
    steps = list(range(1, report["steps"] + 1))
    assert [step for step, _ in shown["train/loss"]] == steps
    lines = step_lines(tmp_path / "run")
    assert [line["step"] for line in lines] == steps
    for tag, field in [("loss", "loss"), ("lr", "lr"), ("images_per_s", "images_per_s")]:
        values = [value for _, value in shown[f"train/{tag}"]]
        assert values == pytest.approx([line[field] for line in lines], rel=1e-6)
    assert shown["val/top1"][-1] == (report["steps"], pytest.approx(report["top1"], rel=1e-6))
    assert [step for step, _ in shown["epoch/train_loss"]] == [report["steps"] // 2, report["steps"]]
    assert lines[-1]["loader"]["samples"] >= 24 * report["steps"]
    (file,) = (tmp_path / "run/tensorboard").iterdir()
    events = list(loader.EventFileLoader(str(file)).Load())  # checks lengths and CRCs
    assert events[0].file_version == "brain.Event:2"
    assert events[1].session_log.status == events[1].session_log.START


def test_steps_that_are_done_again_are_shown_once(data, tmp_path):
    run = tmp_path / "run"
    fit(data, run, "--epochs", "2", "--max-steps", "6", *EACH_STEP)
    # A run that replaces another is shown alone.
    fit(data, run, "--epochs", "2", "--max-steps", "2", "--overwrite", *EACH_STEP)
    assert [step for step, _ in scalars(run)["train/loss"]] == [1, 2]
    assert [line["step"] for line in step_lines(run)] == [1, 2]
    shutil.copy(run / "last.pt", tmp_path / "at-2.pt")
    fit(data, run, "--resume", "--max-steps", "4", *EACH_STEP)
    shutil.copy(tmp_path / "at-2.pt", run / "last.pt")  # as if the machine had died before the next save
    fit(data, run, "--resume", "--max-steps", "5", *EACH_STEP)
    assert len(list((run / "tensorboard").iterdir())) == 4
    assert [step for step, _ in scalars(run)["train/loss"]] == list(range(1, 6))
    assert [line["step"] for line in step_lines(run)] == list(range(1, 6))


def start(*args):
    process = subprocess.Popen([TRAIN, *map(str, args)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)  # fmt: skip
    STARTED.append(process)
    return process


def end(process):
    process.send_signal(signal.SIGTERM)
    return finish(process)


def metrics_address(process):
    for line in process.stderr:
        found = re.search(rb"metrics are at (http://\S+/metrics)", line)
        if found:
            return found[1].decode()
    raise AssertionError("the address was not told")


def scrape(address):
    parser = pytest.importorskip("prometheus_client.parser")
    with urllib.request.urlopen(address, timeout=60) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain")
        text = answer.read().decode()
    return {family.name: family for family in parser.text_string_to_metric_families(text)}


def sample_names(families):
    return {sample.name for family in families.values() for sample in family.samples}


def value(families, name):
    (found,) = [s for family in families.values() for s in family.samples if s.name == name]
    assert found.labels["rank"] == "0"
    return found.value


@pytest.fixture(scope="module", name="scraped")
def scraped_fixture(data):
    """Reads the endpoint after one epoch, while training still runs; then ends the run."""
    process = start("fit", "--data", data, *QUICK, "--epochs", "100000", "--metrics-port", "0")
    try:
        address = metrics_address(process)
        families = {}
        while "packhorse_train_val_loss" not in families:
            assert process.poll() is None
            time.sleep(0.05)
            families = scrape(address)
        second = train("fit", "--data", data, *QUICK, "--metrics-port", address.split(":")[2].split("/")[0])
    finally:
        result = end(process)
    return families, second, result


def test_prometheus_reads_a_running_training(scraped):
    families, second, result = scraped
    assert families["packhorse_train_steps"].type == "counter"
    assert value(families, "packhorse_train_steps_total") >= 1
    assert value(families, "packhorse_train_epochs") == 100000
    assert 0 <= value(families, "packhorse_train_data_wait_ratio") <= 1
    assert value(families, "packhorse_train_images_per_second") > 0
    assert value(families, "packhorse_loader_samples_total") >= 24
    assert value(families, "packhorse_loader_batch_wait_seconds_count") >= 1
    assert result.code == TERMINATED, result
    # The port is in use.
    assert second.code == FAILED and "--metrics-port" in second.err and "127.0.0.1:" in second.err, second


def test_the_loaders_metrics_are_those_of_bench(scraped, data, tmp_path):
    families, _, _ = scraped
    parser = pytest.importorskip("prometheus_client.parser")
    packhorse("bench", data / "train", "--min-seconds", "0.1", "--metrics", tmp_path / "bench.prom", "--json")
    bench = {f.name: f for f in parser.text_string_to_metric_families((tmp_path / "bench.prom").read_text())}
    loader = {name: family for name, family in families.items() if name.startswith("packhorse_loader_")}
    assert loader.keys() == {name for name in bench if name.startswith("packhorse_loader_")}
    for name, family in loader.items():
        assert (family.type, family.documentation) == (bench[name].type, bench[name].documentation)


def documented():
    names = set()
    for line in WATCH_PAGE.read_text().splitlines():
        if line.startswith("| `packhorse_"):
            names |= set(re.findall(r"`(packhorse_\w+)`", line.split("|")[1]))
    return names


def base(name):
    return re.sub(r"_(sum|count)$", "", name)


def test_the_page_lists_what_is_served_and_nothing_else(scraped):
    families, _, _ = scraped
    served = {base(name) for name in sample_names(families)}
    of_gpus = {name for name in documented() if name.startswith("packhorse_gpu_")}
    of_urls = {name for name in documented() if name.startswith("packhorse_remote_")}  # this data lies on the disk
    assert len(of_gpus) == 3 and len(of_urls) == 10
    assert documented() - of_gpus - of_urls == served - of_gpus


def test_the_dashboard_asks_for_metrics_there_are(scraped):
    families, _, _ = scraped
    dashboard = json.loads((GRAFANA / "packhorse-train.json").read_text())
    asked = set()
    for panel in dashboard["panels"]:
        assert panel["targets"], panel["title"]
        for target in panel["targets"]:
            asked |= set(re.findall(r"\bpackhorse_\w+", target["expr"]))
    for variable in dashboard["templating"]["list"]:
        asked |= set(re.findall(r"\bpackhorse_\w+", variable["query"]))
    known = sample_names(families) | {name for name in documented() if name.startswith("packhorse_gpu_")}
    assert len(asked) > 15 and asked <= known


def test_a_trace_holds_its_steps_and_the_loaders_threads_and_changes_no_parameter(data, tmp_path):
    torch = pytest.importorskip("torch")
    trace = tmp_path / "trace.json"
    steps = len(list((SHAPES / "train").rglob("*.jpg"))) // 24  # of an epoch; the trace shows the next reading
    traced = ["--trace", trace, "--trace-steps", f"{steps - 1}:{steps + 2}", "--metrics-port", "0"]
    result = fit(data, tmp_path / "watched", "--epochs", "2", *traced)
    assert "trace is written" in result.err and "ERROR" not in result.err
    events = [event for event in json.loads(trace.read_text())["traceEvents"] if event["ph"] == "X"]
    named = {}
    for event in events:
        named.setdefault(event["name"], []).append(event)
    for name in ("forward", "backward", "optimiser"):
        assert len(named[name]) == 3, name
    assert {"wait", "eval", "save", "read", "decode", "aten::convolution"} <= named.keys()
    trainer = {event["tid"] for event in named["forward"]}
    assert len(trainer) == 1 and not trainer & {event["tid"] for event in named["decode"]}
    fit(data, tmp_path / "plain", "--epochs", "2")
    plain, watched = (torch.load(tmp_path / run / "last.pt", weights_only=True)["model"] for run in ("plain", "watched"))
    assert all(plain[name].equal(watched[name]) for name in plain)


@pytest.mark.parametrize("options, said", [
    (["--trace-steps", "5"], "--trace"),
    (["--trace", "t.json", "--trace-steps", "9:3"], "is not a valid choice of steps"),
    (["--metrics-port", "70000"], "--metrics-port"),
    (["--metrics-address", "127.0.0.1"], "--metrics-port"),
])  # fmt: skip
def test_misuse_is_said(options, said, data):
    result = train("fit", "--data", data, *QUICK, *options)
    assert result.code == USAGE and said in result.err, result


def test_two_processes_write_one_log_and_each_its_own_trace(data, tmp_path):
    done = results(start_together(2, "fit", "--data", data, *QUICK, "--epochs", "1", "--out", tmp_path / "run",
                                  "--trace", tmp_path / "t.json", "--trace-steps", "1:3", "--json",
                                  *EACH_STEP))  # fmt: skip
    assert [result.code for result in done] == [DONE, DONE], done
    steps = list(range(1, done[0].json["steps"] + 1))
    assert [line["step"] for line in step_lines(tmp_path / "run")] == steps
    assert [step for step, _ in scalars(tmp_path / "run")["train/loss"]] == steps
    for rank in range(2):
        assert "traceEvents" in json.loads((tmp_path / f"t.rank{rank}.json").read_text())


def test_training_ends_while_a_client_of_the_metrics_says_nothing_to_its_end(data, tmp_path):
    process = start("fit", "--data", data, "--out", tmp_path / "run", *QUICK, "--metrics-port", "0", "--epochs", "1000")
    address = metrics_address(process)
    port = int(re.search(r":(\d+)/", address)[1])
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(b"GET /metrics HTTP/1.1\r\nHost: here\r\n")
        assert urllib.request.urlopen(address).status == 200  # other clients are answered meanwhile
        assert end(process).code == DONE  # everything is saved
