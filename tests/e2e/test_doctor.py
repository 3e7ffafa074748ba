"""`bicrl doctor`: a sound machine passes; each planted fault shows in its own check, with the right exit code."""
import json
import os
import shutil
import subprocess
from pathlib import Path

from support import BINARY, ENVIRONMENT, SOURCE, expect, folder
from verifier_client import Server

SMALL_RUN = "tests/data/small_run.yaml"
BUILD = Path(BINARY).resolve().parent.parent


def doctor(*words, binary=BINARY, environment=None, prepare=None):
    """(exit code, checks by name)"""
    done = subprocess.run([binary, "doctor", "--json", *map(str, words)], capture_output=True, text=True, timeout=200,
                          cwd=SOURCE, env={**ENVIRONMENT, **(environment or {})}, preexec_fn=prepare)
    try:
        report = json.loads(done.stdout)
    except ValueError:
        expect(False, "the output is JSON", done.returncode, done.stdout, done.stderr)
    expect(report["can_train"] == (done.returncode == 0) and done.returncode in (0, 3), "exit code 0 or 3", done)
    for check in report["checks"]:
        expect((check["status"] == "ok") == (check["remedy"] == ""), "a remedy where something is wrong", check)
    return done.returncode, {check["name"]: check for check in report["checks"]}


def expect_checks(checks, **expected):
    """status_of['a check'] as keyword a_check="status: words"."""
    for name, wanted in expected.items():
        check = checks.get(name.replace("_", " "))
        status, _, words = wanted.partition(": ")
        expect(check and check["status"] == status and words in check["found"] + " " + check["remedy"],
               f"{name} is {wanted!r}", check, checks)


NAMES = ["learner module", "CPUs", "memory", "run directory", "MPI launcher", "bubblewrap", "namespaces", "seccomp",
         "uid per box", "control groups", "box compiler", "compiled preludes", "Python of boxes", "scratch folder",
         "run backend", "verification"]

