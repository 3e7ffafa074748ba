"""What the end-to-end tests share: running the real binary, and skipping where data are absent."""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

BINARY = os.environ["BICRL_BINARY"]
SOURCE = Path(os.environ["BICRL_SOURCE"])
DATA = Path(os.environ.get("BICRL_DATA", SOURCE / ".." / "shared" / "data"))
SKIPPED = 77

MPIRUN = ["mpirun", "--bind-to", "none", "--oversubscribe"]
ENVIRONMENT = {
    **os.environ,
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_btl": "self,vader",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    "OMPI_MCA_pml": "ob1",
    "OMPI_MCA_odls_base_sigkill_timeout": "5",
}


def published(name):
    path = DATA / name
    if not path.exists():
        print(f"skipped: {name} is not under BICRL_DATA ({DATA})")
        sys.exit(SKIPPED)
    return path


def bicrl(*words, ranks=None, timeout=600, cwd=SOURCE):
    """Runs the binary and returns (exit code, stdout, stderr)."""
    command = [*(MPIRUN + ["-np", str(ranks)] if ranks else []), BINARY, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, cwd=cwd, env=ENVIRONMENT)
    return done.returncode, done.stdout, done.stderr


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
