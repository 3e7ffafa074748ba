#!/usr/bin/env python3
"""Checks limits of the repository that no compiler sees: sizes of folders, names, lines and links of documents.

    tests/house_check.py             exit code 1 if a limit is broken
    tests/house_check.py --update    lower the numbers in tests/house_exceptions.txt to what is left

Standard library only; reads what git tracks.
"""
import collections
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXCEPTIONS = ROOT / "tests" / "house_exceptions.txt"

SKIPPED = 77
FOLDER_LIMIT = 30
README_LIMIT = 120
LINE_LIMIT = 160
SOURCE = (".cpp", ".h", ".cu", ".cuh", ".py", ".proto")
# Programs that the verifier grades: data of tests, however many.
CORPORA = ("tests/hacks", "tests/honest", "tests/sandbox/candidates", "tests/device/programs", "tests/data")
# Headers that stand for the vendor's have the vendor's names.
VENDOR_NAMES = re.compile(r"^sandbox/runtimes/(.*/)?include/")

# The left column of the project's table of words, as far as it can be found in names, in snake case.
WORDS = {
    "told": r"told|tells", "strand": r"strands?", "forge": r"forge[sd]?", "seat": r"seats?", "unshown": r"unshown",
    "turns_by_key": r"turns_by_key", "step_share": r"(step|group|experience)_share", "alu_twin": r"alu_twin",
    "cadence": r"cadence", "dear": r"dear", "passed_by_nothing": r"passed_by_nothing", "middles": r"middles",
    "meeting": r"meetings?", "device_turn": r"device_turns?", "draw_files": r"draw_files?|oracle_draws",
    "known_middle": r"(known|structured)_middles?", "ptx_machine": r"ptx_machine", "designated": r"designated",
    "task_fault": r"task_faults?|((task|tasks)_)?at_fault", "as_it_is": r"as_it_is",
    "draw": r"draws?|drawn|drawer", "way": r"(?<!under_)(?<!its_)ways?", "shown": r"shown", "machine": r"machines?(?!_code)",
    "right": r"(is|are|expect)_right|right_(by|without|programs?)", "wrong": r"wrong(?!_(value|shape))",
    "arms": r"arms|(by|one)_arm|rivals?", "plain_shadows": r"(plain|dear)_shadows?", "nobody_wrote": r"nobody_wrote",
}
# The same in titles of tests, which are sentences.
TITLE_WORDS = {
    "told": r"told(?!_apart)|tells(?!_.*apart)", "draw": WORDS["draw"], "way": r"(new|unshown)_ways?", "machine": WORDS["machine"],
    "right": r"(is|are|it|everything)_right|right_programs?", "wrong": r"(is|are|does|everything)_wrong|wrong_programs?",
    "task_fault": r"tasks?_.*at_fault|task_faults?", "dear": r"dear", "strand": r"strands?", "seat": r"seats?",
    "nobody_wrote": r"nobody_wrote", "arms": WORDS["arms"],
}
# Where alone a word of the table has the meaning that another one has taken: a test input is no draw, a sample is.
PLACES = {
    "draw": ("sandbox/", "tests/sandbox/", "verdict/"), "shown": ("tasks/", "trainer/evaluation/"),
    "machine": ("sandbox/interpreter/", "tests/ptx/", "tests/races/", "tests/executor/", "tests/policy_gpu/"),
}


def tracked():
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listing = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"skipped: git lists no files here ({error})")
        sys.exit(SKIPPED)
    return [path for path in listing.split("\0") if path and (ROOT / path).is_file()]


def read(path):
    return (ROOT / path).read_text(encoding="utf-8", errors="replace")


# ---- Measures: each yields (key, number, limit, explanation). A number above its limit is a finding.

def folder_sizes(paths):
    sizes = collections.Counter(str(Path(path).parent) for path in paths
                                if path.endswith(SOURCE) and not path.startswith(CORPORA) and not VENDOR_NAMES.match(path))
    for folder, size in sorted(sizes.items()):
        limit = 40 if folder.startswith("sandbox/interpreter/ptx/") else FOLDER_LIMIT
        yield f"folder {folder}", size, limit, f"{size} source files; at most {limit}"


def file_names(paths):
    places = collections.defaultdict(list)
    for path in paths:
        name = Path(path).name
        if path.endswith(SOURCE) and not path.startswith(CORPORA) and not VENDOR_NAMES.match(path) and name != "__init__.py":
            places[name].append(path)
    for name, found in sorted(places.items()):
        yield f"name {name}", len(found), 1, "several files of one name: " + ", ".join(found)


