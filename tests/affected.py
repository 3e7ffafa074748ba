"""Which tests a change can have touched: by the inputs that the build knows of each test's program.

    affected.py BUILD CHANGED...           prints a regular expression for `ctest -R`
    affected.py --only-texts CHANGED...    exit code 0 if all changed files are texts, which no build reads

A test is affected if a changed file is an input of its program: a source, a header that one of them includes, a file
that is copied beside it. Of end-to-end scripts this is `bicrl`, with the learner's module unless they start only
subcommands that do without. The corpora are read by the sandbox's tests and by scripts alone. Any other file that no
build reads, as data of tests, a configuration or a script of launch/, affects everything: tests of one room read files
of others. Needs a build that is up to date.
"""
import re
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
ALWAYS = ("house check", "document check", "affected check", "corpora check")
# Subcommands of bicrl itself (launch/CMakeLists.txt); a script that starts no other one needs no learner's module.
WITHOUT_LEARNER = {"verifier", "verify", "doctor", "curate", "report", "watch"}
WITH_LEARNER = {"train", "sft", "eval", "generate", "init", "rescore", "tasks", "config"}
CORPORA = ("tests/hacks/", "tests/honest/", "tests/corpora/templates/")
# Read by the checks that always run alone.
TEXT = re.compile(r"(docs|bench)/|.*\.md$|LICENSE$|tests/behaviour/")
# Of these, what the build for GPUs compiles or a program reads: benchmarks.
READ_BY_BUILDS = re.compile(r".*(\.(cpp|h|cu|cuh|py|json|cmake)|/CMakeLists\.txt)$")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class Build:
    """What ninja knows: paths are relative to the source folder."""

    def __init__(self, folder):
        self.folder = Path(folder).resolve()
        self.headers = {}  # of each object
        name = None
        for line in output("ninja", "-C", str(self.folder), "-t", "deps").splitlines():
            if line and not line.startswith(" "):
                name = line.split(":")[0]
                self.headers[name] = set()
            elif line:
                self.headers[name].add(self.relative(line.strip()))
        self.known = {}

    def relative(self, path):
        path = (self.folder / path).resolve()
        return str(path.relative_to(SOURCE)) if path.is_relative_to(SOURCE) else str(path)

    def inputs(self, target):
        if target not in self.known:
            names = output("ninja", "-C", str(self.folder), "-t", "inputs", target).split("\n")
            self.known[target] = {self.relative(name) for name in names if name} | {
                header for name in names for header in self.headers.get(name, ())}
        return self.known[target]


def listed(folder):
    """Names and commands of tests. Asked itself, ctest would begin the record of the run anew that this may be part of."""
    for file in folder.glob("tests/**/CTestTestfile.cmake"):
        for name, command in re.findall(r"^add_test\(\[=\[(.*?)\]=\] (.*)\)$", file.read_text(), re.M):
            yield name, re.findall(r'"([^"]*)"', command)


def targets_of_script(script):
    words = set(re.findall(r'"(\w+)"', script.read_text()))
    return ["bicrl", "bicrl_box_runtime"] if words & WITHOUT_LEARNER and not words & WITH_LEARNER else ["program"]


def tests_of(build):
    """Names of tests, each with the inputs of its program, and whether it reads the corpora."""
    for name, command in listed(build.folder):
        if name in ALWAYS: continue
        script = next((Path(word) for word in command if word.endswith(".py")), None)
        if script:
            inputs = set().union(*(build.inputs(target) for target in targets_of_script(script)))
            yield name, inputs | {str(script.relative_to(SOURCE))}, True
        else:
            yield name, build.inputs(str(Path(command[0]).resolve().relative_to(build.folder))), name.startswith("sandbox/")


def affected(build, changed):
    changed = [path for path in changed if not TEXT.match(path)]
    tests = list(tests_of(build))
    inputs = set().union(*(test[1] for test in tests)) if tests else set()
    names = set(ALWAYS)
    for path in changed:
        in_corpora = path not in inputs and path.startswith(CORPORA)
        touched = {name for name, known, reads_corpora in tests if path in known or (in_corpora and reads_corpora)}
        if not touched: return None
        names |= touched
    return sorted(names)


def are_only_texts(changed):
    return bool(changed) and all(TEXT.match(path) and not READ_BY_BUILDS.match(path) for path in changed)


def main():
    if sys.argv[1] == "--only-texts": sys.exit(not are_only_texts(sys.argv[2:]))
    build, changed = Build(sys.argv[1]), sys.argv[2:]
    names = affected(build, changed)
    if names is None: print(".")
    else: print("^(" + "|".join(re.escape(name) for name in names) + ")$")


if __name__ == "__main__": main()
