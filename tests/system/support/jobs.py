"""A scheduler with its agents, whose processes tests can kill."""

import atexit
import json
import os
import pathlib
import signal
import subprocess
import time

from support.program import HOCKET


class Cluster:
    def __init__(self, folder, *options, agents=(("a", 2),)):
        self.folder = pathlib.Path(folder).resolve()
        self.options, self.agent_slots = options, dict(agents)
        self.server, self.agents = None, {}
        self.folder.mkdir(parents=True)
        self.log = open(self.folder.parent / f"{self.folder.name}.log", "a")
        atexit.register(self.end)
        self.start_server()
        for name in self.agent_slots:
            self.start_agent(name)
        wait_until(lambda: len(self.list()["machines"]) == len(self.agent_slots), 20)

    def spawn(self, *words):
        return subprocess.Popen([HOCKET, "jobs", *words, "--dir", self.folder], stderr=self.log)

    def start_server(self):
        self.server = self.spawn("serve", *self.options)
        wait_until(self.answers, 20)

    def start_agent(self, name):
        self.agents[name] = self.spawn("agent", "--name", name, "--slots", str(self.agent_slots[name]))

    def log_text(self):
        """What the coordinator and the agents have said."""
        return pathlib.Path(self.log.name).read_text()

    def answers(self):
        return (self.folder / "key").exists() and self.call("list").returncode == 0

    def call(self, verb, *words):
        options, program = (words[: words.index("--")], words[words.index("--"):]) if "--" in words else (words, ())
        return subprocess.run([HOCKET, "jobs", verb, "--dir", self.folder, *map(str, options), "--json", *map(str, program)],
                              capture_output=True, text=True, timeout=60)

    def ask(self, verb, *words):
        done = self.call(verb, *words)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def list(self):
        return self.ask("list", "--all")

    def submit(self, arguments, *options):
        return self.ask("submit", *options, "--", *arguments)["id"]

    def job(self, number):
        return self.ask("show", number)

    def hash_of(self, number):
        return json.loads((self.folder / "jobs" / str(number) / "run" / "summary.json").read_text())["parameter_hash"]

    def wait_for_end(self, seconds=120):
        """The jobs once all have ended."""
        def ended():
            jobs = self.list()["jobs"]
            return jobs if all(job["ended"] is not None for job in jobs) else None
        return wait_until(ended, seconds, lambda: self.list()["jobs"])

    def processes(self):
        """Those that train here: {pid: job}."""
        found = {}
        for pid in pathlib.Path("/proc").iterdir():
            try:
                for assignment in (pid / "environ").read_bytes().split(b"\0"):
                    prefix = b"HOCKET_JOBS_ATTEMPT=" + str(self.folder).encode() + b"/jobs/"
                    if assignment.startswith(prefix):
                        found[int(pid.name)] = assignment[len(prefix):].decode()
            except (OSError, ValueError):
                pass
        return found

    def kill(self, what, rng):
        """Kills -9 the coordinator, an agent or a job, and starts what would be started again."""
        if what == "server":
            self.server.kill()
            self.server.wait()
            time.sleep(rng.uniform(0, 0.5))
            self.start_server()
        elif what == "agent":
            name = rng.choice(list(self.agents))
            self.agents[name].kill()
            self.agents[name].wait()
            time.sleep(rng.uniform(0, 0.5))
            self.start_agent(name)
        else:
            pids = list(self.processes())
            if pids:
                try:
                    os.kill(rng.choice(pids), signal.SIGKILL)
                except ProcessLookupError:
                    pass

    def close(self):
        for process in [*self.agents.values(), self.server]:
            process.terminate()
            process.wait(60)
        wait_until(lambda: not self.processes(), 10, self.processes)
        self.log.close()


    def end(self):
        for process in [*self.agents.values(), self.server]:
            if process is not None and process.poll() is None:
                process.kill()


def wait_until(claim, seconds, describe=lambda: ""):
    deadline = time.monotonic() + seconds
    while not (value := claim()):
        assert time.monotonic() < deadline, f"not within {seconds} s: {describe()}"
        time.sleep(0.05)
    return value


def check_never_twice(cluster):
    """No two attempts of one job at this moment."""
    attempts, starters = {}, {}
    for attempt in set(cluster.processes().values()):
        job, number, part, agent = attempt.replace("/", ".").split(".")
        assert attempts.setdefault(job, number) == number, f"job {job} runs twice: {attempts[job]} and {number}"
        assert starters.setdefault((job, part), agent) == agent, f"part {part} of job {job} was started twice"
