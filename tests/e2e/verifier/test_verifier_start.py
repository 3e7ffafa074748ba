"""What a verifier finds out about itself before it listens: broken interpreters and compilers, a Python below /tmp, a
stop while it starts; and a run whose verifier cannot work ends before it trains."""
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

from support import BINARY, ENVIRONMENT, SOURCE, bicrl, expect, folder, started_verifier, verifier_process

PYTHON = os.environ.get("BICRL_TEST_PYTHON", sys.executable)


def verifier(*words, environment=None):
    return subprocess.run([BINARY, "verifier", *words], capture_output=True, text=True, timeout=300,
                          env={**ENVIRONMENT, **(environment or {})})


def environment_below(parent):
    """A virtual environment without packages of its own; returns (interpreter, its site-packages)."""
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", f"{parent}/venv"], check=True)
    return f"{parent}/venv/bin/python3", next(Path(parent, "venv/lib").glob("python3*/site-packages"))


with folder() as temporary:
    expect(str(temporary).startswith("/tmp/"), "this test needs its folder below /tmp", temporary)
    good, packages = environment_below(temporary)
    os.chmod(temporary, 0o755)
    installed = sysconfig.get_paths()["purelib"]
    Path(packages, "test.pth").write_text(installed + "\n")
    # Found below /tmp first: what a child of the warm interpreter still imports must be visible there, too.
    Path(packages, "torch").symlink_to(Path(installed, "torch"))
    broken, packages = environment_below(f"{temporary}/broken")
    Path(packages, "torch").mkdir()
    Path(packages, "torch/__init__.py").write_text("raise ImportError('libtorch_cpu.so: planted fault')\n")
    Path(packages, "torch-2.11.0.dist-info").mkdir()
    Path(packages, "torch-2.11.0.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.11.0\n")

    # ---- An interpreter that lies below /tmp works.
    server, _ = started_verifier(f"python={good}")
    server.terminate()
    _, err = server.communicate(timeout=120)
    expect(server.returncode == 0, "a Python environment below /tmp works", err)
    expect("self-check passed" in err, "the log says that the self-check passed", err)

    # ---- A GPU's verifier on a machine without a driver: exit code 3, in one line.
    if not Path("/dev/nvidiactl").exists():
        done = verifier(str(SOURCE / "configs/verifiers/gpu.yaml"), "listen=127.0.0.1:0")
        expect(done.returncode == 3 and "no NVIDIA driver on this machine" in done.stderr
               and len(done.stderr.strip().splitlines()) == 1, "a missing driver is told", done)

    # ---- Without what compiles device code: exit code 3, and what to install.
    done = verifier(f"python={broken}")
    expect(done.returncode == 3 and "listening" not in done.stdout and "lacks what compiles device code" in done.stderr
           and "pip install" in done.stderr, "missing packages are named", done)
    Path(packages, "nvidia").symlink_to(Path(installed, "nvidia"))

    # ---- A torch that cannot be imported: exit code 3, with its own words and what helps.
    done = verifier(f"python={broken}")
    expect(done.returncode == 3 and "listening" not in done.stdout, "a broken torch ends the start", done)
    for words in ("self-check failed", "planted fault", "BICRL_PYTHON"):
        expect(words in done.stderr, f"the message says {words!r}", done.stderr)

    # ---- A run with such a verifier ends before it trains.
    code, out, err = bicrl("train", "tests/data/small_run.yaml", f"run.directory={temporary}/run",
                           f"verifier.server.python={broken}", ranks=2)
    reason = err[err.find("self-check failed"):]
    expect(code == 3 and "ImportError: libtorch_cpu.so: planted fault" in reason and "BICRL_PYTHON" in reason,
           "the run ends with the reason", code, out, err)
    expect("warm_up" not in out and not list(Path(temporary, "run").glob("checkpoints/*")), "before it trains", out)

    # ---- A compiler that fails in the box.
    share = Path(temporary, "share")
    shutil.copytree(Path(BINARY).resolve().parent.parent / "share/bicrl", share, copy_function=shutil.copy2)
    with open(share / "host/compile_flags", "a") as file:
        file.write("-fplanted-fault\n")
    done = verifier(environment={"BICRL_SHARE": str(share)})
    expect(done.returncode == 3 and "planted-fault" in done.stderr and "g++" in done.stderr,
           "a compiler that does not work ends the start", done)

    # ---- A stop while it starts.
    slow, packages = environment_below(f"{temporary}/slow")
    shutil.copytree(Path(temporary, "broken/venv/lib"), Path(temporary, "slow/venv/lib"), dirs_exist_ok=True, symlinks=True)
    Path(packages, "torch/__init__.py").write_text("import time\ntime.sleep(1000)\n")
    server = verifier_process(f"python={slow}")
    time.sleep(1)
    expect(server.poll() is None, "the server waits for its interpreters")
    server.send_signal(signal.SIGTERM)
    out, err = server.communicate(timeout=120)
    expect(server.returncode == 130 and not out, "SIGTERM ends a start in order", server.returncode, out, err)

print("a verifier that listens works, and one that cannot work says why")
