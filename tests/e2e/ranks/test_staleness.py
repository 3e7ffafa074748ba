"""Runs that generate steps before the ones before them are trained: other numbers than in turns, and the same ones however often a run is
interrupted and wherever it goes on."""
import os
import signal

from placement_runs import NOBODY, SPLIT, begun, pid_of_rank, same, trace, verifier_here, words
from support import bicrl, expect, folder

with folder() as temporary:
    here = verifier_here(temporary)
    code, out, err = bicrl(*words(f"{temporary}/in_turns", *here, *SPLIT), ranks=2)
    expect(code == 0, "a run in turns", out, err)
    ahead = ["trainer.max_staleness=1"]
    code, out, err = bicrl(*words(f"{temporary}/ahead", *here, *SPLIT, *ahead), ranks=2)
    expect(code == 0, "a run one step ahead", out, err)
    overlapped = trace(f"{temporary}/ahead")
    expect(overlapped["files"] != trace(f"{temporary}/in_turns")["files"], "the weights of the step before generate")
    gaps = [step["log_prob_gap"] for step in overlapped["steps"] if step["phase"] == "end_to_end"]
    expect(gaps[0] < 1e-4 < max(gaps[1:]), "importance weights are not 1 where another version generated", gaps)
    # Steps that were generated ahead are kept for checkpoints within a stage, of which none is left.
    expect(os.listdir(f"{temporary}/ahead/rollouts") == [], "rollouts are gone with the checkpoints that needed them")
    run = f"{temporary}/ahead_moved"
    for steps, ranks, more in ((5, 2, []), (7, 3, ["trainer.generator_ranks=2"])):
        process = begun(run, steps, ranks, *here, *SPLIT, *ahead, *more)
        if ranks == 2:
            os.killpg(process.pid, signal.SIGTERM)
        else:
            os.kill(pid_of_rank(run, 0), signal.SIGKILL)
        process.communicate(timeout=300)
    code, out, err = bicrl(*words(run, *here, *SPLIT, *ahead), ranks=2)
    expect(code == 0 and "going on after" in out + err, "goes on", out, err)
    same("one step ahead, moved", run, overlapped)

    for ranks, overrides, message in ((None, ["trainer.max_staleness=1"], "has no effect with 'placement: colocated'"),
                                      (2, [*SPLIT, "trainer.max_staleness=9"], "max_staleness"),
                                      (2, [*SPLIT, *ahead, "stages.1.update.shrink=2"], "take from the present one")):
        code, out, err = bicrl(*words(f"{temporary}/refused", *here, NOBODY, *overrides), ranks=ranks)
        expect(code == 2 and message in err, f"refuses {overrides}", code, out, err)
print("runs that are steps ahead repeat")
