"""Runs a command as a program that measure.py waits for: `launch.py STDOUT COMMAND...`

The largest memory that the kernel reports of a process is never less than that of the process it was split from. The
bench itself may have grown; this program has not.
"""

import os
import resource
import sys

from usage import used


def main():
    printed, *command = sys.argv[1:]
    print("ready", used(resource.RUSAGE_CHILDREN), flush=True)
    sys.stdin.readline()
    files = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, printed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600),
    ]
    child = os.posix_spawnp(command[0], command, os.environ, file_actions=files)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code != 0:
        sys.exit(code if code > 0 else 128 - code)  # as a shell reports a signal
    print("done {}", flush=True)
    print("used", used(resource.RUSAGE_CHILDREN))


if __name__ == "__main__":
    main()
