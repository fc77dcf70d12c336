"""Programs that halt (SIGSTOP) before one of their own system calls: what befalls them there befalls them in the middle
of their work, however fast the machine is."""

import re
import time
from pathlib import Path

import pytest
from python_support import BIN

PRELOAD = BIN / "packhorse_faults.so"  # tests/fault/preload
PATIENCE_S = 120


def halting(path, program, root, call, at, which="true"):
    """Writes a script that stands for the program, which halts before its call of number `at` below `root`, where the
    shell's command `which` succeeds."""
    if not PRELOAD.exists():
        pytest.skip("tests/fault/preload is not part of this build")
    faults = f"LD_PRELOAD='{PRELOAD}' FAULT_ROOT='{root}' FAULT_CALL={call} FAULT_AT={at} FAULT_DO=STOP"
    path.write_text(f'#!/bin/sh\nif {which}; then export {faults}; fi\nexec {program} "$@"\n')
    path.chmod(0o755)
    return path


def is_halted(pid):
    """All its threads are stopped: from now on, a signal waits for SIGCONT."""
    return all(stat.read_text().rpartition(") ")[2][0] == "T" for stat in Path(f"/proc/{pid}/task").glob("*/stat"))


def running(program, *words):
    """The pids of the program's processes with these words in their command lines."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if command[0] == str(program).encode() and all(word.encode() in command for word in words):
            found.append(int(path.parent.name))
    return found


def halted(program, *words):
    """Waits for the process that halts, and returns its pid."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        for pid in running(program, *words):
            try:
                if is_halted(pid):
                    return pid
            except OSError:
                continue  # it has just ended
        time.sleep(0.05)
    raise AssertionError(f"no {program} halts with {words}")


def is_waiting(pid, number):
    """Whether a signal waits for a process that is halted."""
    (bits,) = re.findall(r"^ShdPnd:\s*(\w+)", Path(f"/proc/{pid}/status").read_text(), re.M)
    return int(bits, 16) >> (number - 1) & 1
