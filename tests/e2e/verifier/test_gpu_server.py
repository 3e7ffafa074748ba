"""A verifier with several GPUs, which the driver of the tests pretends: what it says of them, a program that is cancelled while its
kernel runs, a device that is lost and comes back."""
import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from support import BINARY, ENVIRONMENT, SKIPPED, SOURCE, descendants, expect, folder, patient
from verifier_client import Server, candidate, gone, messages, wait_for

if Path("/dev/nvidiactl").exists():
    print("skipped: asks for the driver of the tests, and this machine has another one")
    sys.exit(SKIPPED)
driver_of_tests = Path(BINARY).resolve().parent.parent / "fake_driver"
if not driver_of_tests.exists():
    print("skipped: the driver of the tests is not built")
    sys.exit(SKIPPED)


def figures(server):
    return dict(re.findall(r"^(\w+(?:\{[^}]*\})?) (\S+)$", urllib.request.urlopen(server.metrics, timeout=60).read().decode(), re.M))


def program_of(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]
    except OSError:
        return b""


def anew(note):
    """The verifier's own canary is all that the pretended device computes: the text of sandbox/service/canary.cpp."""
    text = (SOURCE / "sandbox/service/canary.cpp").read_text()
    task, program = re.search(r'kTask = R"\((.*?)\)";', text, re.S), re.search(r'kProgram = R"\((.*?)\)";\n', text, re.S)
    return messages.VerifyRequest(request_id=note, program=program.group(1).replace("@", "") + f"# {note}\n",
                                  task=messages.TaskSpec(id="rows", pytorch_code=task.group(1)))


with folder() as temporary:
    os.chmod(temporary, 0o755)
    driver = Path(temporary, "driver")
    shutil.copytree(driver_of_tests, driver)
    ENVIRONMENT.update(LD_LIBRARY_PATH=str(driver), CUDA_VISIBLE_DEVICES="0,1")
    words = ["backend=gpu", "workers=2", "gpu.run_s=3600", "metrics_listen=127.0.0.1:0", *patient(3600, prefix="")]
    server = Server(*words)

    # ---- Both are reported, and used.
    described = server.stub.Describe(messages.DescribeRequest(), timeout=60)
    expect(re.match(r"gpu/Pretended GPU/sm_90/driver-13\.0/own-sizes-\d+\+ptx/", described.backend), "the model names the backend", described)
    for number in (0, 1):
        expect(any(line.startswith(f"gpu {number}: Pretended GPU") for line in described.sandbox_features), "each GPU is told", described)
    for i in range(4):
        verdict = server.verify(anew(f"first {i}"))
        expect(verdict.correct, "a right program", verdict)
    said = figures(server)
    for number in (0, 1):
        expect(said[f'bicrl_gpu_up{{gpu="{number}"}}'] == "1" and float(said[f'bicrl_gpu_plans_total{{gpu="{number}"}}']) >= 2,
               "each GPU is used", said)

    # ---- A kernel without end, cancelled: its process goes, and another one takes its place.
    loaders = lambda: {pid for pid in descendants(server.process.pid) if b"bicrl-gpu-load" in program_of(pid)}
    endless = candidate("honest")
    endless.program = endless.program.replace("__global__ void affine_kernel", 'extern "C" __global__ void endless').replace(
        "affine_kernel<<<", "endless<<<")
    wait_for(lambda: len(loaders()) == 4, "two contexts on each")
    ran = sum(float(figures(server)[f'bicrl_gpu_plans_total{{gpu="{n}"}}']) for n in (0, 1))
    call = server.stub.Verify.future(endless)
    wait_for(lambda: sum(float(figures(server)[f'bicrl_gpu_plans_total{{gpu="{n}"}}']) for n in (0, 1)) > ran, "it comes to the GPU")
    time.sleep(1)
    before = loaders()
    start = time.monotonic()
    call.cancel()
    wait_for(lambda: before - loaders(), "the process whose kernel has no end is gone")
    print(f"cancelled on the GPU: gone after {time.monotonic() - start:.2f} s")
    wait_for(lambda: len(loaders()) == 4 and len(before - loaders()) == 1, "one process is replaced, the others stay")
    expect(server.verify(anew("after an endless kernel")).correct, "the next candidate is served")

    # ---- A lost device is reported, and its work goes to the other; it comes back by itself.
    (driver / "lost-1").write_text("lost\n")
    for i in range(4):
        verdict = server.verify(anew(f"lost {i}"))
        expect(verdict.correct, "nothing is lost with a device", verdict)
    described = server.stub.Describe(messages.DescribeRequest(), timeout=60)
    expect(any(line.startswith("gpu 1: lost") for line in described.missing_features), "a lost device is told", described)
    expect(figures(server)['bicrl_gpu_up{gpu="1"}'] == "0", "and counted", figures(server))
    (driver / "lost-1").unlink()
    wait_for(lambda: figures(server)['bicrl_gpu_up{gpu="1"}'] == "1", "it comes back")
    expect(server.verify(anew("found again")).correct, "a right program")

    # ---- An orderly end.
    tree = descendants(server.process.pid)
    code, err = server.stop()
    expect(code == 0, "the server ends in order", code, err)
    expect(gone(tree), "no box outlives it", tree)

    # ---- doctor lists them, and what differs is refused.
    config = Path(temporary, "run.yaml")
    shutil.copy(SOURCE / "tests/data/small_run.yaml", config)
    done = subprocess.run([BINARY, "doctor", "--json", str(config), "verifier.server.backend=gpu", f"run.directory={temporary}/run"],
                          capture_output=True, text=True, timeout=300, cwd=SOURCE, env=ENVIRONMENT)
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    backend = checks["run backend"]
    expect(backend["status"] == "ok" and all(f"gpu {n}: Pretended GPU" in backend["found"] for n in (0, 1)), "doctor lists the GPUs", done.stdout)
    ENVIRONMENT["CUDA_VISIBLE_DEVICES"] = "0,8"
    done = subprocess.run([BINARY, "verifier", "backend=gpu"], capture_output=True, text=True, timeout=300, env=ENVIRONMENT)
    expect(done.returncode == 3 and "of several models" in done.stderr and "gpu.devices" in done.stderr, "two models in one server", done)
print("passed")
