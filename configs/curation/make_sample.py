#!/usr/bin/env python3
"""Makes sample_answers.jsonl: five answers to each of a few tasks, as a model with a reasoning part might have given them. Some
programs are wrong on purpose; reasoning is a line of text with a length of its own.

    bicrl curate configs/curation/sample_pipeline.yaml
    configs/curation/make_sample.py runs/curation_sample/programs.jsonl > configs/curation/sample_answers.jsonl
"""
import json
import sys

SAMPLES = 5
# Tokens of reasoning, by task and sample: easy, medium and hard tasks by their averages, 4,000 and 8,500.
LENGTHS = [[2100, 900, 1500, 3000, 2500], [6100, 5200, 7900, 6600, 4800], [9900, 12000, 8700, 15000, 9100]]


def without_scale(program):
    """Another answer than the task's."""
    return program.replace("return module.forward_cuda(", "return 1.5 * module.forward_cuda(")


def without_semicolon(program):
    """A program that does not compile."""
    return program.replace("    return out;", "    return out", 1).replace("    return x;", "    return x", 1)


def main():
    groups = {}
    for line in open(sys.argv[1]):
        record = json.loads(line)
        groups.setdefault(record["task_id"], []).append(record)
    for number, (task, records) in enumerate(groups.items()):
        if len(records) < SAMPLES:
            continue
        for i, record in enumerate(records[:SAMPLES]):
            program = record["answer"]["program"]
            if (number + i) % 7 == 3:
                program = without_scale(program)
            if (number + i) % 11 == 7:
                program = without_semicolon(program)
            tokens = LENGTHS[number % 3][(i + number) % SAMPLES]
            answer = {"program": program, "reasoning": f"The operators are {', '.join(record['operators'])}. "
                                                       "I compute each element once and keep it in a register between them."}
            print(json.dumps({"id": f"{task}#{i + 1}", "task_id": task, "pytorch_code": record["pytorch_code"],
                              "operators": record["operators"], "figures": {"reasoning_tokens": tokens}, "answer": answer,
                              "provenance": {"source": "sample", "licence": "that of this program"}}))


main()
