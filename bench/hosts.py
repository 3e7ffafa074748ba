"""A run over two hosts with a verifier on a third, in network namespaces of this machine: whole, with a host that is cut off in
its midst, and with the verifier cut off. Needs root and iproute2; all traffic stays between the namespaces, which end with it.

    python3 bench/hosts.py --program build/cpu/bin/bicrl --out build/hosts [--steps 30]
"""
import argparse
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

PREFIX = f"bicrl{os.getpid()}"
NETWORK = "10.77.0"
HOSTS = {"one": f"{NETWORK}.1", "two": f"{NETWORK}.2", "verifier": f"{NETWORK}.3"}
PORT = 7410
OF_THIS_MACHINE = ("_seconds", "_per_second", "_peak_bytes", "_mfu", "_queue", "collectives")
# A host whose network is gone is to be given up within a minute; who only pauses is not.
ALL_GONE_S = 60


def run(*words):
    subprocess.run(words, check=True)


class Network:
    """Three hosts, each a network namespace with one link to a bridge in a fourth."""

    def __init__(self, out):
        self.out = out
        self.names = out / "hosts.txt"
        self.names.write_text("127.0.0.1 localhost\n" + "".join(f"{address} {host}\n" for host, address in HOSTS.items()))
        self.enter = out / "enter"
        # Its own name and names of others, as on a machine of its own: `enter HOST COMMAND...`.
        self.enter.write_text(f"""#!/bin/sh
host=$1; shift
exec ip netns exec {PREFIX}-$host unshare --uts --mount sh -c '
hostname "$0"; mount --bind {self.names} /etc/hosts
if [ "$0" = two ] && [ -n "$HIDDEN_FROM_TWO" ]; then mount -t tmpfs none "$HIDDEN_FROM_TWO"; fi
exec "$@"' $host "$@"
""")
        # What mpirun calls in place of ssh: `agent HOST COMMAND...`.
        self.agent = out / "agent"
        self.agent.write_text(f'#!/bin/sh\nhost=$1; shift\nexec {self.enter} $host sh -c "$*"\n')
        for script in (self.enter, self.agent):
            script.chmod(0o755)

    def __enter__(self):
        run("ip", "netns", "add", f"{PREFIX}-switch")
        self.at("switch", "link", "add", "bridge", "type", "bridge")
        self.at("switch", "link", "set", "bridge", "up")
        for host, address in HOSTS.items():
            run("ip", "netns", "add", f"{PREFIX}-{host}")
            self.at("switch", "link", "add", f"to-{host}", "type", "veth", "peer", "name", "eth0", "netns", f"{PREFIX}-{host}")
            self.at("switch", "link", "set", f"to-{host}", "master", "bridge", "up")
            self.at(host, "address", "add", f"{address}/24", "dev", "eth0")
            self.at(host, "link", "set", "eth0", "up")
            self.at(host, "link", "set", "lo", "up")
        return self

    def __exit__(self, *_):
        for host in (*HOSTS, "switch"):
            found = subprocess.run(["ip", "netns", "pids", f"{PREFIX}-{host}"], capture_output=True, text=True)
            for pid in found.stdout.split():
                os.kill(int(pid), signal.SIGKILL)
            subprocess.run(["ip", "netns", "delete", f"{PREFIX}-{host}"], stderr=subprocess.DEVNULL)

    @staticmethod
    def at(host, *words):
        run("ip", "-n", f"{PREFIX}-{host}", *words)

    def cut(self, host):
        self.at("switch", "link", "set", f"to-{host}", "down")

    def mend(self, host):
        self.at("switch", "link", "set", f"to-{host}", "up")
        for other in HOSTS:  # until they find each other again: nobody listens on that port, which a host says that is there
            while other != host:
                tried = subprocess.run([self.enter, other, "timeout", "2", "bash", "-c", f"exec 3<>/dev/tcp/{HOSTS[host]}/9"], capture_output=True, text=True)
                if "refused" in tried.stderr:
                    break

    def sent_bytes(self, host):
        """What the host has sent since it is there."""
        shown = subprocess.run(["ip", "-n", f"{PREFIX}-{host}", "-s", "-j", "link", "show", "eth0"], capture_output=True, text=True, check=True)
        return json.loads(shown.stdout)[0]["stats64"]["tx"]["bytes"]

    def start(self, host, words, log, **environment):
        return subprocess.Popen([self.enter, host, *map(str, words)], stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
                                env={**os.environ, **environment})

    def pids(self, host, word):
        """Processes of the program on that host that were started with the word."""
        found = subprocess.run(["ip", "netns", "pids", f"{PREFIX}-{host}"], capture_output=True, text=True).stdout.split()

        def words_of(pid):
            try:
                return Path("/proc", pid, "cmdline").read_bytes().split(b"\0")
            except OSError:
                return []
        return [int(pid) for pid in found if word.encode() in words_of(pid)[1:2] and b"bicrl" in words_of(pid)[0]]


