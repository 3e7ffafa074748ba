"""What the program computes, recorded before a change and compared after it: tokens, weights, rewards and verdict values of the quickstart, of
an evaluation, of a replay and of the sandbox's corpora, bit for bit. Names may change in between: renamed.json maps old keys and values of
fields to new ones, and says which are gone or added.
    behaviour.py record BUILD_FOLDER OUT [PART...]        parts: quickstart, eval, replay, rescore, corpora; all by default
    behaviour.py compare BEFORE AFTER
Times and loads are left out. A recording takes some twenty minutes on two cores."""
import gzip
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
OF_THIS_MACHINE = ("_seconds", "_per_second", "_peak_bytes", "_mfu", "_queue", "_ms")
TIMES = {"seconds", "collectives", "commit", "path", "checkpoint"}
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
PARTS = ("quickstart", "eval", "replay", "rescore", "corpora")


def run(*words, **more):
    done = subprocess.run([*map(str, words)], cwd=SOURCE, env={**ENVIRONMENT, **more}, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"failed: {' '.join(map(str, words))}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return done.stdout


def timeless(value):
    if isinstance(value, dict):
        return {k: timeless(v) for k, v in value.items() if not k.endswith(OF_THIS_MACHINE) and k not in TIMES}
    return [timeless(v) for v in value] if isinstance(value, list) else value


def lines_of(file):
    return [json.loads(line) for line in Path(file).read_text().splitlines()]


def digest(file):
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()


def weights_of(folder):
    return {str(p.relative_to(folder)): digest(p) for p in sorted(Path(folder).rglob("*.safetensors"))}


def texts_of(folder):
    found = []
    for file in sorted(Path(folder).glob("*.jsonl.gz")):
        for line in gzip.open(file, "rt"):
            entry = json.loads(line)
            found.append({key: entry[key] for key in ("phase", "step", "group", "sample", "prompt", "text", "reward", "advantage")})
    return sorted(found, key=lambda e: (e["phase"], e["step"], e["group"], e["sample"]))


def run_of(folder):
    folder = Path(folder)
    return {"metrics": timeless(lines_of(folder / "metrics.jsonl")),
            "responses": [{**step, "responses": [{k: v for k, v in r.items() if k != "verdict"} for r in step["responses"]]}
                          for step in lines_of(folder / "responses.jsonl")],
            "held_out": timeless(json.loads((folder / "summary.json").read_text())["held_out"]),
            "evaluated": {p.name: timeless(lines_of(p)) for p in sorted((folder / "evaluations").glob("*.jsonl"))},
            "texts": texts_of(folder / "texts"), "weights": weights_of(folder / "checkpoints")}


def record(build, out, parts):
    build, out = Path(build).resolve(), Path(out).resolve()
    out.mkdir(parents=True, exist_ok=True)
    bicrl, quickstart = build / "bin" / "bicrl", out / "quickstart"
    mpirun = ["mpirun", "-np", "2", "--bind-to", "none", "--oversubscribe"]
    kept = ["run.keep_texts=all", "run.save_rollouts=true"]
    found = {}
    for part in parts:
        if part == "quickstart":
            run(*mpirun, bicrl, "train", "configs/quickstart.yaml", f"run.directory={quickstart}", *kept)
            found[part] = run_of(quickstart)
        if part == "eval":
            run(bicrl, "eval", "configs/eval.yaml", f"policy.checkpoint={quickstart}/checkpoints/end_to_end_2", "measure_time=true", "tasks.limit=64",
                f"responses={out}/responses.jsonl", "--json", out / "eval.json")
            found[part] = {"figures": timeless(json.loads((out / "eval.json").read_text())), "responses": timeless(lines_of(out / "responses.jsonl"))}
        if part == "replay":
            run(*mpirun, bicrl, "train", "configs/quickstart.yaml", f"run.directory={out}/replay", "replay.only=updates",
                f"replay.rollouts={quickstart}", f"replay.verdicts={quickstart}", "evaluation.tasks=0", "run.keep_texts=all")
            found[part] = {"weights": weights_of(out / "replay/checkpoints"), "metrics": timeless(lines_of(out / "replay/metrics.jsonl"))}
        if part == "rescore":
            found[part] = run(bicrl, "rescore", quickstart, "--reward", "configs/rewards/binary.yaml").splitlines()
        if part == "corpora":
            text = run(build / "bin/test_sandbox", "honest programs are graded correct,hostile and incorrect programs end in a class of theirs", BICRL_PRINT_CORPUS="1")
            ends = re.findall(r"^(?:ok  |BAD ) (\S+) (\S+) \|", text, re.M)
            found[part] = dict(sorted(ends))
        (out / f"{part}.json").write_text(json.dumps(found[part], indent=1))
        print(f"{part}: recorded", flush=True)


def renamed(value, names):
    if isinstance(value, dict):
        return {names["keys"].get(k, k): renamed(v, names) for k, v in value.items() if k not in names["gone"]}
    if isinstance(value, list):
        return [renamed(v, names) for v in value]
    return names["values"].get(value, value) if isinstance(value, str) else value


def differences(before, after, added=(), place=""):
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(before.keys() | after.keys()):
            if key not in before and key in added:
                continue
            if key not in before or key not in after:
                yield f"{place}.{key}: only {'after' if key in after else 'before'}"
            else:
                yield from differences(before[key], after[key], added, f"{place}.{key}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for i, (b, a) in enumerate(zip(before, after)):
            yield from differences(b, a, added, f"{place}[{i}]")
    elif before != after:
        yield f"{place}: {str(before)[:120]} -> {str(after)[:120]}"


def compare(before, after):
    names = json.loads((Path(__file__).parent / "renamed.json").read_text())
    count = 0
    for part in PARTS:
        files = [Path(folder, f"{part}.json") for folder in (before, after)]
        if not all(file.exists() for file in files):
            print(f"{part}: not compared")
            continue
        old, new = (json.loads(file.read_text()) for file in files)
        found = list(differences(renamed(old, names), new, names["added"]))
        count += len(found)
        print(f"{part}: {'equal' if not found else f'{len(found)} differences'}")
        kinds = {}
        for line in found:
            kinds.setdefault(re.sub(r"\[\d+\]", "[]", line.split(": ")[0]), []).append(line)
        for lines in kinds.values():
            print(f"  {len(lines)} like {lines[0]}")
    sys.exit(count > 0)


if __name__ == "__main__":
    if sys.argv[1:2] == ["record"] and len(sys.argv) > 3:
        record(sys.argv[2], sys.argv[3], sys.argv[4:] or PARTS)
    elif sys.argv[1:2] == ["compare"] and len(sys.argv) == 4:
        compare(*sys.argv[2:])
    else:
        sys.exit(__doc__)
