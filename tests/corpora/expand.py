#!/usr/bin/env python3
"""Expands programs of the corpora, which may hold only what is their own and name a template for the rest.

    expand.py NAME...            prints programs as the verifier gets them; NAME may be a path
    expand.py --tasks NAME...    prints a file for `bicrl verify --tasks`: programs with their tasks
    expand.py --all FOLDER OUT   writes every program of FOLDER to OUT

README.md beside this file describes the form. Tests and scripts read programs of the corpora through this file.
Standard library only.
"""
import json
import re
import string
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
TEMPLATES = HERE / "templates"
FOLDERS = tuple(HERE.parent / folder for folder in ("hacks", "sandbox/candidates", "honest"))

TEMPLATE = re.compile(r"# (?:task: (\S+), )?template: (\w+)((?: \w+=\S+)*)")
MARKER = re.compile(r"# ---- (\w+)")
TOP = {"imports": ("import ", "from "), "includes": ("#include ",)}
HOLE = re.compile(r"<(\w+)>")
HOST_FUNCTION = re.compile(r"^((?:torch::Tensor|std::vector<torch::Tensor>) (\w+)\(([^()]*)\)) \{", re.M)


class Parts:
    """A program or a template: the template that it names, values for that one, and its own parts as lists of lines."""

    def __init__(self, text, unmarked):
        self.header, self.template, self.values = [], None, {}
        lines = text.removesuffix("\n").split("\n")
        while lines and lines[0].startswith("# ") and not MARKER.fullmatch(lines[0]):
            self._take_header(lines.pop(0))
        without_blank(lines)
        self.own = {}
        for part, beginnings in TOP.items(): self._take_top(lines, part, beginnings)
        self._take_parts(lines, unmarked)

    def _take_header(self, line):
        named = TEMPLATE.fullmatch(line)
        if not named:
            self.header.append(line)
            return
        task, self.template, values = named.groups()
        self.values = dict(value.split("=") for value in values.split())
        if task:
            self.values["task"] = task
            self.header.append(f"# task: {task}")

    def _take_top(self, lines, part, beginnings):
        """Lines before the first marker that begin so are a part of their own."""
        top = []
        while lines and lines[0].startswith(beginnings): top.append(lines.pop(0))
        if not top: return
        self.own[part] = top
        without_blank(lines)

    def _take_parts(self, lines, name):
        part = []
        for line in lines:
            marker = MARKER.fullmatch(line)
            if not marker:
                part.append(line)
                continue
            if part[-1:] == [""]: part.pop()
            if part: self.own[name] = part
            name, part = marker[1], []
        if part: self.own[name] = part


def without_blank(lines):
    if lines[:1] == [""]: lines.pop(0)


class Expansion:
    """A program's parts before those of its template, before those of the template's template, and their values."""

    def __init__(self, program):
        self.levels, self.values, self.used = [program], {"function": program.values["task"]}, set()
        while self.levels[-1].template:
            text = (TEMPLATES / self.levels[-1].template).read_text(encoding="utf-8")
            self.levels.append(Parts(text, "program"))
        for level in reversed(self.levels): self.values |= level.values
        self._read_host_function()

    def text(self):
        lines = self.lines("program")
        unused = self.levels[0].own.keys() - self.used
        if unused: raise ValueError(f"template {self.levels[0].template} has no place for {', '.join(sorted(unused))}")
        return "\n".join(self.levels[0].header + lines) + "\n"

    def _read_host_function(self):
        """What build and model repeat of the host function, the last function of the source that returns tensors."""
        functions = HOST_FUNCTION.findall("\n".join(self.lines("source")))
        if not functions: return
        signature, function, parameters = functions[-1]
        arguments = ", ".join(parameter.split()[-1] for parameter in parameters.split(",") if parameter.strip())
        self.values |= {"signature": signature, "function": function, "arguments": arguments}
        self.values.setdefault("name", function)

    def lines(self, part, level=0):
        """The part's lines: of the first level from `level` on that has it; none if there is none."""
        while level < len(self.levels) and part not in self.levels[level].own: level += 1
        if level == len(self.levels): return []
        if level == 0: self.used.add(part)
        return [line for own in self.levels[level].own[part] for line in self._filled(own, part, level)]

    def _filled(self, line, part, level):
        """A line that is a hole as the lines of its part, any other of a template with the values put in."""
        hole = HOLE.fullmatch(line)
        if not hole: return [string.Template(line).substitute(self.values) if level else line]
        if hole[1] == part: return self.lines(part, level + 1)
        if level == 0: raise ValueError(f"{line} stands in part {part}")
        return self.lines(hole[1])


def expand(text):
    """The program that the text stands for; a text that names no template is one already."""
    program = Parts(text, "kernels")
    return Expansion(program).text() if program.template else text


def read_program(path):
    try:
        return expand(Path(path).read_text(encoding="utf-8"))
    except (KeyError, OSError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from error


def path_of(name):
    places = [Path(name)] + [folder / f"{name}.py" for folder in FOLDERS]
    found = next((place for place in places if place.is_file()), None)
    if not found: sys.exit(f"no program {name} in " + ", ".join(map(str, FOLDERS)))
    return found


def task_entry(path):
    program = read_program(path)
    task = re.search(r"^# task: (\S+)", program, re.M)[1]
    reference = (path.parent / "tasks" / f"{task}.py").read_text(encoding="utf-8")
    return {"idx": path.stem, "level": 1, "pytorch_code": reference, "cuda_code": program}


def main(option, *arguments):
    if option == "--all":
        folder, out = map(Path, arguments)
        for path in sorted(folder.glob("*.py")):
            (out / path.name).write_text(read_program(path), encoding="utf-8")
    elif option == "--tasks":
        print(json.dumps([task_entry(path_of(name)) for name in arguments], indent=1))
    else:
        for name in (option, *arguments): sys.stdout.write(read_program(path_of(name)))


if __name__ == "__main__": main(*sys.argv[1:] or sys.exit(__doc__.strip()))
