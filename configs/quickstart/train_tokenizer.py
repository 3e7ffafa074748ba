"""Makes the quickstart's tokenizer from synthesised tasks: each of their lines and fixed pieces is one token.

    train_tokenizer.py train CORPUS.jsonl PIECES.json FOLDER    writes tokenizer.json and tokenizer_config.json
    train_tokenizer.py check CORPUS.jsonl PIECES.json FOLDER    exits 1 where FOLDER holds something else
    train_tokenizer.py report TASKS.jsonl FOLDER                token counts of prompts, programs and middles

CORPUS holds tasks as JSON lines, PIECES the fixed pieces that their texts are put together from (a JSON list of
strings). Both are written by the tests of tasks/; to renew the checked-in files, build and run
    BICRL_RENEW_TOKENIZER=1 build/cpu/bin/test_tasks "[tokenizer]"
The quickstart itself never runs this: it reads the checked-in files.
"""
import json
import sys
from pathlib import Path

try:
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
except ImportError as error:
    print(f"needs the Python package tokenizers: {error}")
    sys.exit(77)

# Learnt tokens, for text of other tasks; the 256 bytes are among them, so that any text can be written.
LEARNT_TOKENS = 512
END = "<|endoftext|>"
MASK = "<|mask|>"
MARKERS = ["<|program|>", "<|infill|>", "<|gap|>", "<|answer|>"]  # as tasks/prompt.cpp writes them
CONFIG = {
    "tokenizer_class": "PreTrainedTokenizerFast",
    "eos_token": END,
    "pad_token": END,
    "mask_token": MASK,
    "clean_up_tokenization_spaces": False,
    "model_max_length": 4096,
}


def read_tasks(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def add_pieces(tokenizer, pieces):
    tokenizer.add_special_tokens([AddedToken(t, special=True, normalized=False) for t in [END, MASK]])
    tokenizer.add_tokens([AddedToken(t, normalized=False) for t in MARKERS + pieces])


def new_tokenizer():
    tokenizer = Tokenizer(models.BPE())
    # Split by lines, so that no token depends on a neighbouring line.
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(r"[^\n]*\n|[^\n]+"), behavior="isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def variable_lines(tasks, pieces):
    """The distinct lines left of the tasks' texts without the pieces: operators and shapes."""
    lines = set()
    longest_first = sorted(pieces, key=len, reverse=True)
    for task in tasks:
        for text in (task["pytorch_code"], task["cuda_code"]):
            for piece in longest_first:
                text = text.replace(piece, "\0")
            for part in text.split("\0"):
                lines.update(part.splitlines(keepends=True))
    return sorted(lines)


def train(tasks, pieces):
    trainer = trainers.BpeTrainer(
        vocab_size=LEARNT_TOKENS, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    tokenizer = new_tokenizer()
    lines = variable_lines(tasks, pieces)
    tokenizer.train_from_iterator(lines, trainer)
    # A small policy learns in minutes which line becomes which, but not how lines are spelt.
    add_pieces(tokenizer, pieces + lines)
    return {
        "tokenizer.json": json.dumps(json.loads(tokenizer.to_str()), indent=1, ensure_ascii=False) + "\n",
        "tokenizer_config.json": json.dumps(CONFIG, indent=2) + "\n",
    }


def report(tasks, folder):
    tokenizer = Tokenizer.from_file(str(Path(folder) / "tokenizer.json"))
    count = lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)
    prompt = lambda t: "<|program|>" + t["pytorch_code"] + "<|answer|>"
    kinds = {
        "end-to-end prompt": prompt,
        "infilling prompt (clamp)": lambda t: "<|infill|><|gap|>" + t["suffix"] + prompt(t),
        "program": lambda t: t["cuda_code"],
        "middle": lambda t: t["middle"],
    }
    print(f"vocabulary {tokenizer.get_vocab_size()}, {len(tasks)} tasks")
    for name, text in kinds.items():
        counts = sorted(count(text(t)) for t in tasks)
        print(f"{name}: min {counts[0]}, median {counts[len(counts) // 2]}, max {counts[-1]} tokens")


def main(mode, corpus, *rest):
    tasks = read_tasks(corpus)
    if mode == "report":
        report(tasks, *rest)
        return 0
    pieces, folder = json.loads(Path(rest[0]).read_text()), Path(rest[1])
    stale = 0
    for name, text in train(tasks, pieces).items():
        if mode == "train":
            (folder / name).write_text(text)
        elif (folder / name).read_text() != text:
            print(f"{folder / name} is not what training on these tasks gives; see the top of {__file__}")
            stale = 1
    return stale


if __name__ == "__main__":
    if len(sys.argv) < 4 or sys.argv[1] not in ("train", "check", "report"):
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
