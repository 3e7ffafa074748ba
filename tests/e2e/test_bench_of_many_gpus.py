"""The bench of many GPUs, with parts that do nothing: what it runs again, what it does not begin, and what it leaves behind."""
import argparse
import json
import sys
import time
from pathlib import Path

from support import SOURCE, expect, folder

sys.path.append(str(SOURCE / "bench" / "many_gpus"))
from host_parts import Part, read_nothing, read_report  # noqa: E402
from processes import is_alive  # noqa: E402
import run as bench  # noqa: E402

bench.ASKED_S = 1


def shell(script):
    return ["bash", "-c", script]


with folder() as temporary:
    out = Path(temporary)
    options = argparse.Namespace(out=out, only=None, budget=1000)

    def run(*parts):
        bench.run_all(parts, options, time.monotonic())
        return {part.name: json.loads((out / f"{part.name}.json").read_text()) for part in parts if (out / f"{part.name}.json").exists()}

    # Fails where something of an earlier attempt lies.
    made = f"mkdir {out}/first.d && echo '{{}}' > {out}/first.d.json"
    first = lambda script: Part("first", 1, 60, shell(script), read_report("first.d.json"), uses=("first.d",))  # noqa: E731
    second = Part("second", 1, 60, shell(f"test -d {out}/first.d"), read_nothing, needs=("first",), uses=("first.d",))
    results = run(first(f"{made} && exit 1"), second)
    expect(results["first"]["state"] == "failed" and "second" not in results, "what needs a part that has failed is not begun", results)
    results = run(first(made), second)
    expect(results["first"]["state"] == results["second"]["state"] == "done", "half-made folders of an earlier attempt are removed", results)
    expect(not (out / "first.d").exists(), "and whole ones once nothing uses them")
    results = run(first("exit 1"))
    expect(results["first"]["state"] == "done", "what is done is not run again", results)

    results = run(Part("long", 1, 2000, shell("exit 0"), read_nothing))
    expect(not results, "nothing begins with less time left than its limit", results)

    # One child leads a session of its own, and neither it nor the other one minds being asked.
    script = f"trap '' TERM; setsid sleep 1000 & echo $! > {out}/own; sleep 1000 & echo $! > {out}/other; echo '{{\"steps\": []}}' > {out}/stuck.d.json; wait"
    results = run(Part("stuck", 1, 5, shell(script), read_report("stuck.d.json")))
    expect(results["stuck"]["state"] == "too long" and results["stuck"]["figures"] == {"steps": []}, "what was measured is kept", results)
    for name in ("own", "other"):
        expect(not is_alive(int((out / name).read_text())), "no process is left behind", name)
