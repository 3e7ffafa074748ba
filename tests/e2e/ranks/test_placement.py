"""A split run ends with the bits of a colocated one that has as many ranks that train: without a fault, stopped and gone on with
colocated, and with a generator killed."""
import os
import shutil
import signal
from pathlib import Path

from placement_runs import NOBODY, SPLIT, begun, pid_of_rank, same, trace, verifier_here, words
from support import bicrl, expect, folder

with folder() as temporary:
    here = verifier_here(temporary)
    code, out, err = bicrl(*words(f"{temporary}/colocated", *here))
    expect(code == 0, "a colocated run", out, err)
    expected = trace(f"{temporary}/colocated")
    expect(any(step.get("grad_norm", 0) > 0 for step in expected["steps"][4:]), "the stages learn", expected["steps"])

    run = f"{temporary}/two"
    code, out, err = bicrl(*words(run, *here, *SPLIT), ranks=2)
    expect(code == 0 and "of which the last 1 only generate" in out + err, "a trainer and a generator", out, err)
    same("two ranks", run, expected)

    # Stopped as two, taken up by one; then as a trainer with two generators, one of which is killed; ended by two.
    run = f"{temporary}/moved"
    process = begun(run, 5, 2, *here, *SPLIT)
    os.killpg(process.pid, signal.SIGTERM)
    output, _ = process.communicate(timeout=300)
    expect("stopped after" in output, "a split run stops and saves", output)
    process = begun(run, 6, 1, *here)
    os.killpg(process.pid, signal.SIGTERM)
    process.communicate(timeout=300)
    process = begun(run, 7, 3, *here, *SPLIT, "trainer.generator_ranks=2")
    os.kill(pid_of_rank(run, 2), signal.SIGKILL)
    output, _ = process.communicate(timeout=300)
    expect(process.returncode != 0, "a killed generator ends the run", output)
    code, out, err = bicrl(*words(run, *here, *SPLIT), ranks=2)
    expect(code == 0 and "going on after" in out + err and "goes on with" not in out + err, "two ranks go on", out, err)
    same("moved", run, expected)

    # A fault that only ranks which train can find: nobody has to be aborted.
    damaged = Path(temporary, "damaged")
    shutil.copytree(f"{temporary}/colocated/checkpoints/end_to_end", damaged)
    moments = damaged / "trainer/optimizer.safetensors"
    moments.write_bytes(moments.read_bytes()[:-64])
    code, out, err = bicrl(*words(f"{temporary}/none", *here, *SPLIT, "policy.config=", f"policy.checkpoint={damaged}", "policy.moments=true"), ranks=2)
    expect(code == 2 and (out + err).count(str(moments)) == 1 and "MPI_ABORT" not in out + err, "moments that cannot be read end all ranks", code, out, err)

    for ranks, overrides, message in ((None, SPLIT, "needs at least 2 ranks, and the run has 1"),
                                      (2, [*SPLIT, "trainer.generator_ranks=2"], "needs at least 3 ranks, and the run has 2"),
                                      (None, ["trainer.generator_ranks=1"], "has no effect with 'placement: colocated', where every rank generates"),
                                      (None, [*SPLIT, "replay.only=rollouts"], "a replay does one of the two")):
        code, out, err = bicrl(*words(f"{temporary}/refused", *here, NOBODY, *overrides), ranks=ranks)
        expect(code == 2 and message in err, f"refuses {overrides}", code, out, err)
print("split runs end as colocated ones do")