COMMENTS_AND_TEXTS = re.compile(
    r'R"(\w*)\(.*?\)\1"|"""(?:.|\n)*?"""|//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def names_in(path):
    """File name and identifiers, in snake case."""
    text = COMMENTS_AND_TEXTS.sub(" ", read(path))
    if path.endswith(".py"):
        text = re.sub(r"#[^\n]*", " ", text)
    names = set(re.findall(r"[A-Za-z_]\w*", text))
    names.add(Path(path).stem)
    return {re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower() for name in names}


def titles_in(path):
    """Titles of test cases, in snake case."""
    titles = re.findall(r'TEST_CASE\(\s*((?:"(?:\\.|[^"\\])*"\s*)+)', read(path))
    return [re.sub(r"\W+", "_", re.sub(r'"\s*"', "", title)).lower() for title in titles]


def words(paths):
    files, titles = collections.defaultdict(list), collections.defaultdict(list)
    patterns, title_patterns = ({word: re.compile(rf"(?:^|_)(?:{pattern})(?:_|$)") for word, pattern in patterns.items()}
                                for patterns in (WORDS, TITLE_WORDS))
    for path in paths:
        if not path.endswith(SOURCE) or path.startswith(CORPORA) or path == "tests/house_check.py":
            continue
        names, path_titles = names_in(path), titles_in(path)
        for word, pattern in patterns.items():
            if path.startswith(PLACES.get(word, "")) and any(pattern.search(name) for name in names):
                files[word].append(path)
        for word, pattern in title_patterns.items():
            if path.startswith(PLACES.get(word, "")):
                titles[word] += [f"{path}: {title}" for title in path_titles if pattern.search(title)]
    for word in WORDS:
        yield f"word {word}", len(files[word]), 0, "in names of " + ", ".join(files[word][:8])
    for word in TITLE_WORDS:
        yield f"title {word}", len(titles[word]), 0, "in titles of tests: " + ", ".join(titles[word][:8])


def documents(paths):
    return [path for path in paths if path.endswith(".md")]


def document_lines(paths):
    for path in documents(paths):
        lines = read(path).splitlines()
        long = [number for number, line in enumerate(lines, 1) if len(line) > LINE_LIMIT and not line.lstrip().startswith("|")]
        yield f"lines {path}", len(long), 0, f"lines above {LINE_LIMIT} characters: {', '.join(map(str, long[:10]))}"
    readme = read("README.md").splitlines()
    yield "readme README.md", len(readme), README_LIMIT - 1, f"README.md has {len(readme)} lines; under {README_LIMIT}"


def anchors(path):
    """The names that GitHub gives to a page's headings."""
    text = re.sub(r"^```.*?^```", "", read(path), flags=re.S | re.M)
    found = collections.Counter()
    result = set(re.findall(r'<a (?:id|name)="([^"]+)"', text))
    for heading in re.findall(r"^#{1,6}\s+(.*?)\s*#*$", text, flags=re.M):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        result.add(slug if not found[slug] else f"{slug}-{found[slug]}")
        found[slug] += 1
    return result


def broken_links(paths):
    known = set(paths)
    pages = {path: anchors(path) for path in documents(paths)}
    for path in documents(paths):
        text = re.sub(r"^```.*?^```|`[^`\n]*`", "", read(path), flags=re.S | re.M)
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            if re.match(r"[a-z]+:", target):
                continue
            file, _, anchor = target.partition("#")
            page = str((Path(path).parent / file).as_posix()) if file else path
            page = str(Path(*collapse(Path(page).parts))) if page else path
            if page not in known and not (ROOT / page).is_dir():
                yield f"{path}: no file {target}"
            elif anchor and page in pages and anchor not in pages[page]:
                yield f"{path}: no heading for {target}"
    for path in paths:  # pages that sources, configurations and scripts name
        if path.endswith((".md", "house_exceptions.txt")) or path.startswith(CORPORA):
            continue
        for page in re.findall(r"(?<![\w/])((?:docs|bench)/[\w/-]+\.md)", read(path)):
            if page not in known:
                yield f"{path}: no page {page}"


def collapse(parts):
    result = []
    for part in parts:
        if part == "..":
            result.pop()
        elif part != ".":
            result.append(part)
    return result


# ---- Exceptions: what was above a limit when the check was made, as "NUMBER KEY". Numbers only fall.

def exceptions():
    lines = [line for line in EXCEPTIONS.read_text().splitlines() if line and not line.startswith("#")]
    return {key: int(number) for number, key in (line.split(" ", 1) for line in lines)}


def write_exceptions(numbers):
    comments = [line for line in EXCEPTIONS.read_text().splitlines() if line.startswith("#")]
    lines = [f"{number} {key}" for key, number in sorted(numbers.items())]
    EXCEPTIONS.write_text("\n".join(comments + lines) + "\n")


def main():
    paths = tracked()
    allowed, left, findings = exceptions(), {}, []
    for measure in (folder_sizes, file_names, words, document_lines):
        for key, number, limit, explanation in measure(paths):
            if number <= limit:
                continue
            left[key] = number
            if number > allowed.get(key, limit):
                findings.append(f"{key}: {explanation}" + (f"; {EXCEPTIONS.name} allows {allowed[key]}" if key in allowed else ""))
    if "--update" in sys.argv:
        write_exceptions({key: min(number, left[key]) for key, number in allowed.items() if key in left})
        allowed = exceptions()
    for key, number in allowed.items():
        if left.get(key, 0) < number:
            findings.append(f"{EXCEPTIONS.relative_to(ROOT)}: {key} is down to {left.get(key, 'its limit')}: run tests/house_check.py --update")
    findings += broken_links(paths)
    for finding in findings:
        print(finding)
    print(f"house check: {len(findings)} findings, {len(allowed)} exceptions left")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
