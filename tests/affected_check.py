"""affected.py on this build: what a change selects, and that nothing unknown is left out."""
import os
import sys
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
print("\n".join(failures) or "affected check: all as expected")
sys.exit(bool(failures))
