"""expand.py: its form on templates made here, and that every program of the corpora expands."""
import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import expand

failures = []


def equal(what, got, expected):
    if got != expected: failures.append(f"{what}: expected\n{expected}\ngot\n{got}")


def refused(what, text, words):
    try:
        expand.expand(text)
        failures.append(f"{what}: is not refused")
    except ValueError as error:
        if words not in str(error): failures.append(f"{what}: {error}")


OUTER = """# ---- program
<imports>
import torch
<includes>

<source>
<build>
<setup>
end

# ---- source
<kernels>

# ---- build
$name = build("$signature", "$function", "$arguments")
"""
INNER = """# template: outer name=module
# ---- source
<kernels>

<host>

# ---- kernels
default kernel

# ---- host
torch::Tensor $function(torch::Tensor x, int rows) {
<launch>
}

# ---- launch
  ${function}_kernel<<<$threads>>>();
"""
INNER_OF_TWO = """# class: c
# task: sum
# why: w
import torch

default kernel

torch::Tensor sum(torch::Tensor x, int rows) {
  sum_kernel<<<2>>>();
}
module = build("torch::Tensor sum(torch::Tensor x, int rows)", "sum", "x, rows")
end
"""


def check_form():
    def program(rest, values="template: inner threads=2"): return f"# class: c\n# task: sum, {values}\n# why: w\n{rest}"

    equal("a program without parts", expand.expand(program("")), INNER_OF_TWO)
    equal("a blank line sets parts off", expand.expand(program("\n# ---- launch\n  f();\n\n# ---- setup\n\ns\n")),
          INNER_OF_TWO.replace("  sum_kernel<<<2>>>();", "  f();").replace("end\n", "\ns\nend\n"))
    equal("unmarked text", expand.expand(program("\nimport os\n\n#include <a>\n\nkernel\n\n<kernels>\n")),
          INNER_OF_TWO.replace("import torch\n", "import os\nimport torch\n#include <a>\n").replace("default", "kernel\n\ndefault"))
    equal("includes by a marker stay in the kernels", expand.expand(program("\n# ---- kernels\n#include <a>\n")),
          INNER_OF_TWO.replace("default kernel", "#include <a>"))
    equal("values", expand.expand(program("", "template: inner threads=8 function=total name=other")),
          INNER_OF_TWO.replace("sum", "total").replace("task: total", "task: sum").replace("<<<2", "<<<8").replace("module", "other"))
    equal("a host function of the program", expand.expand(program("\ntorch::Tensor f(torch::Tensor a) {\n", "template: outer name=m")),
          '# class: c\n# task: sum\n# why: w\nimport torch\n\ntorch::Tensor f(torch::Tensor a) {\n'
          'm = build("torch::Tensor f(torch::Tensor a)", "f", "a")\nend\n')
    whole = "# class: c\n# task: sum\nimport os\n# ---- launch\n<kernels>\n"
    equal("a whole program", expand.expand(whole), whole)
    refused("a part without a place", program("\n# ---- lunch\nx\n"), "no place for lunch")
    refused("a part under a part that is replaced", program("\n# ---- host\ntorch::Tensor f(int a) {\n\n# ---- launch\nx\n"), "launch")
    refused("a hole of another part", program("\n# ---- launch\n<kernels>\n"), "<kernels> stands in part launch")


def check_corpora():
    """No program keeps a marker or a hole; each template has its line in README.md and a user."""
    users = set()
    for path in (path for folder in expand.FOLDERS for path in sorted(folder.glob("*.py"))):
        text = expand.read_program(path)
        rest = [line for line in text.split("\n") if expand.MARKER.fullmatch(line) or expand.HOLE.fullmatch(line)]
        if rest: failures.append(f"{path} expands to a text with {rest}")
        users |= set(re.findall(r"^# task: \S+, template: (\w+)", path.read_text(encoding="utf-8"), re.M))
    templates = {path.name for path in expand.TEMPLATES.iterdir()}
    for name in templates: users |= set(re.findall(r"^# template: (\w+)", (expand.TEMPLATES / name).read_text(encoding="utf-8"), re.M))
    readme = (expand.HERE / "README.md").read_text(encoding="utf-8")
    described = re.findall(r"^\| `(\w+)` \|", readme.partition("## Templates")[2], re.M)
    equal("used templates", sorted(users), sorted(templates))
    equal("templates of README.md", described, sorted(templates))


check_corpora()
with tempfile.TemporaryDirectory() as folder:
    expand.TEMPLATES = Path(folder)
    Path(folder, "outer").write_text(OUTER)
    Path(folder, "inner").write_text(INNER)
    check_form()
print("\n".join(failures) or "corpora check: all as expected")
sys.exit(bool(failures))
