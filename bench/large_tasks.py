#!/usr/bin/env python3
"""The programs of tests/large as a task file, for bench/stock_agreement.py: bench/reduced_sizes.md.

    bench/large_tasks.py KERNELBENCH_LEVEL_1.json OUT.json [--kind ordinary|specialised|own-size-only|at-variants]

For each of the problems: the program in ordinary style, the one that refuses other sizes, the neighbour that is incorrect at the
problem's own size alone, or those that are incorrect at reduced sizes, too."""
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


def kinds_of(family, kind):
    if kind == "ordinary":
        return [{"name": "ordinary"}]
    if kind == "specialised":
        return [family["specialised"]]
    return [neighbour for neighbour in family["neighbours"] if neighbour["class"].startswith("unseen") == (kind == "own-size-only")]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("problems", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--kind", choices=("ordinary", "specialised", "own-size-only", "at-variants"), default="ordinary")
    options = parser.parse_args()
    modules = {str(problem["problem_id"]): problem["pytorch_code"] for problem in json.loads(options.problems.read_text())}
    tasks = []
    for family in json.loads((PROGRAMS / "programs.json").read_text()):
        tasks += [{"id": " ".join([number, family["family"], kind["name"]]), "pytorch_code": modules[number],
                   "cuda_code": program(family, values, kind.get("changes", []))}
                  for number, values in family["problems"].items() for kind in kinds_of(family, options.kind)]
    options.out.write_text(json.dumps(tasks, indent=1))
    print(f"{len(tasks)} programs")


if __name__ == "__main__":
    main()
