"""The verifier server through a plain grpcio client: verdicts, sharing, deadlines, hostile candidates, shutdown."""
import glob
import json
import subprocess
import sys
import threading

from support import BINARY, ENVIRONMENT, descendants, expect, patient
from verifier_client import Server, candidate, gone, grpc, messages, wait_for

GRADED, CANDIDATE_FAULT = messages.OUTCOME_GRADED, messages.OUTCOME_CANDIDATE_FAULT


def code_of(call):
    try:
        call()
    except grpc.RpcError as error:
        return error.code()
    return grpc.StatusCode.OK


# A candidate without an end runs for an hour here unless it is cancelled: whoever waits for one fails by its deadline.
# It is not waited for at a server's end, either.
PATIENT = [*patient(3600, prefix=""), "drain_s=0"]
server = Server("workers=2", *PATIENT)

# ---- What it says of itself
described = server.stub.Describe(messages.DescribeRequest(), timeout=60)
expect(described.workers == 2 and described.backend and described.protocol_version == "8", "Describe", described)
expect(described.protocol == messages.Protocol(tolerance="profile", trials=4, size="fitting", specialised="wrong") and described.clock == "model",
       "what a request gets that asks for nothing", described)
expect({"namespaces", "seccomp", "rlimits"} <= set(described.sandbox_features), "features", described)
health = server.channel.unary_unary("/grpc.health.v1.Health/Check")(b"", timeout=60)
expect(health == b"\x08\x01", "the health service says SERVING", health)
reflected = next(iter(server.channel.stream_stream("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo")(
    iter([b"\x3a\x00"]), timeout=60)))
expect(b"bicrl.verifier.v1.Verifier" in reflected, "reflection lists the service", reflected)

# ---- One verdict, stored, and anew
first = server.verify(candidate("honest"))
expect(first.outcome == GRADED and first.correct and first.compiled and first.trials_passed == first.trials == 4
       and first.tolerance == "profile" and first.lane_operations > 0 and first.reached == "compare" and first.request_id == "honest" and not first.cached, "an honest program", first)
expect(server.verify(candidate("honest")).cached, "the second time from the store")
expect(not server.verify(candidate("honest", bypass_cache=True)).cached, "anew where asked")
lax = server.verify(candidate("honest", protocol=messages.Protocol(tolerance="published", trials=2)))
expect(lax.correct and lax.trials == 2 and lax.tolerance == "published" and not lax.cached, "graded as asked for", lax)
incorrect = server.verify(candidate("wrong_value"))
expect(incorrect.outcome == GRADED and not incorrect.correct and incorrect.fault_class == "wrong_value" and incorrect.max_error_ratio > 1,
       "an incorrect program", incorrect)

# ---- Modelled times
timed = server.verify(candidate("honest", protocol=messages.Protocol(measure_time=True)))
again = server.verify(candidate("honest", protocol=messages.Protocol(measure_time=True), bypass_cache=True))
expect(timed.correct and timed.times.clock == "model" and timed.times.device == "h100, tables 3"
       and timed.times.candidate_ms > 0 and timed.times.eager_ms > 0 and timed.times.torch_compile_ms > 0
       and 0 < timed.roofline_fraction <= 1 and json.loads(timed.counters)["launches"] > 0, "modelled times", timed)
expect(again.times == timed.times and again.counters == timed.counters and not again.cached, "the same every time", again)
expect(server.verify(candidate("wrong_value", protocol=messages.Protocol(measure_time=True))).times.candidate_ms == 0,
       "none for an incorrect program")

# ---- Requests that cannot be
for bad in (messages.VerifyRequest(program="x"), candidate("honest", protocol=messages.Protocol(tolerance="generous")),
            candidate("honest", protocol=messages.Protocol(trials=1000))):
    expect(code_of(lambda: server.verify(bad)) == grpc.StatusCode.INVALID_ARGUMENT, "an invalid request is refused", bad)

# ---- A stream: verdicts as they are ready, identical ones verified once
before = server.stub.Describe(messages.DescribeRequest()).verified
names = ["honest"] * 3 + ["wrong_nan", "fallback_method", "syntax_cuda", "dead_returns_input"]
requests = [candidate(name, " stream") for name in names]
for index, request in enumerate(requests):
    request.request_id = str(index)
verdicts = {verdict.request_id: verdict for verdict in server.stub.VerifyStream(iter(requests), timeout=600)}
expect(len(verdicts) == len(requests), "every request of a stream is answered", list(verdicts))
expect([verdicts[str(i)].fault_class for i in range(3, 7)] == ["non_finite", "framework_fallback", "compile", "dead_kernel"],
       "classes", verdicts)
expect(all(verdicts[str(i)].correct for i in range(3)), "honest ones in a stream", verdicts)
ran = server.stub.Describe(messages.DescribeRequest()).verified - before
expect(ran == 5, f"identical candidates are verified once: {ran} ran for 7 requests")
refused = list(server.stub.VerifyStream(iter([candidate("honest", protocol=messages.Protocol(tolerance="tf32"))]), timeout=60))
expect([v.outcome for v in refused] == [messages.OUTCOME_INFRASTRUCTURE] and "no allowances" in refused[0].diagnostics,
       "a stream answers in place of a verdict", refused)

