"""What the end-to-end tests share: running the real binary, and skipping where data are absent."""
import atexit
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BINARY = os.environ["BICRL_BINARY"]
SOURCE = Path(os.environ["BICRL_SOURCE"])
DATA = Path(os.environ.get("BICRL_DATA", SOURCE / ".." / "shared" / "data"))
# For runs that are to learn: the policy of tests/data/small_run.yaml is too small for it.
QUICKSTART_POLICY = "policy.config=configs/quickstart/policy.json"
CANDIDATES = SOURCE / "tests" / "sandbox" / "candidates"
SKIPPED = 77

sys.path.append(str(SOURCE / "tests" / "corpora"))
from expand import read_program  # noqa: E402

MPIRUN = ["mpirun", "--bind-to", "none", "--oversubscribe"]
ENVIRONMENT = {
    **os.environ,
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_btl": "self,vader",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    "OMPI_MCA_pml": "ob1",
    "OMPI_MCA_odls_base_sigkill_timeout": "5",
    # Open MPI leaves some kilobytes behind, which a leak check would take for a failure.
    "ASAN_OPTIONS": "detect_leaks=0",
}

# The launcher waits twice so long after a rank has failed: for runs that nobody interrupts.
IMPATIENT = {"OMPI_MCA_odls_base_sigkill_timeout": "1"}


# What a step's entry in metrics.jsonl holds of times and loads: keys that end so.
OF_THIS_MACHINE = ("_seconds", "_per_second", "_peak_bytes", "_mfu", "_queue", "collectives")


def reproducible(step):
    """What of a step's entry is the same in equal runs."""
    return {key: value for key, value in step.items() if not key.endswith(OF_THIS_MACHINE)}


def without_seconds(figures):
    """An evaluation's figures that are the same in equal runs."""
    return {k: without_seconds(v) if isinstance(v, dict) else v for k, v in figures.items() if k != "seconds"}


def patient(seconds, prefix="verifier.server."):
    """Overrides: limits of time that a program with an end does not meet, however busy the machine is. Verdicts, and figures made
    of them, must not depend on that."""
    return [f"{prefix}{key}={seconds}" for key in ("limits.compile_s", "limits.record_s", "oracle.cpu_s")]


def candidate_text(name):
    """A program of CANDIDATES as the verifier gets it."""
    return read_program(CANDIDATES / f"{name}.py")


def ours_and_published(ours, published):
    """The file of our own in tests/data, and the published one if it is under BICRL_DATA."""
    paths = [SOURCE / "tests" / "data" / ours]
    if (DATA / published).exists():
        paths.append(DATA / published)
    else:
        print(f"left out: {published} is not under BICRL_DATA ({DATA})")
    return paths


def bicrl(*words, ranks=None, timeout=600, cwd=SOURCE, more_environment=None):
    """Runs the binary to its end and returns (exit code, stdout, stderr)."""
    command = [*(MPIRUN + ["-np", str(ranks)] if ranks else []), BINARY, *map(str, words)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd,
                               env={**({**ENVIRONMENT, **IMPATIENT} if ranks else os.environ), **(more_environment or {})})
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        family = [process.pid, *descendants(process.pid)]
        waits = "\n".join(what_it_waits_for(pid) for pid in family)
        for pid in family:
            subprocess.run(["kill", "-9", str(pid)], check=False)
        expect(False, f"ends within {timeout} s: {' '.join(command)}", waits, *process.communicate())
    return process.returncode, out, err


def on_terminal(*words):
    """Runs a command on a terminal of its own; (exit code, what appears there)."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(SOURCE)
        os.execvpe(words[0], list(words), {**ENVIRONMENT, "TERM": "xterm"})
    shown = b""
    try:
        while piece := os.read(terminal, 65536):
            shown += piece
    except OSError:  # the other side is closed
        pass
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown.decode(errors="replace")


def verifier_process(*words):
    """`bicrl verifier` as a child process, which a failed check does not leave behind."""
    process = subprocess.Popen([BINARY, "verifier", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
    atexit.register(process.kill)
    return process


def started_verifier(*words):
    """The same once it listens; returns (process, address)."""
    process = verifier_process(*words)
    expect(select.select([process.stdout], [], [], 300)[0], "the server starts within five minutes")
    line = process.stdout.readline()
    match = re.fullmatch(r"listening on (127\.0\.0\.1:\d+)\n", line)
    expect(match, "the first line says where the server listens", repr(line), line or process.stderr.read())
    return process, match.group(1)


def one_verifier(seconds=60):
    """Overrides: a verifier for all runs of a test, with the limits of patient(). A run's own takes as much CPU time to start as a
    small run takes, and works out what is correct for the same tasks again."""
    _, address = started_verifier("workers=2", *patient(seconds, prefix=""))
    return [f"verifier.addresses=[{address}]"]


def descendants(pid):
    """All processes below `pid`, parents first."""
    children = {}
    for number in filter(str.isdigit, os.listdir("/proc")):  # a glob fails at a process that ends meanwhile
        try:
            parent = int(Path("/proc", number, "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        children.setdefault(parent, []).append(int(number))
    found = list(children.get(pid, []))
    for child in found:
        found += children.get(child, [])
    return found


def killed(words, ranks, moment):
    """Starts a run and kills every process of it, without a warning, when `moment` has come."""
    process = subprocess.Popen([*MPIRUN, "-np", str(ranks), BINARY, *words], stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, cwd=SOURCE, env={**ENVIRONMENT, **IMPATIENT})
    deadline = time.monotonic() + 300
    while not moment():
        expect(process.poll() is None and time.monotonic() < deadline, "the run comes so far",
               process.communicate()[0] if process.poll() is not None else "")
        time.sleep(0.001)
    family = [*descendants(process.pid), process.pid]
    for pid in family:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    process.communicate(timeout=60)
    while any(Path(f"/proc/{pid}").exists() for pid in family):
        expect(time.monotonic() < deadline, "all ranks end", family)
        time.sleep(0.01)


def what_it_waits_for(pid):
    """The stacks of a process that hangs, if a debugger is installed; else its threads' states."""
    lines = [f"process {pid}: " + Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")]
    if shutil.which("gdb"):
        stacks = ["gdb", "-p", str(pid), "-batch", "-ex", "thread apply all bt 20"]
        lines.append(subprocess.run(stacks, capture_output=True, text=True, timeout=120).stdout)
    else:
        for thread in sorted(Path(f"/proc/{pid}/task").iterdir()):
            state = thread.joinpath("stat").read_text().rpartition(")")[2].split()
            ticks = int(state[11]) + int(state[12])
            lines.append(f"  thread {thread.name}: state {state[0]}, {ticks} ticks of CPU, waits in {thread.joinpath('wchan').read_text()}")
    return "\n".join(lines)


def expect(condition, message, *details):
    if not condition:
        print(f"FAILED: {message}")
        for detail in details:
            print(detail)
        sys.exit(1)


def folder():
    return tempfile.TemporaryDirectory(prefix="bicrl_e2e_")


def read_json(path):
    return json.loads(Path(path).read_text())


def read_lines(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]