class Bench:
    def __init__(self, arguments, network, out):
        self.network, self.out = network, out
        self.program = Path(arguments.program).resolve()
        access = self.make_access()
        self.server = [self.program, "verifier", "configs/verifiers/cpu.yaml", f"listen=0.0.0.0:{PORT}", "workers=1", *access[0]]
        self.run_words = [
            "train", "configs/quickstart.yaml", f"warm_up.steps={arguments.steps}", "warm_up.samples_per_step=8", "evaluation.tasks=8",
            "run.checkpoint_every_s=2", f"verifier.addresses=[verifier:{PORT}]", *access[1], "tasks.synthetic.train_compositions=32",
            *(f"stages.{i}.{key}" for i in (0, 1, 2) for key in ("steps=3", "tasks_per_step=4", "samples_per_task=2"))]

    def make_access(self):
        certificate, key, token = (self.out / name for name in ("verifier.pem", "verifier.key.pem", "verifier.token"))
        run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=verifier",
            "-addext", f"subjectAltName=DNS:verifier,IP:{HOSTS['verifier']}", "-keyout", str(key), "-out", str(certificate))
        token.touch(0o600)
        token.write_text(os.urandom(32).hex())
        return ([f"access.certificate={certificate}", f"access.key={key}", f"access.token={token}"],
                [f"verifier.access.authority={certificate}", f"verifier.access.token={token}"])

    def serve(self):
        with open(self.out / "verifier.log", "a") as log:
            process = self.network.start("verifier", self.server, log)
        deadline = time.monotonic() + 120
        while "listening" not in (self.out / "verifier.log").read_text():
            if process.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"the verifier did not start; see {self.out}/verifier.log")
            time.sleep(0.1)

    def train(self, directory, log, *more, **environment):
        launch = '. launch/mpi_hosts; exec mpirun "${mpirun_flags[@]}" --host one:1,two:1 -np 2 --mca plm_rsh_agent "$0" "$@"'
        environment = {"BICRL_NETWORK": f"{NETWORK}.0/24", **environment}
        words = ["bash", "-c", launch, self.network.agent, self.program, *self.run_words, f"run.directory={directory}", *more]
        return self.network.start("one", words, log, **environment)

    def refused(self, name, reason, *more, **environment):
        path = self.out / f"{name}.log"
        begin = time.monotonic()
        with open(path, "w") as log:
            code = self.train(self.out / name, log, *more, **environment).wait()
        said = [line for line in path.read_text().split("\n") if reason in line]
        print(f"{name}: ended with code {code} after {time.monotonic() - begin:.1f} s: {said[0].strip() if said else 'without the reason'}", flush=True)
        if code == 0 or not said:
            sys.exit(f"see {path}")

    def starts_that_cannot_be(self):
        hidden = self.out / "unshared"
        hidden.mkdir()
        self.refused("unshared", "a file system that all hosts share", HIDDEN_FROM_TWO=str(hidden))
        self.refused("unreachable", "no verifier answers", f"verifier.addresses=[verifier:{PORT + 1}]", "verifier.deadline_s=5", "warm_up.steps=0")
        self.refused("embedded", "verifier", "verifier.addresses=[]")

    def train_to_end(self, directory, name):
        before = {host: self.network.sent_bytes(host) for host in HOSTS}
        begin = time.monotonic()
        path = self.out / f"{name}.log"
        with open(path, "a") as log:
            code = self.train(directory, log).wait()
        if code != 0:
            sys.exit(f"the run {name} ended with code {code}; see {path}")
        sent = {host: self.network.sent_bytes(host) - before[host] for host in HOSTS}
        print(f"{name}: {time.monotonic() - begin:.1f} s; sent: " + ", ".join(f"{host} {count / 1e3:.0f} kB" for host, count in sent.items()), flush=True)

    def wait_for_steps(self, process, directory, count):
        deadline = time.monotonic() + 300
        while len(metrics(directory)) < count:
            if process.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"{directory} did not come to {count} steps")
            time.sleep(0.05)

    def cut_off(self, directory, host, at_step):
        """Cuts the host off in the midst of the run; says after how many seconds each host's rank was gone, and what was said."""
        path = self.out / f"cut-{host}.log"
        with open(path, "a") as log:
            process = self.train(directory, log)
            self.wait_for_steps(process, directory, len(metrics(directory)) + at_step)
            self.network.cut(host)
            begin = time.monotonic()
            gone = {}
            while len(gone) < 2 and time.monotonic() - begin < 2 * ALL_GONE_S:
                for name in ("one", "two"):
                    if name not in gone and not self.network.pids(name, "train"):
                        gone[name] = time.monotonic() - begin
                time.sleep(0.1)
            launcher_s = None
            while process.poll() is None and time.monotonic() - begin < 2 * ALL_GONE_S:
                time.sleep(0.1)
            if process.poll() is not None:
                launcher_s = time.monotonic() - begin
        # What is left of the launcher's helpers on the host that it cannot reach.
        for name in ("one", "two"):
            found = subprocess.run(["ip", "netns", "pids", f"{PREFIX}-{name}"], capture_output=True, text=True).stdout.split()
            for pid in found:
                os.kill(int(pid), signal.SIGKILL)
        self.network.mend(host)
        lost = re.findall(r".*rank \d \(host \w+, process \d+\).*|.*Remote daemon: .*", path.read_text())
        print(f"host {host} cut off: ranks gone after " + ", ".join(f"{s:.1f} s ({name})" for name, s in gone.items())
              + f"; mpirun after {launcher_s and round(launcher_s, 1)} s; said: {lost[-1].strip() if lost else 'nothing'}", flush=True)
        if len(gone) < 2 or max(gone.values()) > ALL_GONE_S or not lost:
            sys.exit(f"a rank lived on, or nobody was named; see {path}")

    def warned(self, directory):
        """A batch system's warning: all ranks finish their step and save."""
        path = self.out / "warned.log"
        with open(path, "a") as log:
            process = self.train(directory, log)
            self.wait_for_steps(process, directory, 10)
            process.send_signal(signal.SIGUSR1)
            begin = time.monotonic()
            code = process.wait()
        print(f"SIGUSR1 to mpirun: ended with code {code} after {time.monotonic() - begin:.1f} s, {len(metrics(directory))} steps done", flush=True)
        if code != 130:
            sys.exit(f"see {path}")

    def without_verifier(self, directory):
        """The verifier is out of reach for a while in the stages; the run waits for it."""
        path = self.out / "verifier-cut.log"
        with open(path, "a") as log:
            process = self.train(directory, log)
            deadline = time.monotonic() + 300
            while not any(step.get("phase") == "infilling" for step in metrics(directory)):
                if process.poll() is not None or time.monotonic() > deadline:
                    sys.exit(f"the stages did not begin; see {path}")
                time.sleep(0.02)
            self.network.cut("verifier")
            before = len(metrics(directory))
            time.sleep(10)
            during = len(metrics(directory)) - before
            self.network.mend("verifier")
            code = process.wait()
        print(f"verifier cut off for 10 s: {during} steps meanwhile, the run ends with code {code}", flush=True)
        if code != 0:
            sys.exit(f"see {path}")


