"""affected.py on this build: what a change selects, and that nothing unknown is left out; the commits that launch/test, a copy of
it, records as tested, and the times that it prints; what .ci/run, a copy of it, leaves out where only texts changed."""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import affected

build = affected.Build(os.environ["BICRL_BUILD"])
everything = {name for name, _, _ in affected.tests_of(build)}
failures = []


def selects(changed, present, absent=()):
    names = affected.affected(build, changed)
    if names is None: names = everything
    for name in {*present, *absent} - everything - set(affected.ALWAYS): failures.append(f"there is no test {name}")
    for name in present:
        if name not in names: failures.append(f"{changed} does not select {name}")
    for name in absent:
        if name in names: failures.append(f"{changed} selects {name}")


learner = ("trainer/test_run_directory", "e2e: test_resume")
verifier = ("ptx/test_alu_integer", "sandbox/test_hack_corpus", "e2e: test_verify_command")
# A source of the learner; one that both programs hold; a header; what is copied beside a program; data; texts.
selects(["trainer/run/run_directory.cpp"], learner, verifier)
selects(["sandbox/verifier/judge.cpp"], verifier[1:] + learner[1:], ("ptx/test_alu_integer", "common/test_config"))
selects(["common/config/config.h"], learner + verifier[1:])
selects(["sandbox/runtimes/oracle.py"], verifier[1:] + learner[1:], ("policy/test_tokenizer",))
selects(["tests/hacks/exit_handlers.py"], ("sandbox/test_hack_corpus",), ("trainer/test_run_directory",))
selects(["tests/corpora/templates/affine"], ("sandbox/test_hack_corpus",), ("trainer/test_run_directory",))
selects(["tests/e2e/test_resume.py"], ("e2e: test_resume",), ("e2e: test_replay", "trainer/test_run_directory"))
selects(["tests/trainer/fixtures.h"], ("trainer/test_minibatch",), ("rollout/test_acceptance",))
selects(["docs/training.md", "README.md"], affected.ALWAYS, learner + verifier)
# Files of one room that tests of another read.
selects(["tests/rollout/tiny_tokenizer/vocab.json"], ("trainer/test_prompt_filter", "rollout/test_acceptance"))
selects(["tests/sandbox/candidates/right.py"], ("e2e: test_verify_command", "sandbox/test_hack_corpus"))
selects(["configs/quickstart.yaml"], ("trainer/test_run_memory", "e2e: test_init"))
# A change of the build, or of anything that no test is known to read, selects all.
selects(["CMakeLists.txt"], learner + verifier)
selects(["docs/cli.md", "launch/setup"], learner + verifier)
selects(["a/new/folder.txt"], learner + verifier)


class Clone:
    """A repository with launch/test and stand-ins for all that it starts."""

    def __init__(self, folder):
        self.root, self.tools, self.cache, self.python = (folder / name for name in ("a clone", "tools", "cache", "python"))
        for place in (self.root / "launch", self.root / "build/cpu/Testing/Temporary", self.tools, self.python / "bin"): place.mkdir(parents=True)
        for place in (".ci", "tests"): (self.root / place).mkdir()
        for name in ("launch/test", ".ci/run", "tests/passed_commits", "tests/affected.py"):
            shutil.copy(affected.SOURCE / name, self.root / name)
        for name in ("setup", "build"): self.script(self.root / "launch" / name, "")
        (self.root / "launch/mpi_environment").touch()
        (self.root / ".gitignore").write_text("/build/\n")
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith(("BICRL_", "GIT_"))}
        # Tests that pass, and what somebody does in the meantime.
        self.script(self.tools / "ctest", 'echo "$*" >build/words; touch build/cpu/Testing/Temporary/LastTest.log; eval "${MEANWHILE:-}"')
        self.script(self.python / "bin/python3", "echo chosen")
        self.git("init", "-q")
        self.commit("first")

    def script(self, path, text):
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def git(self, *words):
        named = ("-c", "user.name=test", "-c", "user.email=test@example.com")
        done = subprocess.run(["git", *named, *words], cwd=self.root, env=self.environment, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self, content, name="file"):
        (self.root / name).write_text(content)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", content)
        return self.git("rev-parse", "HEAD")

    def run(self, script, meanwhile=""):
        chosen = {"PATH": f"{self.tools}:{os.environ['PATH']}", "XDG_CACHE_HOME": str(self.cache), "BICRL_VENV": str(self.python),
                  "MEANWHILE": meanwhile}
        done = subprocess.run([self.root / script], capture_output=True, text=True, env={**self.environment, **chosen})
        if done.returncode != 0: failures.append(f"{script} fails: {done.stdout}{done.stderr}")
        return done.stdout

    def tested(self, meanwhile=""):
        """The words that ctest is called with in another call."""
        self.run("launch/test", meanwhile)
        return (self.root / "build/words").read_text().split()

    def record(self, name="tested-cpu"):
        file = self.cache / "bicrl" / name
        return file.read_text().split() if file.exists() else []


