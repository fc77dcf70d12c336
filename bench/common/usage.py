"""What programs have used so far, and the form in which one tells measure.py."""

import json
import os
import resource

BLOCK = 512  # the unit of ru_inblock and ru_oublock
TICKS = os.sysconf("SC_CLK_TCK")


def used(*who):
    found = [resource.getrusage(one) for one in who]
    return json.dumps({
        "cpu": sum(usage.ru_utime + usage.ru_stime for usage in found),
        "read": sum(usage.ru_inblock for usage in found) * BLOCK,
        "written": sum(usage.ru_oublock for usage in found) * BLOCK,
        "max_rss": max(usage.ru_maxrss for usage in found) * 1024,
    })


def machine_busy():
    """CPU seconds all cores together have spent working since the machine started."""
    with open("/proc/stat") as file:
        user, nice, system, _, _, irq, softirq = (int(x) for x in file.readline().split()[1:8])
    return (user + nice + system + irq + softirq) / TICKS


def stats():
    """The fields of /proc/PID/stat behind the name, of each process: state, parent, group, ..."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                yield int(name), file.read().rsplit(")", 1)[1].split()
        except OSError:
            continue  # it has ended


def processes():
    """Of each process: (parent, CPU ticks, with those of its ended children)."""
    return {pid: (int(fields[1]), sum(map(int, fields[11:15]))) for pid, fields in stats()}


def group_lives(group):
    """Whether a process of the group still has memory: one that has ended and was not waited for has none."""
    return any(int(fields[2]) == group and fields[0] not in "ZX" for _, fields in stats())


def tree_of(root, found):
    """`root` and all that stem from it, of what processes() has found."""
    tree, level = [], {root} & found.keys()
    while level:
        tree += level
        level = {pid for pid, (parent, _) in found.items() if parent in level}
    return tree


def tree_cpu():
    """CPU seconds of this process and all that stem from it."""
    found = processes()
    return sum(found[pid][1] for pid in tree_of(os.getpid(), found)) / TICKS


def tree_read_bytes():
    """What this process and all that stem from it have read from block devices, mapped files included."""
    total = 0
    for pid in tree_of(os.getpid(), processes()):
        try:
            with open(f"/proc/{pid}/io") as file:
                total += next(int(line.split()[1]) for line in file if line.startswith("read_bytes"))
        except OSError:
            continue  # it has ended
    return total
