"""Counts what a PTX text holds, with regular expressions and no grammar: an oracle of the parser.

    count_ptx.py FOLDER        writes FOLDER/NAME.json for every FOLDER/NAME.ptx
"""

import glob
import json
import re
import sys

WORD = re.compile(r"[A-Za-z_$%][\w$]*")


def strip(text):
    """Without comments, strings, line information and sections of debug information."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"^\s*\.loc\s[^\n]*", "", text, flags=re.M)
    text = re.sub(r'"(\\.|[^"\\])*"', '""', text)
    return re.sub(r"\.section\s+\S+\s*\{.*?\}", "", text, flags=re.S)


def bodies(text):
    """(name, is entry, body) of every function that is defined."""
    heading = re.compile(r"\.(func|entry)\s*(?:\([^)]*\)\s*)?([\w$]+)\s*(?:\([^)]*\))?([^;{}]*)([;{])")
    at = 0
    while found := heading.search(text, at):
        at = found.end()
        if found[4] == ";":
            continue
        depth, begin = 1, at
        while depth:
            brace = re.compile(r"[{}]").search(text, at)
            depth += 1 if brace[0] == "{" else -1
            at = brace.end()
        yield found[2], found[1] == "entry", text[begin : at - 1]


def statements(body):
    """Statements, and the braces of scopes: those that do not stand within a statement."""
    start = 0
    for found in re.finditer(r"[;{}:]", body):
        at, sign = found.start(), found[0]
        before = body[start:at].strip()
        if sign == ":":
            if body[at : at + 2] != "::" and body[at - 1] != ":" and re.fullmatch(r"[\w$%]+", before):
                yield "label", before
                start = at + 1
        elif sign == ";":
            if before:
                yield "statement", before
            start = at + 1
        elif before == "":
            yield sign, ""
            start = at + 1


def resolve(name, scopes):
    for scope in reversed(scopes):
        if name in scope["names"]:
            return scope["id"], name
        numbered = re.fullmatch(r"(.*?)(0|[1-9]\d*)", name)
        if numbered and int(numbered[2]) < scope["ranges"].get(numbered[1], 0):
            return scope["id"], name
    return None


def declare(text, scope):
    for item in re.sub(r"^\.reg\s*\.\w+", "", text).split(","):
        item = re.fullmatch(r"([\w$%]+)(?:<(\d+)>)?", item.strip())
        if item[2]:
            scope["ranges"][item[1]] = int(item[2])
        else:
            scope["names"].add(item[1])


def count_body(body):
    scopes, ids = [{"id": 0, "names": set(), "ranges": {}}], 0
    counts = {"instructions": 0, "labels": 0, "opcodes": {}}
    registers = set()
    for kind, text in statements(body):
        if kind == "{":
            ids += 1
            scopes.append({"id": ids, "names": set(), "ranges": {}})
        elif kind == "}":
            scopes.pop()
        elif kind == "label":
            counts["labels"] += 1
        else:
            if text.startswith(".reg"):
                declare(text, scopes[-1])
            elif text and not text.startswith("."):
                counts["instructions"] += 1
                opcode = re.match(r"(?:@!?[\w$%]+\s+)?([a-z]\w*)", text)[1]
                counts["opcodes"][opcode] = counts["opcodes"].get(opcode, 0) + 1
                # Words behind a dot are modifiers.
                words = WORD.findall(re.sub(r"[.:][\w:]+", "", text))
                registers |= {resolve(word, scopes) for word in words} - {None}
    # A list of branch targets or a prototype stands behind a label that is none.
    tables = len(re.findall(r":\s*\.(?:callprototype|branchtargets|calltargets)", body))
    return counts | {"registers": len(registers), "labels": counts["labels"] - tables}


def count(text):
    text = strip(text)
    return {name: {"entry": entry} | count_body(body) for name, entry, body in bodies(text)}


if __name__ == "__main__":
    for path in sorted(glob.glob(sys.argv[1] + "/*.ptx")):
        with open(path) as file:
            counts = count(file.read())
        with open(path[: -len("ptx")] + "json", "w") as file:
            json.dump(counts, file)
