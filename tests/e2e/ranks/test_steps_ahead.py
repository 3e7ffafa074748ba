"""Three steps ahead of the update, with tasks that are solved for the first time, repairs, and second verifications: a run that is
stopped or killed while verdicts of steps to come are missing ends with the same bits, also on other ranks."""
import os
import signal
import subprocess
import time
from pathlib import Path

from graded_runs import REWARD, PartialGrader, done, same, settings, steps, steps_done, words
from support import BINARY, ENVIRONMENT, MPIRUN, SOURCE, expect, folder, killed, read_json

SMALL = settings(steps=7)
AHEAD = ["trainer.placement=split", "trainer.max_staleness=3", "curation.quarantine.first_success=true"]


def stopped(arguments, ranks, moment):
    """Ends a run by a signal when `moment` has come; it saves and leaves."""
    process = subprocess.Popen([*MPIRUN, "-np", str(ranks), BINARY, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               start_new_session=True, cwd=SOURCE, env=ENVIRONMENT)
    deadline = time.monotonic() + 300
    while not moment():
        expect(process.poll() is None and time.monotonic() < deadline, "the run comes so far", process.poll())
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGTERM)
    return process.communicate(timeout=300)[0]


def waits(run):
    """The steps that wait in the latest checkpoint, and whether each has all its verdicts."""
    latest = Path(run, "checkpoints/latest").read_text().strip()
    state = read_json(f"{run}/checkpoints/{latest}/trainer/state.json")["phase_state"]
    return [(step["step"], bool(step["verdict_keys"])) for step in state["ahead"]]


with folder() as temporary:
    Path(temporary, "reward.yaml").write_text(REWARD)
    grader = PartialGrader()
    common = [f"reward={temporary}/reward.yaml", f"verifier.addresses=[{grader.address}]", "verifier.attempt_s=600", "verifier.deadline_s=600", *AHEAD]
    whole = f"{temporary}/whole"
    done("a run three steps ahead", words(whole, SMALL, *common))
    taken = steps(whole)
    expect(sum(step["quarantined"] for step in taken) > 0 and any(step["updates"] for step in taken), "successes are verified twice, and trained on", taken)
    expect(os.listdir(f"{whole}/rollouts") == [], "rollouts are gone with the checkpoints that needed them")

    run = f"{temporary}/moved"
    # In the first step, while verdicts of the second are missing.
    grader.wait_behind(run, 0, 24)
    said = stopped(words(run, SMALL, *common), 2, lambda: grader.asked < 0)
    grader.waiting_run = None
    expect("going on" not in said and waits(run) and not all(complete for _, complete in waits(run)), "steps wait without their verdicts", waits(run), said)
    # On other ranks, without a warning, while one of the steps to come waits for verdicts.
    grader.wait_behind(run, 3, 2)
    killed(words(run, SMALL, *common, "trainer.generator_ranks=2"), 3, lambda: steps_done(run) >= 3 and grader.asked < 0)
    grader.waiting_run = None
    expect(waits(run) and all(complete for _, complete in waits(run)), "steps wait with their verdicts", waits(run))
    done("goes on", words(run, SMALL, *common))
    same("after a stop and a kill", run, whole, "tokens_per_forward")
print("runs that are steps ahead repeat")
