"""A plain grpcio client of the verifier for the tests, made from proto/verifier.proto alone."""
import importlib
import os
import re
import sys
import tempfile
import time

from support import CANDIDATES, ENVIRONMENT, SKIPPED, SOURCE, candidate_text, expect, started_verifier

try:
    import grpc
    from grpc_tools import protoc
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(SKIPPED)

_generated = tempfile.TemporaryDirectory(prefix="bicrl_e2e_")
expect(protoc.main(["protoc", f"-I{SOURCE / 'proto'}", f"--python_out={_generated.name}",
                    f"--grpc_python_out={_generated.name}", "verifier.proto"]) == 0, "protoc accepts verifier.proto")
sys.path.insert(0, _generated.name)
messages = importlib.import_module("verifier_pb2")
services = importlib.import_module("verifier_pb2_grpc")

ENVIRONMENT.setdefault("BICRL_PYTHON", os.environ.get("BICRL_TEST_PYTHON", sys.executable))


def candidate(name, note="", **fields):
    """A program of the corpus as a request; `note` makes it another program."""
    program = candidate_text(name) + f"# {note}\n"
    task = re.search(r"^# task: (.*)$", program, re.M).group(1)
    return messages.VerifyRequest(
        request_id=f"{name}{note}", program=program,
        task=messages.TaskSpec(id=task, pytorch_code=(CANDIDATES / "tasks" / f"{task}.py").read_text()), **fields)


class Server:
    """`bicrl verifier` as a child process."""

    def __init__(self, *overrides, of_run=False):
        self.process, address = started_verifier(*(["--of-run"] if of_run else []), *overrides)
        self.metrics = None
        if any(str(word).startswith("metrics_listen=") for word in overrides):
            said = next(filter(None, (re.search(r"http://\S+/metrics", line) for line in self.process.stderr)), None)
            self.metrics = said.group()
        self.channel = grpc.insecure_channel(address)
        self.stub = services.VerifierStub(self.channel)

    def verify(self, request, timeout=300):
        return self.stub.Verify(request, timeout=timeout)

    def canary(self, note):
        verdict = self.verify(candidate("honest", note))
        expect(verdict.correct, f"the server serves the next candidate ({note})", verdict)

    def stop(self, number=15, within=60):
        """Sends a signal and waits; returns (exit code, stderr)."""
        self.process.send_signal(number)
        _, err = self.process.communicate(timeout=within)
        self.channel.close()
        return self.process.returncode, err


def wait_for(condition, what, within=120):
    deadline = time.monotonic() + within
    while not condition():
        expect(time.monotonic() < deadline, what)
        time.sleep(0.02)


def gone(pids, within=60):
    deadline = time.monotonic() + within
    left = set(pids)
    while left and time.monotonic() < deadline:
        left = {pid for pid in left if os.path.exists(f"/proc/{pid}")}
        time.sleep(0.05)
    return not left
