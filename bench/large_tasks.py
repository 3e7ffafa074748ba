#!/usr/bin/env python3
"""The programs of tests/large as a task file, for bench/stock_agreement.py: bench/reduced_sizes.md.

    bench/large_tasks.py KERNELBENCH_LEVEL_1.json OUT.json [--own-size-only]

One program in ordinary style for each of the problems; --own-size-only: in its place the neighbour that is incorrect at the problem's
own size alone."""
import argparse
import json
from pathlib import Path

PROGRAMS = Path(__file__).resolve().parent.parent / "tests/large"


def program(family, values, changes):
    text = (PROGRAMS / f"{family['family']}.py").read_text()
    for before, after in changes:
        if before not in text:
            raise SystemExit(f"{family['family']}.py lacks {before!r}")
        text = text.replace(before, after)
    for name, value in {**family["defaults"], **values}.items():
        text = text.replace(f"@{name}@", value)
    return text


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("problems", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--own-size-only", action="store_true")
    options = parser.parse_args()
    modules = {str(problem["problem_id"]): problem["pytorch_code"] for problem in json.loads(options.problems.read_text())}
    tasks = []
    for family in json.loads((PROGRAMS / "programs.json").read_text()):
        kinds = [kind for kind in family["neighbours"] if kind["class"].startswith("unseen")] if options.own_size_only else [{}]
        tasks += [{"id": " ".join([number, family["family"], kind.get("name", "ordinary")]), "pytorch_code": modules[number],
                   "cuda_code": program(family, values, kind.get("changes", []))}
                  for number, values in family["problems"].items() for kind in kinds]
    options.out.write_text(json.dumps(tasks, indent=1))
    print(f"{len(tasks)} programs")


if __name__ == "__main__":
    main()
