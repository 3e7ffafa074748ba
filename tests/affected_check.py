"""affected.py on this build: what a change selects, and that nothing unknown is left out; and the commits that launch/test, a copy of
it, records as tested."""
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
        shutil.copy(affected.SOURCE / "launch/test", self.root / "launch/test")
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

    def commit(self, content):
        (self.root / "file").write_text(content)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", content)
        return self.git("rev-parse", "HEAD")

    def tested(self, meanwhile=""):
        """The words that ctest is called with in another call."""
        chosen = {"PATH": f"{self.tools}:{os.environ['PATH']}", "XDG_CACHE_HOME": str(self.cache), "BICRL_VENV": str(self.python),
                  "MEANWHILE": meanwhile}
        done = subprocess.run([self.root / "launch/test"], capture_output=True, text=True, env={**self.environment, **chosen})
        if done.returncode != 0: failures.append(f"launch/test fails: {done.stdout}{done.stderr}")
        return (self.root / "build/words").read_text().split()

    def record(self):
        file = self.cache / "bicrl/tested-cpu"
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
print("\n".join(failures) or "affected check: all as expected")
sys.exit(bool(failures))
