"""launch/setup, launch/build and launch/fuzz: run as copies, with a package index, a CMake and targets of this test's own."""
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from support import SKIPPED, SOURCE, expect


def wheel(folder, name, module):
    """A wheel of one module, as pip takes it."""
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as file:
        file.writestr(f"{module}.py", "right = True\n")
        file.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{info}/RECORD", f"{module}.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")


class Clone:
    """A folder with the scripts, whose requirements are this test's own wheels."""

    def __init__(self, folder):
        self.root = folder / "a clone"
        self.venv = self.root / ".venv"
        (self.root / "launch").mkdir(parents=True)
        (self.root / "tests").mkdir()
        (self.root / "curation").mkdir()
        for script in ("setup", "build", "fuzz"):
            shutil.copy(SOURCE / "launch" / script, self.root / "launch" / script)
        (self.root / "launch/requirements.txt").write_text("torch==1.0\n")
        (self.root / "tests/requirements.txt").write_text("other==1.0\n")
        (self.root / "curation/requirements.txt").write_text("columns==1.0\n")
        index = folder / "index"
        index.mkdir()
        wheel(index, "torch", "torch")
        wheel(index, "other", "other")
        wheel(index, "columns", "columns")
        self.tools = folder / "tools"
        self.tools.mkdir()
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith(("BICRL_", "PIP_"))}
        self.environment.update(PIP_NO_INDEX="1", PIP_FIND_LINKS=str(index), PATH=f"{self.tools}:{os.environ['PATH']}")

    def run(self, script, *words, **more_environment):
        """(exit code, what it said)"""
        done = subprocess.run([self.root / "launch" / script, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env={**self.environment, **more_environment}, stdin=subprocess.DEVNULL, timeout=300)
        return done.returncode, done.stdout

    def package(self, pattern):
        (found,) = self.venv.glob(f"lib/python3*/site-packages/{pattern}")
        return found

    def expect_whole(self, what, *words):
        """launch/setup succeeds, what it installs is right, and the next call has nothing to do."""
        code, said = self.run("setup", *words)
        expect(code == 0, f"{what}: launch/setup succeeds", said)
        works = subprocess.run([self.venv / "bin/python3", "-c", "import torch; assert torch.right"], capture_output=True, text=True)
        expect(works.returncode == 0, f"{what}: the environment works", works.stderr, said)
        expect(self.run("setup", *words) == (0, ""), f"{what}: the next call has nothing to do")
        return said


def setup_mends(clone):
    code, said = clone.run("setup")
    if code == 3 and ("packages are missing" in said or "no apt" in said or "sandbox" in said):
        print(f"skipped: {said}")
        sys.exit(SKIPPED)
    clone.expect_whole("fresh")
    expect("installing other==1.0" in clone.expect_whole("tests as well", "--with-tests"), "says what it adds")
    clone.package("other.py")
    clone.expect_whole("tests and tables", "--with-tests", "--with-tables")
    clone.package("columns.py")

    # Killed while pip wrote a package: it has the metadata, but not all of its files.
    (clone.venv / ".installed-launch").unlink()
    clone.package("torch.py").unlink()
    (clone.package("torch-1.0.dist-info") / "INSTALLER").unlink()
    clone.expect_whole("killed within a package")

    # Killed while the environment was made, and one of a Python that is no more.
    shutil.rmtree(clone.package("pip"))
    clone.expect_whole("half-made")
    (library,) = clone.venv.glob("lib/python3*")
    library.rename(library.with_name("python3.1"))
    clone.expect_whole("another Python")

    # What is not ours is not removed, whatever is wrong with it.
    foreign = clone.root / "foreign"
    foreign.mkdir()
    (foreign / "thesis").write_text("years of work")
    code, said = clone.run("setup", BICRL_VENV=str(foreign))
    expect(code == 3 and "BICRL_VENV" in said and (foreign / "thesis").exists(), "a folder of others is left alone", said)

    # Nothing to be had, and no room.
    code, said = clone.run("setup", BICRL_VENV=str(clone.root / "second"), PIP_FIND_LINKS="")
    expect(code == 3 and "pip could not install" in said, "an index without the package", said)
    (clone.tools / "df").write_text("#!/bin/sh\necho Filesystem 1024-blocks Used Available Capacity Mounted\necho disk 9 9 2000000 9% /\n")
    (clone.tools / "df").chmod(0o755)
    code, said = clone.run("setup", BICRL_VENV=str(clone.root / "third"))
    expect(code == 3 and "too little disk" in said and "2 GB are free" in said, "too little disk", said)
    for words in (["--all"], ["--with-tests", "--with-table"]):
        expect(clone.run("setup", *words)[0] == 2, f"{words}: an unknown word is refused")


# Stands in for CMake: takes notes, keeps the options as a cache does, and fails if the cache says so.
CMAKE = """#!/bin/sh
echo "$*" >>"$NOTES"
[ "$1" = --preset ] || exit 0
folder=build/$2
grep -qs stale "$folder/CMakeCache.txt" && { echo "the cache is stale"; exit 1; }
[ -z "$BROKEN" ] || { echo "CMake Error: this and that"; exit 1; }
for word; do case $word in -DBICRL_TESTS=ON) echo BICRL_TESTS:BOOL=ON >>"$folder/CMakeCache.txt" ;; esac; done
touch "$folder/CMakeCache.txt" "$folder/build.ninja"
"""


def build_configures(clone):
    notes = clone.root / "notes"
    cache = clone.root / "build/cpu/CMakeCache.txt"
    (clone.tools / "cmake").write_text(CMAKE)
    (clone.tools / "cmake").chmod(0o755)

    def configured(*words, **more_environment):
        """How launch/build called CMake to configure, in order."""
        notes.write_text("")
        code, said = clone.run("build", *words, NOTES=str(notes), **more_environment)
        return code, [line for line in notes.read_text().splitlines() if line.startswith("--preset")], said

    code, calls, said = configured()
    expect(code == 0 and len(calls) == 1 and "TESTS" not in calls[0], "the program is configured without tests", calls, said)
    expect(configured()[1] == [], "once")
    code, calls, said = configured("test_common")
    expect(len(calls) == 1 and "-DBICRL_TESTS=ON" in calls[0], "a test asks for tests, in the same folder", calls, said)
    expect(configured("all")[1] == [] and configured()[1] == [], "and all that comes after finds them", calls)

    cache.write_text("stale\n")
    (cache.parent / "build.ninja").unlink()
    code, calls, said = configured("all")
    expect(code == 0 and len(calls) == 2 and "stale" not in said, "what fails with a cache is tried without", calls, said)
    cache.write_text("stale\n")
    moved = clone.root.rename(clone.root.with_name("moved"))
    clone.root, notes, cache = moved, moved / "notes", moved / "build/cpu/CMakeCache.txt"
    code, calls, said = configured()
    expect(code == 0 and len(calls) == 1, "a clone that was moved is configured from nothing", calls, said)
    code, calls, said = configured(BICRL_PRESET="cuda", BROKEN="1")
    expect(code == 1 and "CMake Error: this and that" in said, "an error is shown", calls, said)
    code, calls, said = configured(BICRL_PRESET="cuda")
    expect(code == 0 and len(calls) == 1 and "--preset cuda" in calls[0], "and forgotten", calls, said)


def fuzz_goes_on(clone):
    """A target that crashes before it reports anything is a finding, and the next one has its turn."""
    for tool in ("cmake", "clang++"):
        (clone.tools / tool).write_text("#!/bin/sh\n")
        (clone.tools / tool).chmod(0o755)
    programs = clone.root / "build/fuzz/bin"
    programs.mkdir(parents=True)
    (clone.root / "build/fuzz/build.ninja").touch()
    (clone.root / "tests/fuzz").mkdir()
    for name, script in (("crashing", "echo no room >&2; exit 77"), ("sound", "echo '#9 DONE cov: 5 ft: 7 corp: 3/9b'")):
        (clone.root / f"tests/fuzz/target_{name}.cpp").touch()
        (programs / f"fuzz_{name}").write_text(f"#!/bin/sh\n{script}\n")
        (programs / f"fuzz_{name}").chmod(0o755)
    code, said = clone.run("fuzz", "1")
    rows = [line.split() for line in said.splitlines()[1:]]
    expect(code == 1 and [row[0] for row in rows] == ["crashing", "sound"], "a line of each target", code, said)
    expect("FINDING," in rows[0] and rows[1][1:] == ["5", "7", "3/9b", "clean"], "with what became of it", said)
    expect(clone.run("fuzz", "1", "sound")[0] == 0, "one that is named")
    code, said = clone.run("fuzz", "1", "sound", "crushing")
    expect(code == 2 and "no target 'crushing'" in said and "clean" not in said, "a misspelt one is refused", code, said)


with tempfile.TemporaryDirectory(prefix="bicrl_e2e_") as temporary:
    clone = Clone(Path(temporary))
    setup_mends(clone)
    build_configures(clone)
    fuzz_goes_on(clone)