with folder() as temporary:
    # ---- This machine, which runs the other tests as well.
    done = subprocess.run([BINARY, "doctor"], capture_output=True, text=True, timeout=200, cwd=SOURCE, env=ENVIRONMENT)
    expect(done.returncode == 0 and "Training can run here." in done.stdout, "a sound machine passes", done)
    lines = done.stdout.splitlines()
    expect([line[9:29].strip() for line in lines[:len(NAMES)]] == NAMES and len(lines) == len(NAMES) + 2,
           "one line per check", done.stdout)
    expect(lines[len(NAMES) - 1].startswith("ok ") and " ms" in lines[len(NAMES) - 1], "a real verification", done.stdout)

    # ---- What limits but does not stop: one CPU, another launcher, preludes of another compiler.
    share = Path(temporary, "share")
    shutil.copytree(BUILD / "share/bicrl", share)
    for prelude in share.glob("host/include/bicrl/*.gch"):
        prelude.write_bytes(b"gpch made by another compiler")
    tools = Path(temporary, "tools")
    tools.mkdir()
    (tools / "mpirun").write_text("#!/bin/sh\necho 'mpirun (Open MPI) 1.0.0'\n")
    (tools / "mpirun").chmod(0o755)
    cpu = min(os.sched_getaffinity(0))
    code, checks = doctor(environment={"BICRL_SHARE": str(share), "PATH": f"{tools}:{os.environ['PATH']}"},
                          prepare=lambda: os.sched_setaffinity(0, {cpu}))
    expect(code == 0, "limits do not stop a run", checks)
    expect_checks(checks, CPUs="limited: 1 usable", MPI_launcher="limited: 1.0.0",
                  compiled_preludes="limited: prelude_std.h", verification="ok")

    # ---- A compiler that fails: only the verification can find out.
    with open(share / "host/compile_flags", "a") as file:
        file.write("-fplanted-fault\n")
    code, checks = doctor(environment={"BICRL_SHARE": str(share)})
    expect(code == 3, "no run without a verifier", checks)
    expect_checks(checks, box_compiler="ok", verification="missing: planted-fault")

    # ---- What is missing is named, and the rest still checked.
    Path(temporary, "file").write_text("")
    code, checks = doctor("verifier.server.bwrap=/nonexistent", "verifier.server.python=/usr/bin/false",
                          f"verifier.server.scratch={temporary}/file", "run.directory=/proc/no/such",
                          "policy.device=cuda")
    expect(code == 3, "no run without boxes", checks)
    expect_checks(checks, bubblewrap="missing: apt-get install bubblewrap", namespaces="missing", seccomp="missing",
                  Python_of_boxes="missing: has no torch", scratch_folder="missing: not a folder",
                  run_directory="missing: cannot be written", verification="missing: not tried", learner_module="ok",
                  box_compiler="ok")
    if checks["GPUs"]["status"] != "ok":
        expect_checks(checks, GPUs="missing: policy.device=cpu")

    # ---- Without the learner module, or with one that crashes.
    for fault in ("absent", "garbage"):
        house = Path(temporary, fault)
        for part in ("bin", "lib"):
            Path(house, part).mkdir(parents=True)
        shutil.copy2(BINARY, house / "bin/bicrl")
        (house / "share").symlink_to(BUILD / "share")
        for library in BUILD.glob("lib/*.so"):
            if library.name != "libbicrl_learner.so":
                (house / "lib" / library.name).symlink_to(library)
        if fault == "garbage":
            (house / "lib/libbicrl_learner.so").write_bytes(b"\x7fELF no library")
        code, checks = doctor("verifier.server.bwrap=/nonexistent", binary=str(house / "bin/bicrl"))
        expect(code == 3, "no run without the learner module", checks)
        expect_checks(checks, learner_module="missing: libbicrl_learner.so")

    # ---- A configuration: read as a run reads it; its verifiers are asked.
    server = Server("workers=1")
    address = server.channel._channel.target().decode().removeprefix("dns:///")
    code, checks = doctor(SMALL_RUN, f"verifier.addresses=[{address}]", "verifier.server.bwrap=/nonexistent")
    expect(code == 0, "verifiers elsewhere need no boxes here", checks)
    expect_checks(checks, configuration="ok", bubblewrap="limited", verification="limited")
    answered = checks[f"verifier {address}"]
    expect(answered["status"] in ("ok", "limited") and " ms, " in answered["found"]
           and "1 workers" in answered["found"], "the verifier describes itself", answered)
    # What a run refuses behind the printed document, and what only more ranks can start.
    elsewhere = [f"verifier.addresses=[{address}]", "verifier.server.bwrap=/nonexistent"]
    code, checks = doctor(SMALL_RUN, *elsewhere, "evaluation.tasks=300")
    expect(code == 3, "more held-out tasks than there are", checks)
    expect_checks(checks, configuration="missing: 300 held-out tasks are asked for")
    expect("checkpoint_every_s" not in checks["configuration"]["found"], "the reason alone", checks["configuration"])
    for ranks in (1, 3):
        code, checks = doctor(SMALL_RUN, *elsewhere, "trainer.placement=split", f"trainer.generator_ranks={ranks}")
        expect(code == 0, "a split run is started as several ranks", checks)
        expect_checks(checks, configuration=f"limited: needs at least {ranks + 1} ranks, and the run has 1")
    server.stop()
    code, checks = doctor(SMALL_RUN, f"verifier.addresses=[{address}]", "verifier.server.bwrap=/nonexistent",
                          "warm_up.stepps=3")
    expect(code == 3 and checks[f"verifier {address}"]["status"] == "missing", "a verifier that is gone", checks)
    expect_checks(checks, configuration="missing: did you mean warm_up.steps")
    code, checks = doctor("no/such.yaml", "verifier.server.bwrap=/nonexistent")
    expect(code == 3, "no configuration", checks)
    expect_checks(checks, configuration="missing: no/such.yaml", MPI_launcher="ok")

print("doctor: a sound machine passes, each planted fault shows in its check")
