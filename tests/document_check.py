#!/usr/bin/env python3
"""Reference pages against the program: subcommands, options, configuration keys, keys of a step,
fault classes, fields of a verdict. C++ examples that a page says to write as a file must compile.

Needs BICRL_BINARY and BICRL_BUILD, the build folder with compile_commands.json.
docs/configuration.md has a test of its own (tests/e2e/test_config_reference.py).
"""
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BINARY = os.environ["BICRL_BINARY"]
BUILD = Path(os.environ["BICRL_BUILD"])

EXAMPLE = re.compile(r"^```cpp\n(.*?)^```\s+(?:\d+\. )?Write it as `([^`]+)`", re.M | re.S)

# Reads of a configuration's keys. policy/ reads config.json and tokenizers in the same way.
ACCESSOR = r'\.(?:integer|real|boolean|text|required_text|choice|texts|integers|integers_or)\("([a-z_0-9]+)"'
ROOMS = ("common", "verdict", "tasks", "sandbox", "reward", "episode", "rollout", "trainer", "launch")


def configuration_readers():
    return sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.cpp"))


def read(path):
    return (ROOT / path).read_text()


def help_of(*words):
    return subprocess.run([BINARY, *words, "--help"], check=True, capture_output=True, text=True).stdout


def in_code(page):
    """What a page shows as code, word by word."""
    return set(re.findall(r"[\w.-]+", " ".join(re.findall(r"`([^`\n]+)`", read(page)))))


def missing(names, page, what):
    shown = in_code(page)
    return [f"{page}: no {what} {name}" for name in names if name not in shown]


def sources_of(file):
    """A file that is compiled, or those that it includes for being compiled together."""
    if not file.name.startswith("unity_"):
        return [file]
    return [Path(source) for source in re.findall(r'^#include "([^"]+)"', file.read_text(), re.M)]


def compile_command(folder):
    """(words, working directory) that compile a file of this folder, without the file and its object."""
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        if all(source.resolve().parent != (ROOT / folder).resolve() for source in sources_of(Path(entry["file"]))):
            continue
        words = shlex.split(entry["command"])
        for flag in ("-o", "-c"):
            del words[words.index(flag):words.index(flag) + 2]
        return words, entry["directory"]
    return None, None


def uncompilable_examples():
    examples = [(page, *example) for page in sorted((ROOT / "docs").glob("*.md")) for example in EXAMPLE.findall(page.read_text())]
    assert len(examples) >= 2, examples
    for page, text, path in examples:
        words, directory = compile_command(Path(path).parent)
        if not words:
            yield f"{page.name}: {BUILD}/compile_commands.json compiles no file beside {path}"
            continue
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, Path(path).name)
            source.write_text(text)
            end = subprocess.run([*words, "-fsyntax-only", source], cwd=directory, capture_output=True, text=True)
        if end.returncode:
            yield f"{page.name}: the example {path} does not compile:\n{end.stderr}"


def main():
    findings = list(uncompilable_examples())
    subcommands = re.findall(r"^  ([a-z]+) {2,}", help_of().split("Subcommands:")[1], flags=re.M)
    assert {"train", "verify", "doctor"} <= set(subcommands), subcommands
    findings += missing(subcommands, "README.md", "subcommand") + missing(subcommands, "docs/cli.md", "subcommand")
    for subcommand in subcommands:
        options = set(re.findall(r"(--[a-z][a-z-]*)", help_of(subcommand).split("Options:")[1])) - {"--help"}
        findings += missing(sorted(options), "docs/cli.md", f"option of {subcommand},")

    keys = re.findall(r'\{"([a-z_0-9]+)", (?:m\.|r\.|figures\.)', read("trainer/run/reports/step_metrics.cpp"))
    keys += re.findall(r'json\["([a-z_0-9]+)"\]', read("trainer/run/reports/step_metrics.cpp"))
    keys += re.findall(r'StepSecondsField\{"([a-z_0-9]+)"', read("trainer/run/reports/step_metrics.h"))
    for table in ("episode/figures.h", "trainer/update/update_figures.h"):
        keys += re.findall(r'X\(k\w+, "([a-z_0-9]+)"', read(table))
    for objective in sorted((ROOT / "trainer/update/objective").glob("*.cpp")):
        keys += re.findall(r'\{\.key = "([a-z_0-9]+)"', objective.read_text())
    assert {"reward_mean", "updates", "clip_share", "train_mfu", "collectives"} <= set(keys), keys
    findings += missing(keys, "docs/metrics.md", "key")

    steps = {key for file in (ROOT / "curation").rglob("*.cpp") for key in re.findall(ACCESSOR, file.read_text())}
    assert {"records", "unverified"} <= steps, steps
    parts = {part for name in in_code("docs/curation.md") for part in name.split(".")}
    findings += [f"docs/curation.md: no key {key}" for key in sorted(steps - parts)]

    classes = re.findall(r'^    \{FaultClass::k\w+, "([a-z_]+)",', read("verdict/fault/fault_class.cpp"), flags=re.M)
    assert {"compile", "race", "unconfirmed"} <= set(classes), classes
    findings += missing(classes, "docs/verifier.md", "fault class")

    fields = re.findall(r'verdict_field\("(?:\w+\.)?(\w+)"', read("verdict/verdict_fields.h"))
    assert {"outcome", "eager_ms", "backend"} <= set(fields), fields
    findings += missing(fields, "docs/file-formats.md", "field")

    # A key that is read in a branch which no example of launch/configuration/config_documents.cpp reaches would be missing.
    shown = in_code("docs/configuration.md")
    parts = {part for name in shown for part in name.split(".")}
    read_keys = [(path, key) for path in configuration_readers() for key in re.findall(ACCESSOR, path.read_text())]
    assert len(read_keys) > 150, len(read_keys)
    for path, key in read_keys:
        if key not in parts:
            findings.append(f"docs/configuration.md: no key {key}, which {path.relative_to(ROOT)} reads: "
                            "launch/configuration/config_documents.cpp needs an example that reaches it")

    for finding in findings:
        print(finding)
    print(f"document check: {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
