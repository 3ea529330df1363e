"""A Slurm of one machine, with its own keys, ports and folder, on the loopback address alone."""

import atexit
import os
import pathlib
import pwd
import secrets
import shutil
import socket
import subprocess
import time

from support.ranks import free_port

CONFIGURATION = """
ClusterName=hocket-test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
ReturnToService=2
SchedulerParameters=sched_interval=1,sched_min_interval=10000,bf_interval=1
InactiveLimit=0
SlurmctldDebug=info
SlurmdDebug=info
NodeName=node NodeHostname={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=all Nodes=node Default=YES MaxTime=INFINITE OverSubscribe=NO State=UP
"""


def find_trouble():
    """Why no Slurm can be started here, if so."""
    path = os.environ["PATH"] + ":/usr/sbin:/sbin"
    missing = [name for name in ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "scontrol", "sinfo")
               if not shutil.which(name, path=path)]
    if missing:
        return f"{', '.join(missing)} missing; the packages slurm-wlm and munge have them"
    return None


class Slurm:
    """Started by start(), which says why when it cannot; ends with this script."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()
        for name in ("state", "spool"):
            (self.folder / name).mkdir(parents=True)
        self.daemons = []
        self.environment = {**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin",
                            "SLURM_CONF": str(self.folder / "slurm.conf")}
        atexit.register(self.end)

    def start(self):
        """Why it does not work here, or nothing."""
        host = socket.gethostname().split(".")[0]
        (self.folder / "slurm.conf").write_text(CONFIGURATION.format(
            host=host, folder=self.folder, user=pwd.getpwuid(os.getuid()).pw_name, cpus=os.cpu_count(),
            controller_port=free_port(), node_port=free_port()))
        (self.folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        key = self.folder / "munge.key"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o400)
        self.spawn("munged", "--foreground", "--force", f"--socket={self.folder}/munge.socket", f"--key-file={key}",
                   f"--pid-file={self.folder}/munged.pid", f"--seed-file={self.folder}/munge.seed", "--num-threads=2")
        if not self.comes(lambda: (self.folder / "munge.socket").exists()):
            return self.complaint("munged")
        self.spawn("slurmctld", "-D", "-c")
        self.spawn("slurmd", "-D")
        if not self.comes(lambda: self.call("sinfo", "-h", "-o", "%T").stdout.strip() == "idle"):
            return self.complaint("slurmctld", "slurmd")
        return None

    def spawn(self, *words):
        with open(self.folder / f"{words[0]}.out", "w") as out:
            self.daemons.append(subprocess.Popen(words, stdout=out, stderr=out, env=self.environment))

    def comes(self, claim, seconds=20):
        end = time.monotonic() + seconds
        while not claim():
            if time.monotonic() > end or any(daemon.poll() is not None for daemon in self.daemons):
                return False
            time.sleep(0.1)
        return True

    def complaint(self, *names):
        lines = []
        for name in names:
            for suffix in ("out", "log"):
                file = self.folder / f"{name}.{suffix}"
                lines += [line for line in (file.read_text().splitlines() if file.exists() else []) if "rror" in line or "fatal" in line]
        return f"{' and '.join(names)} do not start here: {'; '.join(lines[-3:])}"

    def call(self, *words):
        return subprocess.run(words, env=self.environment, capture_output=True, text=True, timeout=30)

    def end(self):
        """Jobs outlive their slurmd, so they go first."""
        if len(self.daemons) == 3 and all(daemon.poll() is None for daemon in self.daemons):
            self.call("scancel", "--me", "--full", "--signal=KILL")
            self.call("scancel", "--me")
            self.comes(lambda: not self.call("squeue", "-h").stdout.strip(), 40)
        for daemon in reversed(self.daemons):
            if daemon.poll() is None:
                daemon.terminate()
                try:
                    daemon.wait(20)
                except subprocess.TimeoutExpired:
                    daemon.kill()
        self.daemons = []
