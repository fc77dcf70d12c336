"""A Slurm cluster on this machine: its controller and four nodes, whose files all lie in one folder.

    with Slurm(folder) as slurm:
        slurm.run("sbatch", "--wrap", "hostname")

Needs the packages slurm-wlm and munge (scripts/setup --all), and root.
"""

import os
import shutil
import signal
import socket
import subprocess
import time

from python_support import free_ports

PROGRAMS = ("slurmctld", "slurmd", "munged", "mungekey", "sbatch", "srun", "scontrol", "squeue")
NODES = 4
SHOWN = ("JobId", "ArrayTaskId", "JobName", "JobState", "Reason", "Restarts", "ExitCode", "NodeList")
START_S = 60


class Missing(Exception):
    """What is needed is not here."""


class Failed(Exception):
    """It does not start, or a job does not end."""


CONFIGURATION = """\
ClusterName=tests
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={controller}
SlurmUser=root
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldPidFile={folder}/slurmctld.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
MpiDefault=none
ReturnToService=2
KillWait=20
MinJobAge=3600
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
NodeName=n[0-{last}] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{first_port}-{last_port}] CPUs=2 RealMemory=2000 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP PriorityTier=1 GraceTime=0
PartitionName=graceful Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=1 GraceTime=20
PartitionName=urgent Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=9 PreemptMode=OFF
"""


class Slurm:
    def __init__(self, folder):
        missing = [name for name in PROGRAMS if not shutil.which(name)]
        if missing:
            raise Missing(f"not installed: {', '.join(missing)} (the packages slurm-wlm and munge)")
        if os.geteuid() != 0:
            raise Missing("a Slurm of one's own takes root")
        self.folder, self.daemons = folder, []
        self.hurried = set()  # (job, its restarts)
        self.environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def start(self):
        os.chmod(self.folder, 0o755)
        first = free_ports(NODES + 1)
        (self.folder / "state").mkdir()
        (self.folder / "slurm.conf").write_text(
            CONFIGURATION.format(folder=self.folder, host=socket.gethostname(), last=NODES - 1, controller=first,
                                 first_port=first + 1, last_port=first + NODES)
        )  # fmt: skip
        (self.folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        self.tell("mungekey", "--create", f"--keyfile={self.folder}/munge.key")
        munge = [f"--{name}-file={self.folder}/munge.{name}" for name in ("key", "log", "pid", "seed")]
        self.daemon("munged", "--foreground", "--force", f"--socket={self.folder}/munge.socket", *munge)
        self.wait_for(lambda: (self.folder / "munge.socket").exists(), "munged")
        self.daemon("slurmctld", "-D", "-c")
        self.wait_for(lambda: self.tell("scontrol", "ping", check=False).returncode == 0, "slurmctld")
        for node in range(NODES):
            (self.folder / f"spool.n{node}").mkdir()
            self.daemon("slurmd", "-D", "-N", f"n{node}")
        self.wait_for(lambda: self.run("sinfo", "-h", "-p", "main", "-t", "idle", "-o", "%D").strip() == str(NODES), "nodes")

    def __exit__(self, *_):
        if self.daemons:
            subprocess.run(["scancel", "-u", "root"], env=self.environment, check=False, capture_output=True, timeout=30)
            time.sleep(1)
        for daemon in reversed(self.daemons):
            self.end(daemon, signal.SIGTERM)
        for daemon in self.daemons:
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                self.end(daemon, signal.SIGKILL)
                daemon.wait()

    @staticmethod
    def end(daemon, how):
        """With the processes that it has started."""
        try:
            os.killpg(daemon.pid, how)
        except ProcessLookupError:
            pass

    def daemon(self, *command):
        with open(self.folder / f"{'-'.join(command).replace('/', '_')[:40]}.out", "wb") as out:
            made = subprocess.Popen(command, env=self.environment, stdout=out, stderr=out, start_new_session=True)
        self.daemons.append(made)

    def tell(self, *command, check=True):
        done = subprocess.run([*map(str, command)], env=self.environment, capture_output=True, text=True, check=False, timeout=60)
        if check and done.returncode != 0:
            raise Failed(f"{' '.join(map(str, command))}: {done.stderr.strip() or done.returncode}")
        return done

    def run(self, *command):
        """A command of Slurm's; returns what it prints."""
        return self.tell(*command).stdout

    def wait_for(self, ready, what, seconds=START_S):
        end = time.monotonic() + seconds
        while not ready():
            if time.monotonic() > end:
                logs = [f"{path.name}: {path.read_text(errors='replace')[-600:]}" for path in sorted(self.folder.glob("*.out"))]
                raise Failed(f"{what} not there after {seconds} s\n" + "\n".join(logs))
            time.sleep(0.2)

    def job(self, number):
        """The fields of a job, or of one of an array."""
        return dict(field.split("=", 1) for field in self.run("scontrol", "show", "job", "-o", str(number)).split() if "=" in field)

    def jobs(self):
        """The fields of all jobs. Slurm has a job that was queued again wait two minutes, in which its nodes tidy up: here
        it waits until they have, and for a second later than the one in which they have revoked its credentials."""
        found = [dict(word.split("=", 1) for word in line.split() if "=" in word)
                 for line in self.run("scontrol", "show", "job", "-o").splitlines()]  # fmt: skip
        for job in found:
            steps = self.folder.glob(f"spool.*/*_{job.get('JobId')}.*")  # a socket for each that has not ended
            run = (job.get("JobId"), job.get("Restarts"))
            if job.get("Reason") == "BeginTime" and run not in self.hurried and not any(steps):
                self.hurried.add(run)
                self.run("scontrol", "update", f"JobId={job['JobId']}", "StartTime=now+2")
        return found

    def wait_for_restart(self, number, restarts):
        """Waits until a job runs for another time."""
        wanted = (number, "RUNNING", str(restarts))
        self.wait_for(lambda: any((job.get("JobId"), job.get("JobState"), job.get("Restarts")) == wanted for job in self.jobs()),
                      f"job {number} again")  # fmt: skip

    def wait_for_job(self, number, states=("COMPLETED",), seconds=180):
        """Waits until a job, with all that belong to its array, is in one of `states`."""

        def ready():
            jobs = self.jobs()
            found = [job["JobState"] for job in jobs if str(number) in (job.get("JobId"), job.get("ArrayJobId"))]
            bad = [state for state in found if state in ("FAILED", "CANCELLED", "NODE_FAIL", "TIMEOUT") and state not in states]
            if bad:
                raise Failed(f"job {number}: {found}\n" + "\n".join(" ".join(f"{name}={job.get(name)}" for name in SHOWN) for job in jobs))
            return found and all(state in states for state in found)

        self.wait_for(ready, f"job {number}", seconds)