# ---- Deadlines and cancellation
expect(code_of(lambda: server.verify(candidate("loop_python"), timeout=0.5)) == grpc.StatusCode.DEADLINE_EXCEEDED,
       "a deadline is kept")
stream = server.stub.VerifyStream(iter([candidate("loop_host", str(i)) for i in range(4)]))
threading.Timer(0.3, stream.cancel).start()
expect(code_of(lambda: list(stream)) == grpc.StatusCode.CANCELLED, "a stream can be cancelled")
server.canary("after cancellation")  # cancelled candidates do not hold the two workers

# ---- Hostile ones, each followed by an honest one
for name in ("forged_stdout", "fork_bomb_python", "kill_everything_kernel", "memory_python", "stdout_flood"):
    verdict = server.verify(candidate(name))
    expected = candidate(name).program.split("# class: ")[1].split("\n")[0].split("|")
    expect(verdict.outcome == CANDIDATE_FAULT and verdict.fault_class in expected, f"{name} ends in its class", verdict)
    server.canary(f"after {name}")

# ---- Boxes that die are replaced
for pid in descendants(server.process.pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            if b"zygote.py" in file.read():
                subprocess.run(["kill", "-9", str(pid)], check=False)
    except OSError:
        pass
server.canary("after its interpreters were killed")

# ---- An orderly end leaves nothing
tree = descendants(server.process.pid)
expect(len(tree) >= 2, "the server has boxes", tree)
own_files = lambda pid: glob.glob(f"/dev/shm/bicrl-verifier-{pid}-*") + glob.glob(f"/sys/fs/cgroup/*/**/bicrl-{pid}", recursive=True)
pid = server.process.pid
expect(own_files(pid), "the server keeps its files where this test looks for them")
verified = lambda: server.stub.Describe(messages.DescribeRequest()).verified
before = verified()
waiting = server.stub.Verify.future(candidate("sleep_python", " at the end"))
wait_for(lambda: verified() > before, "the candidate runs")
tree = descendants(server.process.pid)
code, err = server.stop()
expect(code == 0, "SIGTERM ends the server in order", code, err)
expect(gone(tree), "no box outlives the server", tree)
expect(not own_files(pid), "no file or group is left", own_files(pid))

# ---- A killed server leaves no process, and its files are removed by the next one
server = Server("workers=1", "queue=1")
server.canary("second server")
tree, pid = descendants(server.process.pid), server.process.pid
server.stop(9)
expect(gone(tree), "no box outlives a killed server", tree)

# ---- A full queue refuses
server = Server("workers=1", "queue=1", *PATIENT)
expect(not own_files(pid), "the next server removes what the killed one left", own_files(pid))
server.canary("warm")
calls = [server.stub.Verify.future(candidate("sleep_python", str(i))) for i in range(4)]
refused = lambda: [call for call in calls if call.done()]
wait_for(lambda: len(refused()) >= 2, "two of four find no place")
expect({call.code() for call in refused()} == {grpc.StatusCode.RESOURCE_EXHAUSTED}, "a full queue refuses", refused())
for call in calls:
    call.cancel()
wait_for(lambda: code_of(lambda: server.verify(candidate("wrong_value"))) != grpc.StatusCode.RESOURCE_EXHAUSTED,
         "cancelled calls leave the queue")
server.canary("after a full queue")
server.stop()

# ---- What has no end is ended at the limit
server = Server("workers=1", "limits.run_lane_operations=10000000", "protocol.trials=2", "protocol.tolerance=tf32")
described = server.stub.Describe(messages.DescribeRequest(), timeout=60)
expect(described.protocol == messages.Protocol(tolerance="tf32", trials=2, size="fitting", specialised="wrong"), "its own protocol", described)
endless = server.verify(candidate("loop_kernel"))
expect(endless.outcome == CANDIDATE_FAULT and endless.fault_class == "timeout", "an endless kernel", endless)
server.stop()

# ---- A server of a run dies with it
starter = ("import subprocess, sys; p = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, text=True); "
           "print(p.pid, p.stdout.readline(), flush=True)")
said = subprocess.run([sys.executable, "-c", starter, BINARY, "verifier", "--of-run"], capture_output=True, text=True,
                      timeout=300, env=ENVIRONMENT).stdout
expect("listening on" in said, "an embedded server starts", said)
expect(gone([int(said.split()[0])]), "and ends with the process that started it")

# ---- What it cannot do it says
for override, expected, words in (("bwrap=/nonexistent", 3, "apt-get install bubblewrap"),
                                  ("listen=0.0.0.0:0", 2, "loopback"), ("python=/usr/bin/false", 3, "has no torch"),
                                  ("workerz=2", 2, "workers")):
    done = subprocess.run([BINARY, "verifier", override], capture_output=True, text=True, timeout=300, env=ENVIRONMENT)
    expect(done.returncode == expected and words in done.stderr, f"{override}: exit code {expected} and '{words}'",
           done.returncode, done.stderr)
print("passed")
