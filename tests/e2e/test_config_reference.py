"""docs/configuration.md is what the program reports of its keys; `bicrl config` names where each value comes from."""
import difflib
import re

from support import SOURCE, bicrl, expect, folder

code, page, err = bicrl("config", "--reference")
expect(code == 0, "every key has a description, and every description a key", err)
written = (SOURCE / "docs" / "configuration.md").read_text()
difference = list(difflib.unified_diff(written.splitlines(), page.splitlines(), "docs/configuration.md", "program", lineterm=""))
expect(not difference, "docs/configuration.md is up to date: bicrl config --reference > docs/configuration.md", *difference[:20])

# An independent look at some rows: known keys with what the sources state of them.
for row in (r"\| `directory` \| text \| required \|", r"\| `threshold` \| number \| `0.9` \| 0 to 1 \|",
            r"\| `samples_per_task` \| integer \| `8` \| 2 to ", r"\| `device` \| choice \| `cpu` \| `cpu`, `cuda` \|"):
    expect(re.search(row, page), f"the reference has {row}")

small_run = "tests/data/small_run.yaml"
with folder() as temporary:
    code, out, err = bicrl("config", small_run, f"run.directory={temporary}/run", "rollout.temperature=0.5")
    expect(code == 0, "values of a file", err)
    values = dict(line.split("  # ")[0].strip().split("=", 1) for line in out.splitlines())
    places = {line.split("=", 1)[0]: line.rsplit("  # ", 1)[1] for line in out.splitlines()}
    expect(values["rollout.temperature"] == "0.5" and places["rollout.temperature"].startswith("command line"), "an override", out)
    expect(places["run.keep_checkpoints"] == "default" and values["run.keep_checkpoints"] == "2", "a default", out)
    expect(re.fullmatch(re.escape(small_run) + r":\d+", places["policy.config"]), "a line of the file", out)
    code, out, err = bicrl("config", small_run, "rollout.temprature=0.5")
    expect(code == 2 and "temprature" in err and "rollout.temperature" in err, "unknown keys are refused", code, err)

code, out, err = bicrl("config", "configs/verifiers/cpu.yaml", "--of", "verifier")
expect(code == 0 and "queue=4096" in out, "the file of a verifier", code, out, err)
code, out, err = bicrl("config", "configs/rewards/composite.yaml", "--of", "reward")
expect(code == 0 and "rules.0.rule=" in out, "a reward file", code, out, err)
code, out, err = bicrl("config")
expect(code == 2 and "--reference" in err, "a file or --reference is needed", code, out, err)

print("configuration reference: as the program reads it")