with tempfile.TemporaryDirectory(prefix="bicrl_affected_") as temporary:
    clone = Clone(Path(temporary))
    author = "git -c user.name=test -c user.email=test@example.com"
    for meanwhile in ("echo edited >file", f"echo edited >file; {author} commit -qam edited"):
        clone.commit(f"before {meanwhile}")
        known = len(clone.record())
        clone.tested(meanwhile)
        if len(clone.record()) > known: failures.append(f"a commit is recorded that was not tested: {meanwhile}")
    second = clone.commit("second")
    clone.tested()
    third = clone.commit("third")
    words = clone.tested()
    if clone.record() != [second, third]: failures.append(f"recorded are {clone.record()}, and not {[second, third]}")
    if words[-2:] != ["-R", "chosen"]: failures.append(f"not chosen with the Python of BICRL_VENV: {words}")
    # Names and times as ctest writes them, more than are printed.
    cases = "".join(f'<testcase name="e2e: test_{i}" classname="x" time="{i}.5" status="run">\n' for i in range(12))
    (clone.root / "build/cases").write_text(cases)
    printed = clone.run("launch/test", "cp build/cases build/cpu/tests.xml").splitlines()
    slowest = printed.index("slowest tests:") if "slowest tests:" in printed else 0
    if [line.split() for line in printed[slowest + 1 : -1]] != [[f"{i}.5", "s", "e2e:", f"test_{i}"] for i in range(11, 1, -1)]:
        failures.append(f"not the ten slowest tests: {printed}")
    if not printed[-1].startswith("cases: "): failures.append(f"the last line of launch/test is no count: {printed[-1]}")


def checks_only_texts():
    """What .ci/run does with a change: the lines it prints, and whether a bare machine and a build for GPUs were made."""
    clone.script(clone.root / "launch/test", 'echo "cases: 5 passed, 0 failed, 0 skipped"')
    clone.script(clone.root / "tests/bare_machine", "touch build/bare")
    clone.script(clone.root / "launch/build", "touch build/gpu; mkdir -p build/cuda/bin; for p in test_nccl test_policy_gpu; do "
                 "printf '#!/bin/sh\nexit 4\n' >build/cuda/bin/$p; chmod +x build/cuda/bin/$p; done")
    clone.script(clone.python / "bin/python3", f'exec "{sys.executable}" "$@"')
    for name in ("ccache", "clang-format"): clone.script(clone.tools / name, f'echo "{name} $*"')
    (clone.root / "docs").mkdir()
    (clone.root / "bench").mkdir()

    def check(what, makes_all, last):
        made = [clone.root / "build" / name for name in ("bare", "gpu")]
        for file in made: file.unlink(missing_ok=True)
        printed = clone.run(".ci/run").splitlines()
        if [file.exists() for file in made] != [makes_all] * 2: failures.append(f".ci/run after {what}: {printed}")
        if printed[-1] != last or "ccache -z" not in printed or printed[-2] != "ccache -s":
            failures.append(f".ci/run after {what} prints {printed}")

    everything, texts = "7 passed, 0 failed", "5 passed, 0 failed"
    clone.commit("a")
    check("the first commit", True, everything)
    check("no change", True, everything)
    clone.commit("a", "docs/page.txt")
    check("a page", False, texts)
    clone.commit("b", "docs/page.txt")
    clone.commit("c", "bench/update.cpp")
    check("a page and a benchmark", True, everything)
    clone.git("mv", "bench/update.cpp", "docs/update.txt")
    clone.git("commit", "-q", "-m", "a source that becomes a page")
    check("a source that becomes a page", True, everything)
    (clone.root / "docs/page.txt").write_text("not committed")
    check("a page that is not committed", False, texts)
    (clone.root / "new.cpp").write_text("untracked")
    known = clone.record("checked")
    check("an untracked source", True, everything)
    if clone.record("checked") != known: failures.append(f"a commit is recorded as checked with files that it lacks: {clone.record('checked')}")
    clone.git("checkout", "-q", "--orphan", "other")
    (clone.root / "new.cpp").unlink()
    clone.commit("c", "docs/page.txt")
    check("a page on a branch of unknown history", True, everything)


with tempfile.TemporaryDirectory(prefix="bicrl_affected_") as temporary:
    clone = Clone(Path(temporary))
    checks_only_texts()
print("\n".join(failures) or "affected check: all as expected")
sys.exit(bool(failures))
