"""Bad configuration is refused before anything starts, with file, line and what was meant; a dry run starts nothing."""
import json
import os
import subprocess

from support import BINARY, ENVIRONMENT, IMPATIENT, MPIRUN, SOURCE, bicrl, expect, folder

QUICKSTART = "configs/quickstart.yaml"


def refused(words, *parts):
    code, out, err = bicrl("train", *words)
    expect(code == 2, f"{words}: exit code 2 expected, got {code}", out, err)
    for part in parts:
        expect(part in err, f"{words}: the message should contain {part!r}", err)
    expect(len(err.strip().splitlines()) <= 12, f"{words}: a short message", err)


with folder() as temporary:
    broken = f"{temporary}/broken.yaml"
    text = (SOURCE / QUICKSTART).read_text()
    folder_keys = [f"policy.config={SOURCE}/configs/quickstart/policy.json",
                   f"policy.tokenizer={SOURCE}/configs/quickstart", f"reward={SOURCE}/configs/rewards/binary.yaml"]

    with open(broken, "w") as file:
        file.write(text.replace("threads_per_rank", "treads_per_rank"))
    line = next(i for i, l in enumerate(open(broken), 1) if "treads_per_rank" in l)
    refused([broken, *folder_keys], f"{broken}:{line}", "treads_per_rank", "threads_per_rank")

    refused([QUICKSTART, "rollout.threshold=1.5"], "rollout.threshold", "1.5")
    refused([QUICKSTART, "rollout.max_new_tokens=many"], "rollout.max_new_tokens", "many")
    refused([QUICKSTART, "warm_up.stepps=3"], "stepps", "steps")
    refused([QUICKSTART, "reward=nowhere.yaml"], "reward", "nowhere.yaml")
    refused([QUICKSTART, "verifier.server.wrokers=2"], "wrokers", "workers")
    refused(["no/such/file.yaml"], "no/such/file.yaml")
    refused([QUICKSTART, "policy.device=tpu"], "policy.device", "cpu", "cuda")

    reward = f"{temporary}/reward.yaml"
    with open(reward, "w") as file:
        file.write("rule: generous\n")
    refused([QUICKSTART, "--reward", reward], "generous", "binary")

    code, out, err = bicrl("train", QUICKSTART, "--dry-run", f"run.directory={temporary}/run")
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
                  ["stages.0.update.normaliser_tokens=8"]):
        code, out, err = bicrl("train", QUICKSTART, "--dry-run", f"run.directory={temporary}/run", *words)
        expect(code == 2 and nothing in err and words[-1].partition("=")[0] in err, f"refused: {words}", code, err)
    # What a run would find out later is found by a dry run as well.
    for words, reason in ((["policy.end_tokens=[<|nope|>]"], "no token of the tokenizer"), (["policy.end_tokens=[999999]"], "no id of the tokenizer"),
                          (["tasks={train: [README.md]}"], "README.md")):
        code, out, err = bicrl("train", QUICKSTART, "--dry-run", f"run.directory={temporary}/run", *words)
        expect(code == 2 and reason in err, f"found by a dry run: {words}", code, out, err)
    code, out, err = bicrl("train", QUICKSTART, "--dry-run", f"run.directory={temporary}/run", "verifier.addresses=[127.0.0.1:9]")
    expect(code == 0 and "verifier.server has no effect" in out, "settings of a verifier that is not started are told", code, out, err)
    code, out, err = bicrl("generate", "configs/generate.yaml", "--dry-run", "policy={config: configs/quickstart/policy.json, tokenizer: configs/quickstart}",
                           "tasks=tests/data/infilling_tasks.json", "samples_per_task=2", "rollout.temperature=0")
    expect(code == 2 and "samples_per_task" in err, "equal samples are refused", code, out, err)
    code, out, err = bicrl("train", QUICKSTART, "--dry-run", f"run.directory={temporary}/run", "stages.1.curriculum={kind: level, promote_at: 0.7}",
                           "stages.1.update.kl_weight=0.1")
    expect(code == 0 and "promote_at: 0.7" in out, "a curriculum by level", code, out, err)
    expect("stages.1.update.kl_weight has no effect" in out, "a weight that cannot act is told", out)

    # Ranks that were started with other settings, as by an old file on one of the hosts.
    words = [BINARY, "train", QUICKSTART, f"run.directory={temporary}/run"]
    done = subprocess.run([*MPIRUN, "-np", "1", *words, ":", "-np", "1", *words, "warm_up.steps=7"], capture_output=True,
                          text=True, timeout=120, cwd=SOURCE, env={**ENVIRONMENT, **IMPATIENT})
    expect(done.returncode == 2 and done.stderr.count("rank 1 has read another configuration") == 1, "ranks are compared", done)
    expect(not os.path.exists(f"{temporary}/run"), "before anything is written")

print("configuration: refused what is wrong, printed what is right")