def metrics(directory):
    path = Path(directory, "metrics.jsonl")
    lines = path.read_text().split("\n")[:-1] if path.exists() else []
    return [json.loads(line) for line in lines]


def trace(directory):
    steps = [{key: value for key, value in step.items() if not key.endswith(OF_THIS_MACHINE)} for step in metrics(directory)]
    files = {str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest()
             for path in Path(directory, "checkpoints/end_to_end").rglob("*.safetensors")}
    return steps, files


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--steps", type=int, default=60, help="of the warm-up")
    arguments = parser.parse_args()
    out = Path(arguments.out).resolve()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    with Network(out) as network:
        bench = Bench(arguments, network, out)
        bench.serve()
        bench.starts_that_cannot_be()
        bench.train_to_end(out / "whole", "whole")
        for host, at_step in (("two", arguments.steps // 4), ("one", arguments.steps // 4)):
            bench.cut_off(out / "cut", host, at_step)
        bench.train_to_end(out / "cut", "cut, then gone on with")
        bench.warned(out / "warned")
        bench.train_to_end(out / "warned", "warned, then gone on with")
        bench.without_verifier(out / "waited")
        whole = trace(out / "whole")
        for name in ("cut", "warned", "waited"):
            if trace(out / name) != whole:
                sys.exit(f"{name} differs from whole")
            print(f"{name}: {len(whole[0])} steps and {len(whole[1])} files of weights and optimizer are those of the whole run, bit for bit", flush=True)


if __name__ == "__main__":
    main()
