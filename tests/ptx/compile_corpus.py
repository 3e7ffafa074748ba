"""Compiles CUDA texts to PTX with the NVRTC of the torch wheel:

    compile_corpus.py OUT own SOURCES_FOLDER         our sources, for several architectures and options
    compile_corpus.py OUT published TASKS.json       the published programs, whose device text is cut out crudely

Writes OUT/NAME.ptx. Exit code 77: no NVRTC here. A published program that NVRTC refuses is counted, not a failure.
"""

import ctypes
import glob
import json
import os
import re
import sys

OPTIONS = {
    "": [],
    "fast": ["--use_fast_math"],
    "lines": ["-lineinfo"],
    "debug": ["-G"],
}
ARCHITECTURES = ("75", "80", "90a")
ARCHITECTURE_OF_OPTIONS = "90a"


def skip(reason):
    print(reason)
    sys.exit(77)


def find_nvrtc():
    """The library and the folders of headers."""
    for folder in sys.path:
        wheel = os.path.join(folder, "nvidia", "cu13")
        found = sorted(glob.glob(os.path.join(wheel, "lib", "libnvrtc.so.1*")))
        if found:
            break
    else:
        skip("no NVRTC 13 in the Python packages")
    toolkit = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    folders = [os.path.join(wheel, "include")]
    folders += [os.path.join(root, part) for root in (folders[0], toolkit + "/include") for part in ("cccl", "")]
    # Asked for by its name, in whatever folder it lies.
    for tables in glob.glob(os.path.join(wheel, "lib", "libnvrtc-builtins.so.1*")):
        ctypes.CDLL(tables)
    return ctypes.CDLL(found[0]), [f for f in dict.fromkeys(folders) if os.path.isdir(f)]


class Compiler:
    def __init__(self):
        self.nvrtc, folders = find_nvrtc()
        self.common = ["-std=c++17", "-default-device"] + ["-I" + folder for folder in folders]

    def log(self, program):
        size = ctypes.c_size_t()
        self.nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        text = ctypes.create_string_buffer(size.value)
        self.nvrtc.nvrtcGetProgramLog(program, text)
        return text.value.decode(errors="replace")

    def compile(self, name, text, architecture, options, expressions=()):
        """(PTX, "") or (None, log)."""
        program = ctypes.c_void_p()
        self.nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), (name + ".cu").encode(), 0, None, None)
        for expression in expressions:
            self.nvrtc.nvrtcAddNameExpression(program, expression.encode())
        every = [o.encode() for o in self.common + ["-arch=compute_" + architecture] + options]
        failed = self.nvrtc.nvrtcCompileProgram(program, len(every), (ctypes.c_char_p * len(every))(*every))
        try:
            if failed:
                return None, self.log(program)
            size = ctypes.c_size_t()
            self.nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size))
            ptx = ctypes.create_string_buffer(size.value)
            self.nvrtc.nvrtcGetPTX(program, ptx)
            return ptx.value.decode(), ""
        finally:
            self.nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def write(folder, name, ptx):
    with open(os.path.join(folder, name + ".ptx"), "w") as file:
        file.write(ptx)


def compile_own(compiler, out, sources):
    for path in sorted(glob.glob(os.path.join(sources, "*.cu"))):
        name = os.path.splitext(os.path.basename(path))[0]
        text = open(path).read()
        for architecture in ARCHITECTURES:
            for label, options in OPTIONS.items():
                if label and architecture != ARCHITECTURE_OF_OPTIONS:
                    continue
                ptx, log = compiler.compile(name, text, architecture, options)
                if ptx is None:
                    if "could not open source file" in log:
                        print(f"{name}: headers are missing: {log.splitlines()[0]}")
                        break
                    sys.exit(f"{name} for compute_{architecture} {options}: {log}")
                write(out, "_".join(filter(None, (name, architecture, label))), ptx)


def device_text(program):
    """(text, name expressions): the items of a published program's CUDA text that do not speak of torch."""
    blocks = re.findall(r'r?"""(.*?)"""|r?\'\'\'(.*?)\'\'\'', program, re.S)
    text = max((a or b for a, b in blocks if "__global__" in (a or b)), key=len, default="")
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)
    lines = [l for l in text.split("\n") if not re.match(r"\s*#\s*include\s*<(torch|ATen|c10|vector|pybind|iostream|cmath|cuda\.h|math|algorithm|limits|cfloat|stdio|float)", l)]
    kept, item, depth, host = [], "", 0, ""
    for line in lines:
        if depth == 0 and not item.strip() and line.lstrip().startswith("#"):
            kept.append(line)
            continue
        item += line + "\n"
        depth += line.count("{") - line.count("}")
        if depth == 0 and re.search(r"[;}]\s*$", line):
            if re.search(r"torch::|at::|<<<|PYBIND11|c10::", item):
                host += item
            else:
                kept.append(item)
            item = ""
    expressions = {m.replace("scalar_t", "float") for m in re.findall(r"(\w+<[^<>;]*>)\s*<<<", host)}
    constants = "#define FLT_MAX 3.402823466e+38f\n#define M_PI 3.14159265358979323846\n#define M_SQRT1_2 0.70710678118654752440\n#define FLT_EPSILON 1.192092896e-7f\n#define INFINITY __int_as_float(0x7f800000)\n#define NAN __int_as_float(0x7fffffff)\n#define FLT_MIN 1.175494351e-38f\n#define INT_MAX 2147483647\n#define INT_MIN (-INT_MAX-1)\ntypedef long long int64_t;\ntypedef int int32_t;\ntypedef unsigned char uint8_t;\n"
    return constants + "\n".join(kept), sorted(expressions)


def compile_published(compiler, out, tasks):
    with open(tasks) as file:
        programs = json.load(file)
    refused = []
    for program in programs:
        text, expressions = device_text(program["cuda_code"])
        for architecture in ("75", "90"):
            ptx, log = compiler.compile("p", text, architecture, [], expressions)
            if ptx is None:
                refused.append(f"{program['id']}: {log.splitlines()[0] if log else ''}")
                break
            write(out, f"published_{program['id']}_{architecture}", ptx)
    print(f"{len(programs) - len(refused)} of {len(programs)} compile")
    print("\n".join(refused))


if __name__ == "__main__":
    out, kind, path = sys.argv[1:4]
    os.makedirs(out, exist_ok=True)
    (compile_own if kind == "own" else compile_published)(Compiler(), out, path)
