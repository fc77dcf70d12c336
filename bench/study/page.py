"""The study as Markdown: for each part its speeds, its speedups, its losses and its verdict."""

import agree
from common.markdown import table
from parts import PARTS


def spread_text(spread):
    """Median, and the spread where it is above 10 %."""
    text = f"{spread['median']:,.0f}"
    return f"{text} ({spread['min']:,.0f} .. {spread['max']:,.0f})" if spread["noisy"] else text


def condition_text(condition):
    if condition["kind"] == "cold":
        return "cold" + (" (with names and inodes)" if condition["names_dropped"] else " (names and inodes in memory)")
    if condition["kind"] == "warm":
        return "warm"
    rate, depth = condition["mb_per_s"], condition["depth"]
    return (f"{condition['name']} (simulated: {condition['open_ms']:g} ms to open, {condition['access_ms']:g} ms to "
            f"access, {f'{rate:g} MB/s' if rate else 'any rate'}, {depth or 'any number'} at a time)")  # fmt: skip


def by_condition(document):
    for condition in document["conditions"]:
        runs = [run for run in document["runs"] if run["condition"] == condition["name"]]
        missing = [entry for entry in document["not_measured"] if entry["condition"] == condition["name"]]
        yield condition, runs, missing


def loses(run, folder, work):
    """As the verdict counts it: the fastest repeat is behind the folder's slowest, by more than 2 %."""
    ours, theirs = run[work]["images_per_s"], folder[work]["images_per_s"]
    return ours["max"] < theirs["min"] and ours["median"] * 1.02 < theirs["median"]


def speed_table(document, title, work):
    """Speed and speedup of every input under every condition; what is slower than the folder is bold."""
    names = [condition["name"] for condition in document["conditions"]]
    found = {(run["input"], run["condition"]): run for run in document["runs"]}
    folder, rows = document["inputs"][0]["name"], []
    for entry in document["inputs"]:
        row = [entry["name"]]
        for name in names:
            run = found.get((entry["name"], name))
            if run is None:
                row.append("not measured")
                continue
            text = spread_text(run[work]["images_per_s"])
            if entry["name"] != folder and "speedup" in run:
                mark = "**" if loses(run, found[folder, name], work) else ""
                text += f", {mark}{run['speedup'][work]:.2f}x{mark}"
            row.append(text)
        rows.append(row)
    return table([f"{title}, images/s", *names], rows)


def loading_table(document, condition, runs):
    head = [condition["name"], "read, images/s", "read + decode", "disk kB an image", "CPU s/1000 (decode)",
            "first batch s", "step p50 / p99 ms", "waiting"]  # fmt: skip
    rows = []
    for run in runs:
        training = run["training"]
        rows.append([
            run["input"], spread_text(run["read"]["images_per_s"]), spread_text(run["decode"]["images_per_s"]),
            f"{run['decode']['disk_bytes_per_image']['median'] / 1e3:,.1f}",
            f"{run['decode']['cpu_s_per_1000']['median']:.2f}", f"{training['first_batch_s']['median']:.3f}",
            f"{training['batch_p50_ms']['median']:.1f} / {training['batch_p99_ms']['median']:.1f}",
            f"{100 * training['wait_share']['median']:.1f} %"])  # fmt: skip
    return table(head, rows)


def epoch_table(condition, runs):
    fields = {"all": "epoch_s", "device": "device_s", "sharing": "sharing_s", "preparing": "preparation_s",
              "fetching": "fetch_s", "other": "other_s"}  # fmt: skip

    def row(run):
        seconds = (run["attribution"][field] for field in fields.values())
        return [run["input"], *(f"{round(part, 2) + 0.0:.2f}" for part in seconds)]  # + 0.0: no -0.00

    return table([f"{condition['name']}: an epoch's seconds", *fields], map(row, runs))


def packing_table(document):
    rows = []
    for cost in document.get("packing", []):
        if not cost["was_there"]:
            rows.append([cost["input"], f"{cost['seconds']:.1f}", f"{cost['cpu_s']:.1f}",
                         f"{cost['bytes_in'] / 1e6:,.0f}", f"{cost['bytes_out'] / 1e6:,.0f}"])  # fmt: skip
    return table(["packing", "seconds", "CPU s", "MB in", "MB out"], rows) if rows else ""


