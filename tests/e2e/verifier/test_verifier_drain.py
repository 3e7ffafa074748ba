"""What a verifier stops: the processes of a candidate that nobody waits for any more, at every stage; itself, when it is asked to
end, after what runs has come to its end; and what figures a collector gets meanwhile."""
import os
import re
import threading
import time
import urllib.request

from support import descendants, expect, patient
from verifier_client import Server, candidate, gone, grpc, messages, wait_for

# No limit that a candidate of this test could meet: what ends it is its cancellation.
PATIENT = [*patient(3600, prefix=""), "limits.run_lane_operations=1125899906842624"]
TICKS_OF_WORK = os.sysconf("SC_CLK_TCK") // 2

DECLARED = "torch::Tensor affine(torch::Tensor x);"
# A second of the compiler for each.
SPIN = """
template <int N> constexpr long spin() { long s = N; for (int i = 0; i < 200000; ++i) s = (s * 3 + i) & 1023; return s; }
template <int N> struct Long { static constexpr long value = spin<N>() + Long<N - 1>::value; };
template <> struct Long<0> { static constexpr long value = 0; };
long spun = Long<SECONDS>::value;
"""


def ticks_of(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])
    except OSError:
        return None


class Work:
    """Which processes below the server have worked for long since this was made."""

    def __init__(self, server):
        self.server = server
        self.before = {pid: ticks_of(pid) for pid in descendants(server.process.pid)}

    def busy(self):
        now = {pid: ticks_of(pid) for pid in descendants(self.server.process.pid)}
        return [pid for pid, ticks in now.items()
                if ticks is not None and ticks - (self.before.get(pid) or 0) > TICKS_OF_WORK]


def figures(server):
    return dict(re.findall(r"^(\w+(?:\{[^}]*\})?) (\S+)$", urllib.request.urlopen(server.metrics, timeout=60).read().decode(), re.M))


def named(name, code):
    return messages.VerifyRequest(request_id=name, program=candidate("honest", name).program,
                                  task=messages.TaskSpec(id=name, pytorch_code=code))


def compiles(seconds):
    """An honest program whose host part takes so long to compile."""
    request = candidate("honest", f"compiles {seconds}")
    request.program = request.program.replace(f'"{DECLARED}"', f'r"""{SPIN.replace("SECONDS", str(seconds))}{DECLARED}"""')
    expect("spun" in request.program, "the program is changed")
    return request


affine = candidate("honest").task.pytorch_code
slow_reference = affine.replace("return torch.relu(x) * 2 + 1", "\n        while True:\n            x = x + 0 * x")
ENDLESS = {"its Python": candidate("loop_python"), "its host part": candidate("loop_host"), "its kernel": candidate("loop_kernel"),
           "its compilation": compiles(800), "its task's reference": named("slow", slow_reference)}

server = Server("workers=2", "metrics_listen=127.0.0.1:0", *PATIENT)

# ---- A cancelled candidate's processes end, wherever they are.
for stage, request in ENDLESS.items():
    server.canary(f"before {stage}")
    work = Work(server)
    call = server.stub.Verify.future(request)
    wait_for(work.busy, f"{stage} is at work")
    busy = work.busy()
    start = time.monotonic()
    call.cancel()
    expect(gone(busy), f"no process of a cancelled candidate is left ({stage})", busy)
    print(f"cancelled in {stage}: {len(busy)} processes gone after {time.monotonic() - start:.2f} s")

# ---- But not what another one needs: two candidates of one task, of which one is given up.
work = Work(server)
first, second = (server.stub.Verify.future(named(f"slow {i}", slow_reference + "# shared\n")) for i in range(2))
wait_for(work.busy, "the reference is at work")
busy = work.busy()
first.cancel()
wait_for(lambda: float(figures(server)["bicrl_cancelled_total"]) >= len(ENDLESS) + 1, "the cancellation arrives")
time.sleep(1)
expect(set(busy) <= set(descendants(server.process.pid)), "a reference stays that another candidate needs", busy)
second.cancel()
expect(gone(busy), "and goes with the last one", busy)
server.canary("after cancellations")

# ---- Metrics that a collector gets. A verification is answered before its worker is free, and a cancelled one may take longer.
wait_for(lambda: float(figures(server)["bicrl_verifications_running"]) == 0, "nothing runs any more")
said = figures(server)
expect(float(said['bicrl_verifications_total{fault_class="",outcome="correct"}']) >= len(ENDLESS) + 1
       and float(said["bicrl_workers"]) == 2 and float(said["bicrl_verifications_running"]) == 0
       and float(said['bicrl_stage_seconds_count{stage="all"}']) > len(ENDLESS), "figures", said)

# ---- Asked to end, it takes nothing more, gives what runs its time, and hands back what waits.
server.stop()
server = Server("workers=1", "drain_s=3600", "metrics_listen=127.0.0.1:0", *PATIENT)
server.canary("warm")
work = Work(server)
running = server.stub.Verify.future(compiles(20))
wait_for(work.busy, "the candidate runs")
waiting = server.stub.Verify.future(candidate("honest", "waits"))
wait_for(lambda: float(figures(server)["bicrl_queue_waiting"]) == 1, "another one waits")
server.process.terminate()
handed_back = waiting.result(timeout=60)
expect(handed_back.outcome == messages.OUTCOME_INFRASTRUCTURE and "stopping" in handed_back.diagnostics, "what waits is handed back", handed_back)
try:
    server.verify(candidate("honest", "too late"))
    expect(False, "a server that ends takes nothing more")
except grpc.RpcError as error:
    expect(error.code() == grpc.StatusCode.UNAVAILABLE, "it says that it is unavailable", error)
health = server.channel.unary_unary("/grpc.health.v1.Health/Check")(b"", timeout=60)
expect(health == b"\x08\x02", "the health service says NOT_SERVING", health)
expect(float(figures(server)["bicrl_draining"]) == 1 and server.process.poll() is None, "it drains")
verdict = running.result(timeout=600)
expect(verdict.outcome == messages.OUTCOME_GRADED and verdict.correct, "what ran comes to its end", verdict)
_, err = server.process.communicate(timeout=60)
expect(server.process.returncode == 0, "and then the server ends", err)

# ---- Its patience has an end, and a second signal ends it sooner.
for words, signals in ((["drain_s=0.5"], 1), (["drain_s=3600"], 2)):
    server = Server("workers=1", *words, *PATIENT)
    work = Work(server)
    call = server.stub.Verify.future(candidate("loop_python"))
    wait_for(work.busy, "the candidate runs")
    tree = descendants(server.process.pid)
    if signals == 2:
        threading.Timer(1, server.process.terminate).start()
    code, err = server.stop()
    expect(code == 0 and "are given up" in err, f"a server with {words} and {signals} signals ends in order", code, err)
    expect(gone(tree), "no box outlives it", tree)

print("passed")
