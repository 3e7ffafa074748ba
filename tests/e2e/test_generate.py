"""Generation to a file: interrupted, killed in the middle of a line and resumed, it ends as if nothing had been; its responses depend on
their own prompts alone; what it refuses; its bar; plain prompts and conversations."""
import json
import shutil
import signal
import subprocess
import time
from pathlib import Path

from support import BINARY, ENVIRONMENT, QUICKSTART_POLICY, SOURCE, bicrl, expect, folder, on_terminal, read_lines

PROMPTS = 24
SAMPLES = 3


def command(config, *words):
    return [BINARY, "generate", config, *words]


def write_prompts(path, prompts):
    Path(path).write_text("".join(json.dumps(p, ensure_ascii=False) + "\n" for p in prompts))


def some_prompts(count):
    return [{"id": f"p{i}", "prompt": "import torch\n" * (1 + i % 3) + f"# {i}: größer\n" + "x = x + 1\n" * (i % 7)} for i in range(count)]


def same_but_for_rounding(lines, expected):
    """Forwards of other sizes may round otherwise: log-probabilities in their last digits, and hardly ever a draw at a border."""
    expect(len(lines) == len(expected), "as many responses", len(lines))
    different = 0
    for line, other in zip(lines, expected):
        expect(line.keys() == other.keys() and (line["id"], line["sample"]) == (other["id"], other["sample"]), "the same response", line, other)
        if line["tokens"] == other["tokens"]:
            expect(all(abs(p - q) < 1e-4 for p, q in zip(line["log_probs"], other["log_probs"])), "equal log-probabilities", line, other)
            expect({**line, "log_probs": 0} == {**other, "log_probs": 0}, "all else is equal", line, other)
        else:
            different += 1
    expect(different <= 2, "the same tokens", different)


