"""Bad configuration is refused before anything starts, with file, line and what was meant; a dry run starts nothing."""
import json
import os
import subprocess

from support import BINARY, ENVIRONMENT, IMPATIENT, MPIRUN, SOURCE, bicrl, expect, folder

SMALL_RUN = "tests/data/small_run.yaml"


def refused(words, *parts):
    code, out, err = bicrl("train", *words)
    expect(code == 2, f"{words}: exit code 2 expected, got {code}", out, err)
    for part in parts:
        expect(part in err, f"{words}: the message should contain {part!r}", err)
    expect(len(err.strip().splitlines()) <= 12, f"{words}: a short message", err)


with folder() as temporary:
    broken = f"{temporary}/broken.yaml"
    text = (SOURCE / SMALL_RUN).read_text()
    folder_keys = [f"policy.config={SOURCE}/configs/quickstart/policy.json",
                   f"policy.tokenizer={SOURCE}/configs/quickstart", f"reward={SOURCE}/configs/rewards/binary.yaml"]

    with open(broken, "w") as file:
        file.write(text.replace("threads_per_rank", "treads_per_rank"))
    line = next(i for i, l in enumerate(open(broken), 1) if "treads_per_rank" in l)
    refused([broken, *folder_keys], f"{broken}:{line}", "treads_per_rank", "threads_per_rank")

    refused([SMALL_RUN, "rollout.threshold=1.5"], "rollout.threshold", "1.5")
    refused([SMALL_RUN, "rollout.max_new_tokens=many"], "rollout.max_new_tokens", "many")
    refused([SMALL_RUN, "warm_up.stepps=3"], "stepps", "steps")
    refused([SMALL_RUN, "reward=nowhere.yaml"], "reward", "nowhere.yaml")
    refused([SMALL_RUN, "verifier.server.wrokers=2"], "wrokers", "workers")
    refused(["no/such/file.yaml"], "no/such/file.yaml")
    for objective in ("draws", "exact"):
        refused([SMALL_RUN, f"stages.0.update.objective={objective}", "stages.0.update.shrink=2"], "shrink", "objective: trace")
    refused([SMALL_RUN, "stages.0.update.objective=exact", "rollout.top_k=5", "rollout.reference_confidence=true"], "stages", "objective", "reference_confidence")
    refused([SMALL_RUN, "policy.device=tpu"], "policy.device", "cpu", "cuda")

    reward = f"{temporary}/reward.yaml"
    with open(reward, "w") as file:
        file.write("rule: generous\n")
    refused([SMALL_RUN, "--reward", reward], "generous", "binary")

    code, out, err = bicrl("train", SMALL_RUN, "--dry-run", f"run.directory={temporary}/run")
    expect(code == 0, "a dry run succeeds", out, err)
    for part in ("tasks_per_step: 32", "responses", "KV cache", "parameters", "reward: binary"):
        expect(part in out, f"the dry run prints {part!r}", out)
    expect(not os.path.exists(f"{temporary}/run"), "a dry run creates no run directory")

    resolved = f"{temporary}/resolved.yaml"
    with open(resolved, "w") as file:
        file.write(out)
    code, again, err = bicrl("train", resolved, "--dry-run", *folder_keys)
    expect(code == 0, "the printed configuration is itself a configuration", again, err)

    # A configuration in the working directory; what other commands refuse.
    code, out, err = bicrl("train", "resolved.yaml", "--dry-run", *folder_keys, "reward=nowhere.yaml", cwd=temporary)
    expect(code == 2 and "nowhere.yaml" in err and "or a folder above it" in err, "looked for from the working directory on", code, err)
    code, out, err = bicrl("train", resolved, "--dry-run", *folder_keys, "run.directory=")
    expect(code == 2 and "run.directory must not be empty" in err, "an empty path", code, err)
    tasks = f"{temporary}/tasks.json"
    with open(tasks, "w") as file:
        json.dump([{"idx": 0, "level": 1, "cuda_code": "", "pytorch_code": "class Model: pass # def get_inputs def get_init_inputs"}], file)
    code, out, err = bicrl("verify", "--tasks", tasks, "--json", f"{temporary}/none/verdicts.json")
    expect(code == 2 and "is no folder" in err and not out, "told before anything is verified", code, out, err)
    code, out, err = bicrl("verify", "--tasks", tasks, "verifier.max_atempts=3")
    expect(code == 2 and "max_attempts" in err, "verify refuses unknown keys", code, err)
    code, out, err = bicrl("doctor", "polcy.device=cpu")
    expect(code == 3 and "polcy" in out, "doctor tells unknown keys", code, out)

    # Keys that would do nothing are refused with the reason, and a curriculum can be chosen.
    nothing = "has no effect"
    for words in (["stages.0.curriculum.window=8"], ["warm_up.update.min_learning_rate=1e-5"], ["tasks.strict=false"],
                  ["stages.0.update.normaliser_tokens=8"], ["stages.0.advantage_k=2"], ["stages.0.imitation.samples=8"],
                  ["stages.0.imitation={updates: 2}", "stages.0.imitation.known=best"],
                  ["stages.0.curriculum.kind=adaptive", "stages.0.curriculum.promote_at=0.5"],
                  ["evaluation.best_of={tasks: 0, samples: 8}", "evaluation.best_of.samples=4"]):
        code, out, err = bicrl("train", SMALL_RUN, "--dry-run", f"run.directory={temporary}/run", *words)
        expect(code == 2 and nothing in err and words[-1].partition("=")[0] in err, f"refused: {words}", code, err)
    for words in (["stages.0.advantage=max_at_k", "stages.0.advantage_k=8"], ["warm_up.programs=some"],
                  ["evaluation.best_of={tasks: 8, samples: 8}", "evaluation.best_of.temperature=0"],
                  ["evaluation.best_of={tasks: 8}", "evaluation.best_of.samples=1"]):
        code, out, err = bicrl("train", SMALL_RUN, "--dry-run", f"run.directory={temporary}/run", *words)
        expect(code == 2 and words[-1].partition("=")[0] in err, f"refused: {words}", code, err)
    code, out, err = bicrl("train", SMALL_RUN, "--dry-run", f"run.directory={temporary}/run", "stages.0.advantage=max_at_k",
                           "stages.1.curriculum.kind=adaptive", "warm_up.programs=all", "evaluation.best_of={tasks: 64, samples: 8}")
    expect(code == 0 and "advantage_k: 4" in out and "best of 8" in out, "what training for the best of several needs", code, out, err)
    # What is imitated, and by whom a split run is trained.
    code, out, err = bicrl("train", SMALL_RUN, "--dry-run", f"run.directory={temporary}/run", "stages.0.imitation={updates: 2, known_share: 0.5}", "trainer.placement=split")
    expect(code == 2 and "then 2 updates from 32 imitated samples each" in out and "too few for 'placement: split' with 1 that generate" in out and "needs at least 2 ranks" in err, "imitation; too few ranks are refused as by a run", code, out, err)
    code, out, err = bicrl("train", SMALL_RUN, "--dry-run", f"run.directory={temporary}/run", "trainer.placement=split", ranks=2)
    expect(code == 0 and "of which 1 train and 1 generate" in out and "exchange" not in out, "one rank of two trains", code, out, err)
    # Synthesised tasks have a split for choices and one for the end; files say themselves what they hold out.
    code, out, err = bicrl("train", SMALL_RUN, "--dry-run", f"run.directory={temporary}/run", "tasks={train: [tests/data/infilling_tasks.json], held_out: [tests/data/end_to_end_tasks.json]}", "evaluation.split=test")
    expect(code == 2 and "evaluation.split" in err and "name what they hold out" in err, "files are not split", code, err)
    code, out, err = bicrl("train", SMALL_RUN, "--dry-run", f"run.directory={temporary}/run", "evaluation.split=everything")
    expect(code == 2 and "development, test" in err, "splits have names", code, err)
    code, out, err = bicrl("train", SMALL_RUN, "--dry-run", f"run.directory={temporary}/run", "evaluation.split=test")
    expect(code == 2 and "test_compositions is 0" in err, "a split without tasks", code, err)
    code, out, err = bicrl("train", "configs/quickstart.yaml", "--dry-run", f"run.directory={temporary}/run", "evaluation={split: test, tasks: 32, best_of: {tasks: 64}}")
    expect(code == 0 and "tasks_per_step: 16" in out and "32 of them after the last phase" in out, "what a newcomer is shown", code, out, err)
    code, out, err = bicrl("tasks", SMALL_RUN, "tasks.synthetic.train_compositions=8", "tasks.synthetic.development_compositions=4",
                           "tasks.synthetic.test_compositions=3", "--write", f"{temporary}/written")
    expect(code == 0 and [len(json.load(open(f"{temporary}/written/{split}.json"))) for split in ("train", "development", "test")] == [8, 4, 3],
           "all three can be written", code, out, err)

    # What a run would find out later is found by a dry run as well.
    for words, reason in ((["policy.end_tokens=[<|nope|>]"], "no token of the tokenizer"), (["policy.end_tokens=[999999]"], "no id of the tokenizer"),
                          (["tasks={train: [README.md]}"], "README.md")):
        code, out, err = bicrl("train", SMALL_RUN, "--dry-run", f"run.directory={temporary}/run", *words)
        expect(code == 2 and reason in err, f"found by a dry run: {words}", code, out, err)
    # An embedded verifier on this machine measures no times; of another one nothing is known until it is asked.
    timed = f"{temporary}/timed.yaml"
    with open(timed, "w") as file:
        file.write("rule: pass_rate\nspeedup_weight: 0.5\n")
    for words in (["--dry-run"], []):
        for file in ("configs/rewards/speedup.yaml", "configs/rewards/composite.yaml", timed):
            code, out, err = bicrl("train", SMALL_RUN, f"run.directory={temporary}/run", "--reward", file, *words)
            expect(code == 2 and file in err and "wants times by the clock 'measured'" in err and "verifier.addresses" in err, f"{file} needs times", code, out, err)
    expect(not os.path.exists(f"{temporary}/run"), "refused before anything is written")
    code, out, err = bicrl("train", SMALL_RUN, "--dry-run", "--reward", timed, "verifier.addresses=[127.0.0.1:9]")
    expect(code == 0, "a verifier elsewhere may measure them", code, out, err)
    code, out, err = bicrl("sft", SMALL_RUN, "--dry-run", f"reward={timed}")
    expect(code == 0, "a warm-up has no rewards", code, out, err)
    refused([SMALL_RUN, "verifier.tolerance=generous"], "verifier.tolerance", "published")
    refused([SMALL_RUN, "verifier.server.protocol.tolerance=open"], "verifier.server.protocol.tolerance", "profile")
    for gone in ("protocol.atol=0.1", "protocol.timed_runs=3", "limits.replay_s=5", "limits.replay_mib=512", "oracle.shifted_draws=true"):
        refused([SMALL_RUN, f"verifier.server.{gone}"], gone.partition("=")[0].partition(".")[2])
    for command in (["train", SMALL_RUN, f"run.directory={temporary}/run"],
                    ["eval", "configs/eval.yaml", "policy={config: configs/quickstart/policy.json, tokenizer: configs/quickstart}",
                     "verifier.server.workers=2"]):
        code, out, err = bicrl(*command, "--dry-run", "verifier.addresses=[127.0.0.1:9]")
        expect(code == 0 and out.count("# verifier.server has no effect") == 1, "settings of a verifier that is not started are told",
               command, code, out, err)
    refused([SMALL_RUN, "evaluation.phases=last", "evaluation.best_of={tasks: 2, after_warm_up: true}"], "phases", "after_warm_up")
    # Somebody may switch a part of a configuration off that says more about it, as that of an earlier run does.
    off = ["evaluation.tasks=0", "curation.quarantine.enabled=false"]
    for words, warnings in (([], 0), (["evaluation.max_new_tokens=8", "evaluation.every_steps=5", "evaluation.phases=last", "curation.quarantine.speedup_above=5"], 4)):
        code, out, err = bicrl("train", SMALL_RUN, "--dry-run", f"run.directory={temporary}/run", *off, *words)
        expect(code == 0 and out.count("no effect with '") == warnings, "settings of what is off are told", words, code, out, err)
    # Entries that are left out are reported before a run, and once.
    entries = json.loads((SOURCE / "tests/data/infilling_tasks.json").read_text())
    with open(tasks, "w") as file:
        json.dump([*entries, {"id": 1000}], file)
    lenient = f"tasks={{train: [{tasks}], held_out: [tests/data/end_to_end_tasks.json], strict: false}}"
    code, out, err = bicrl("train", SMALL_RUN, "--dry-run", f"run.directory={temporary}/run", lenient, "evaluation.tasks=2")
    expect(code == 0 and err.count("left out: ") == 1 and f"entry {len(entries) + 1}" in err, "a broken entry is told", code, out, err)
    code, out, err = bicrl("sft", SMALL_RUN, f"run.directory={temporary}/lenient", lenient, "warm_up.steps=1", "warm_up.samples_per_step=1",
                           "evaluation.tasks=0")
    expect(code == 0 and err.count("left out: ") == 1, "a run tells it once", code, out, err)
    code, out, err = bicrl("generate", "configs/generate.yaml", "--dry-run", "policy={config: configs/quickstart/policy.json, tokenizer: configs/quickstart}",
                           "tasks=tests/data/infilling_tasks.json", "samples_per_task=2", "rollout.temperature=0")
    expect(code == 2 and "samples_per_task" in err, "equal samples are refused", code, out, err)
    code, out, err = bicrl("train", SMALL_RUN, "--dry-run", f"run.directory={temporary}/run", "stages.1.curriculum={kind: level, promote_at: 0.7}",
                           "stages.1.update.kl_weight=0.1")
    expect(code == 0 and "promote_at: 0.7" in out, "a curriculum by level", code, out, err)
    expect("stages.1.update.kl_weight has no effect" in out, "a weight that cannot act is told", out)

    # Ranks that were started with other settings, as by an old file on one of the hosts.
    words = [BINARY, "train", SMALL_RUN, f"run.directory={temporary}/run"]
    done = subprocess.run([*MPIRUN, "-np", "1", *words, ":", "-np", "1", *words, "warm_up.steps=7"], capture_output=True,
                          text=True, timeout=120, cwd=SOURCE, env={**ENVIRONMENT, **IMPATIENT})
    expect(done.returncode == 2 and done.stderr.count("rank 1 has read another configuration") == 1, "ranks are compared", done)
    expect(not os.path.exists(f"{temporary}/run"), "before anything is written")

print("configuration: refused what is wrong, printed what is right")