def measurement_text(document):
    recipe = document["recipe"]
    device = document["device"]
    network = device if device.startswith("a simulated") else f"{recipe['arch']} on {device}"
    parts = [
        f"{network}, {recipe['image_size']} px, batch {recipe['batch_size']}, {document['workers']} reader threads, "
        f"{recipe['order']} order, {document['repeats']} repeats of {document['max_seconds']:g} s or more, on "
        f"{document['inputs'][0]['file_system']}. The device alone takes "
        f"{spread_text(document['device_limit']['images_per_s'])} images/s.",
        "Conditions: " + "; ".join(condition_text(condition) for condition in document["conditions"]) + ".",
        speed_table(document, "training", "training"),
        "\n".join(f"- {sentence}" for sentence in document["verdict"]),
        "What a device would get that waits for nothing but data:",
        speed_table(document, "read + decode", "decode"),
        packing_table(document),
    ]  # fmt: skip
    for condition, runs, missing in by_condition(document):
        if runs:
            parts += [f"<details><summary>{condition['name']}: every figure</summary>",
                      loading_table(document, condition, runs), epoch_table(condition, runs), "</details>"]  # fmt: skip
        parts += [f"Not measured: {entry['input']}, {entry['condition']}: {entry['reason']}" for entry in missing]
    return "\n\n".join(part for part in parts if part)


def sweep_text(document):
    rows = []
    for point in document["points"]:
        rows.append([str(point["workers"]), str(point["slots"]), spread_text(point["images_per_s"]),
                     f"{100 * point['wait_share']['median']:.1f} %"])  # fmt: skip
    found = table(["workers", "batches in memory", "images/s", "waiting"], rows)
    return f"{document['input']['name']}.\n\n{found}\n\nRecommended: {document['recommended']['reason']}."


def prediction_text(document):
    rows = [[p["input"], f"{p['images_per_s']:,.0f}", p["bottleneck"]] for p in document["predictions"]]
    checks = [[c["input"], c["condition"], c["work"], f"{c['predicted']:,.0f}", f"{c['measured']:,.0f}",
               f"{100 * c['error']:+.0f} %"] for c in document["check"]]  # fmt: skip
    errors = sorted(abs(check["error"]) for check in document["check"])
    summary = f"Error on this machine: median {100 * errors[len(errors) // 2]:.0f} %, largest {100 * errors[-1]:.0f} %."
    found = table(["input", "predicted images/s", "limit"], rows)
    held = table(["check", "condition", "work", "predicted", "measured", "error"], checks)
    return "\n\n".join([found, held, summary])


def delay_text(document, prediction):
    """The speedups by a delay for each file, as predicted from the warm costs and as measured."""
    name = document["conditions"][-1]["name"]
    predicted = {c["input"]: c["predicted"] for c in prediction["check"]
                 if c["condition"] == name and c["work"] == "training"}  # fmt: skip
    rows = []
    for run in document["runs"]:
        if run["condition"] == name and run["input"] != "folder":
            ours, real = predicted[run["input"]] / predicted["folder"], run["speedup"]["training"]
            rows.append([run["input"], f"{ours:.2f}x", f"{real:.2f}x", f"{100 * (ours / real - 1):+.1f} %"])
    return table(["input", "predicted speedup", "measured", "apart"], rows)


def text_of(document):
    kind = document["schema"].split("/")[0]
    texts = {"packhorse-measurement": measurement_text, "packhorse-sweep": sweep_text,
             "packhorse-prediction": prediction_text}  # fmt: skip
    return texts[kind](document)


def again_text(documents, again):
    """Whether a second run says the same, with everything on which it does not."""
    both = [part.name for part in PARTS if part.name in documents and part.name in again]
    once = [part.name for part in PARTS if part.name in documents and part.name not in again]
    parts = [f"Run twice: {', '.join(both)}." + (f" Once: {', '.join(once)}." if once else "")]
    for kind in agree.agreements(documents, again):
        parts.append(f"{kind}{':' if kind.apart else '.'}")
        parts.append("\n".join(f"- {line}" for line in kind.lines()))
    return "\n\n".join(part for part in parts if part)


def page(documents, delay_prediction, again):
    """All parts that were measured, in order, behind the machine they were measured on."""
    first = next(iter(documents.values()))
    machine = first["machine"]
    last = max(document["created"] for document in documents.values())
    lines = [f"{machine['processor']}, {machine['cpus']} CPUs, {machine['memory_bytes'] / 2**30:.0f} GiB, "
             f"{machine['kernel']}; " + ", ".join(f"{name} {version}" for name, version in first["versions"].items())
             + f". Measured until {last}."]  # fmt: skip
    for part in PARTS:
        document = documents.get(part.name)
        if document is None:
            lines += [f"### {part.title}", "Not measured."]
            continue
        lines += [f"### {part.title}", f"`{document.get('command', 'unknown command')}`", text_of(document)]
        if part.name == "delay" and delay_prediction:
            lines.append(delay_text(document, delay_prediction))
    if again:
        lines += ["### Whether a second run says the same", again_text(documents, again)]
    return "\n\n".join(lines)