def interrupted(config, output, lines, how, *words):
    """Starts the generation and sends the signal once so many lines more are there; (exit code, output of the program). The machine
    may be so fast that it ends before."""
    file = Path(output)
    before = file.read_bytes().count(b"\n") if file.exists() else 0
    process = subprocess.Popen(command(config, f"output={output}", *words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               cwd=SOURCE, env=ENVIRONMENT)
    deadline = time.monotonic() + 300
    while process.poll() is None and not (file.exists() and file.read_bytes().count(b"\n") >= before + lines):
        expect(time.monotonic() < deadline, "responses are written while others are generated", process.poll())
        time.sleep(0.001)
    process.send_signal(how)
    shown = process.communicate(timeout=300)[0]
    return process.returncode, shown


with folder() as temporary:
    prompts, config = f"{temporary}/prompts.jsonl", f"{temporary}/generate.yaml"
    write_prompts(prompts, some_prompts(PROMPTS))
    Path(config).write_text(
        "policy: {config: tests/data/small_policy.json, tokenizer: configs/quickstart}\n"
        f"prompts: {prompts}\nsamples_per_task: {SAMPLES}\n"
        "rollout: {max_new_tokens: 32, temperature: 1.0, threshold: 0.9, max_active: 1}\n")

    def generate(name, *words):
        output = f"{temporary}/{name}.jsonl"
        code, out, err = bicrl("generate", config, f"output={output}", *words)
        expect(code == 0, f"{name}: ends well", out, err)
        expect(out == "", f"{name}: nothing but the log, which goes to standard error", out)
        return Path(output)

    whole = generate("whole")
    expected = whole.read_bytes()
    lines = read_lines(whole)
    expect([(line["id"], line["sample"]) for line in lines] == [(f"p{i}", s) for i in range(PROMPTS) for s in range(SAMPLES)],
           "a line for each response, in order", lines[:5])
    for line in lines:
        generated = len(line["tokens"]) - line["prompt_tokens"]
        expect(generated >= 32 or line["finish"] == "end_token", "as many tokens as asked for", line)
        expect(len(line["step_map"]) == len(line["log_probs"]) == generated, "traces of each token", line)
        expect(all(p <= 0 for p in line["log_probs"]) and "program" not in line, "log-probabilities, and no program", line)
    expect(len({line["text"] for line in lines}) > len(lines) // 2, "samples of a prompt differ")

    # A device stays one: in a file system of its own, as what is replaced there would be gone.
    scratch = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--bind", temporary, temporary]
    if shutil.which("bwrap"):
        for device, ends_well in (("null", True), ("full", False)):
            words = [*scratch, "sh", "-c", f'"$@" output=/dev/{device} limit=1; code=$?; stat -c %F /dev/{device}; exit $code', "sh",
                     *command(config)]
            done = subprocess.run(words, cwd=SOURCE, env=ENVIRONMENT, capture_output=True, text=True)
            expect((done.returncode == 0) == ends_well and "character special file" in done.stdout, f"to /dev/{device}", done)
            expect(ends_well or "No space left on device" in done.stderr, "says why", done)

    # Interrupted and killed again and again, each time a little further on. One response at a time has equal bits.
    ends = {}
    for how, code_of_it in ((signal.SIGINT, 130), (signal.SIGTERM, 130), (signal.SIGKILL, -9)):
        output = f"{temporary}/{how.name}.jsonl"
        ends[how] = 0
        for lines_more in (1, 10, 20):
            code, shown = interrupted(config, output, lines_more, how)
            expect(code in (code_of_it, 0), f"{how.name}: exit code", code, shown)
            ends[how] += code == code_of_it
            if code == 130:
                expect("the same command goes on" in shown, f"{how.name}: it says how to go on", shown)
                names = [(line["id"], line["sample"]) for line in read_lines(output)]  # the file can be read
                expect(len(set(names)) == len(names), "each response once", names)
            if code == code_of_it and how == signal.SIGKILL:
                with open(output, "ab") as file:  # as if killed within the next line
                    file.write(expected.splitlines()[-1][:700])
        expect(ends[how] > 0, f"{how.name} interrupts the work at least once")
        code, out, err = bicrl("generate", config, f"output={output}")
        expect(code == 0, f"{how.name}: the same command goes on to the end", out, err)
        expect(Path(output).read_bytes() == expected, f"{how.name}: as if nothing had been", output)

    # Many at a time end in another order, and are the same up to rounding.
    many = f"{temporary}/many.jsonl"
    interrupted(config, many, 5, signal.SIGTERM, "rollout.max_active=16")
    code, out, err = bicrl("generate", config, f"output={many}", "rollout.max_active=8")
    expect(code == 0, "many at a time", out, err)
    same_but_for_rounding(read_lines(many), lines)
    code, out, err = bicrl("generate", config, f"output={whole}")
    expect(code == 0 and f"has {len(lines)} of {len(lines)}" in err and whole.read_bytes() == expected, "nothing is left to do", err)

    # Responses depend on their own prompts alone: not on others, the order of the file, its form, or how many are in work.
    by_name = {(line["id"], line["sample"]): line for line in lines}
    some = [p for i, p in enumerate(some_prompts(PROMPTS)) if i % 5 == 4][::-1]
    Path(f"{temporary}/some.json").write_text(json.dumps(some))
    part = read_lines(generate("part", f"prompts={temporary}/some.json", "samples_per_task=2", "rollout.max_active=3"))
    same_but_for_rounding(part, [by_name[p["id"], s] for p in some for s in range(2)])

    # More samples and more prompts join those that are there.
    grown = generate("grown", "samples_per_task=1", "limit=10")
    expect(grown.read_bytes().count(b"\n") == 10, "a limit")
    same_but_for_rounding(read_lines(generate("grown", "threads=2", "rollout.max_active=32")), lines)

    # Made otherwise: refused, with the reason, and untouched.
    def refused(text, *words, code_of_it=2):
        code, out, err = bicrl("generate", config, f"output={whole}", *words)
        expect(code == code_of_it and text in err, f"refused: {text}", code, out, err)
        expect(whole.read_bytes() == expected, "the file is as it was")

    refused("seed: 1 -> 2", "seed=2")
    refused("rollout.temperature: 1 -> 0.5", "rollout.temperature=0.5")
    other_shape = json.loads(Path(SOURCE, "tests/data/small_policy.json").read_text())
    Path(f"{temporary}/policy.json").write_text(json.dumps({**other_shape, "rope_theta": 20000}))
    refused("inputs.policy:", f"policy.config={temporary}/policy.json")
    write_prompts(f"{temporary}/changed.jsonl", [*some_prompts(PROMPTS)[:-1], {"id": f"p{PROMPTS - 1}", "prompt": "another"}])
    refused("inputs.prompts:", f"prompts={temporary}/changed.jsonl")
    refused("which is not asked for", "samples_per_task=2")
    Path(f"{temporary}/foreign.jsonl").write_text("{}\n")
    refused("no foreign.jsonl.origin.yaml", f"output={temporary}/foreign.jsonl")
    refused("is no folder", f"output={temporary}/none/out.jsonl")
    # A key of the file that a word of the command line makes idle is dropped, and said to be.
    idle = "rollout.threshold: has no effect with 'strategy: random', and is left out"
    refused(idle, f"output={temporary}/none/out.jsonl", "rollout.strategy=random")
    code, out, err = bicrl("generate", config, f"output={whole}", "rollout.strategy=random", "--dry-run")
    expect(code == 0 and any(line.startswith("# ") and line.endswith(idle) for line in out.splitlines()), "a dry run says so", code, out, err)
    # Settings and prompts that cannot be.
    refused("name either `tasks`", "tasks=tests/data/end_to_end_tasks.json", "prompts=configs/generate_prompts.yaml")
    refused("name either `tasks`", "prompts=")
    refused("stage: has no effect with `prompts`", "stage=infilling")
    refused("has no effect at temperature 0", "rollout.temperature=0")
    write_prompts(f"{temporary}/empty.jsonl", [{"prompt": "a"}, {"prompt": ""}])
    refused("empty.jsonl: entry 2: prompt: is empty", f"prompts={temporary}/empty.jsonl")
    write_prompts(f"{temporary}/chat.jsonl", [{"messages": [{"role": "user", "content": "Hello"}]}])
    refused("the tokenizer has no <|im_start|>", f"prompts={temporary}/chat.jsonl")
    refused("no token of the tokenizer", "policy.end_tokens=['<|im_end|>']")
    write_prompts(f"{temporary}/long.jsonl", [{"prompt": "#" * 5000}])
    refused("1 of 1 prompts are left out", f"prompts={temporary}/long.jsonl")
    code, out, err = bicrl("generate", config, f"prompts={temporary}/long.jsonl", f"output={temporary}/none_out.jsonl", "least_prompts=0")
    expect(code == 0 and Path(f"{temporary}/none_out.jsonl").read_text() == "", "no prompt that fits, where that is allowed", code, err)
    write_prompts(f"{temporary}/long.jsonl", [{"id": "long", "prompt": "#" * 5000}, {"prompt": "a"}])
    code, out, err = bicrl("generate", config, f"prompts={temporary}/long.jsonl", f"output={temporary}/long_out.jsonl")
    expect(code == 0 and "1 of 2 prompts are left out" in err and "that of long has" in err, "a prompt that does not fit", err)
    expect({line["id"] for line in read_lines(f"{temporary}/long_out.jsonl")} == {"2"}, "the others are answered")

    # A bar on a terminal, and only there. The small policy may have answered before it is drawn.
    slow = [QUICKSTART_POLICY, "limit=8", "rollout.max_active=8"]
    code, shown = on_terminal(*command(config, f"output={temporary}/bar.jsonl", *slow))
    expect(code == 0 and "generating  [" in shown and "tokens/s" in shown and "ETA" in shown and "/24 responses" in shown, "a bar", shown)
    code, out, err = bicrl("generate", config, f"output={temporary}/no_bar.jsonl", *slow)
    expect("generating  [" not in out + err and "tokens/s" in err, "no bar in a pipe", out, err)
    expect(Path(f"{temporary}/bar.jsonl").read_bytes() == Path(f"{temporary}/no_bar.jsonl").read_bytes(), "the same responses")

    # Conversations, of a policy whose tokenizer has turns.
    chat = Path(f"{temporary}/chat.yaml")
    chat.write_text("policy: {config: tests/data/tokenizer/config.json, tokenizer: tests/data/tokenizer}\n"
                    f"prompts: {temporary}/chat.jsonl\nrollout: {{max_new_tokens: 8}}\n")
    write_prompts(f"{temporary}/chat.jsonl",
                  [{"messages": [{"role": "user", "content": "Hello"}]}, {"prompt": "<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n"}])
    code, out, err = bicrl("generate", chat, f"output={temporary}/chat_out.jsonl")
    expect(code == 0 and "do not stop at <|im_end|>" in err, "a policy that does not end its turns is told", err)
    asked = [line["tokens"][:line["prompt_tokens"]] for line in read_lines(f"{temporary}/chat_out.jsonl")]
    expect(asked[0] == asked[1] and len(asked) == 2, "a conversation is the text of its turns", asked)
    code, out, err = bicrl("generate", chat, f"output={temporary}/chat_end.jsonl", "policy.end_tokens=['<|im_end|>']")
    expect(code == 0 and "do not stop" not in err, "and one that does is not", err)

    # Tasks, as programs; --dry-run writes nothing.
    tasks = ["tasks=tests/data/infilling_tasks.json", "stage=infilling", "limit=2", "prompts=", "policy.config=tests/data/tokenizer/config.json",
             "policy.tokenizer=tests/data/tokenizer"]
    code, out, err = bicrl("generate", config, *tasks, f"output={temporary}/tasks.jsonl", "--dry-run")
    expect(code == 0 and "# tasks: 2, responses: 6" in out and not Path(f"{temporary}/tasks.jsonl").exists(), "a dry run", out, err)
    programs = read_lines(generate("tasks", *tasks))
    known = {str(t["id"]): t for t in json.loads(Path(SOURCE, "tests/data/infilling_tasks.json").read_text())}
    expect(len(programs) == 6, "two tasks", programs)
    for line in programs:
        task = known[line["task_id"]]
        expect(line["program"].startswith(task["prefix"]) and line["program"].endswith(task["suffix"]), "a scaffold", line)

    # Weights that are broken are named.
    broken = f"{temporary}/broken"
    code, out, err = bicrl("init", "configs/quickstart/policy.json", broken, "--tokenizer", "configs/quickstart", "--dtype", "float32")
    expect(code == 0, "a checkpoint", out, err)
    weights = Path(broken, "model.safetensors")
    data = bytearray(weights.read_bytes())
    header = int.from_bytes(data[:8], "little")
    name = "model.layers.2.mlp.up_proj.weight"
    begin = 8 + header + json.loads(data[8:8 + header])[name]["data_offsets"][0]
    data[begin:begin + 4] = b"\x00\x00\xc0\x7f"
    weights.write_bytes(data)
    code, out, err = bicrl("generate", config, "policy.config=", "policy.tokenizer=", f"policy.checkpoint={broken}", f"output={temporary}/nan.jsonl")
    expect(code == 1 and f"{name} holds NaN" in err, "a NaN in the weights", code, err)
print(f"generation interrupted {ends[signal.SIGINT]} times, ended {ends[signal.SIGTERM]} times, killed {ends[signal.SIGKILL]} times")
