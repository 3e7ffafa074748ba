"""Token ids of Hugging Face `tokenizers`, for comparison with ours.

oracle_tokenizer.py qwen2 SDAR_FOLDER OUT TASK_FILE...   the published vocabulary, split and added tokens
oracle_tokenizer.py json OUT_FOLDER                      small trained tokenizer.json files of several shapes

Writes cases.jsonl: {"text", "ids"} to encode and {"decode", "skip_special", "text"} to decode.
"""

import json
import pathlib
import random
import sys
import unicodedata

try:
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

QWEN2 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def strings_of(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings_of(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings_of(item)


def nasty_texts():
    yield from ["", " ", "  ", "\n", "\r\n", "\r\n\r\n  x", "\t\tx  y\n\n\n z ", "a\u00a0b\u3000c\u2028d\u0085e\u180ef"]
    yield from ["I'm you'RE he'LL 'S 'ſ 'K don't we'Ve it'd", "x=1234567890;y=3.14e-5f", "１２３ Ⅳ ½ ੩ ௧"]
    yield from ["e\u0301 é \u1e9b\u0323 \u0344 \u212b \ufb01 ﷺ", "각 각 \u1100\u1161\u11a8", "\u0301leading", ">\u0338"]
    yield from ["a\u0323\u0307 a\u0307\u0323 \u0f71\u0f72\u0f74", "क़ \u0958 \u2adc \u1d15e\u1d165", "\U0001d15e"]
    yield from ["<|im_start|>user\nhi <|im_end|>\n<|im_start|>assistant\n\n", "<think>\n\n</think>\n\n"]
    yield from ["<|im_start", "<|im_start|", "<<|im_end|>>", "<|im_end|><|im_end|> <|endoftext|>x", "<MASK><|MASK|> <|mask|>"]
    yield from ["<|im_start|>\u0338", "e<think>\u0301", "  <|im_end|>  x", "👩‍👩‍👧‍👦🏳️‍🌈 🇩🇪", "مرحبا بالعالم", "שלום", "日本語のテキスト、漢字"]
    yield from ["/" * 2000, "=" * 777 + "\n" * 300, "ab" * 1500, " " * 1999 + "x", "aaaa bbbb" * 300, "\u00e9" * 700, "é́̂" * 400]
    yield from ["#include <cuda_runtime.h>\r\n__global__ void k(float* a){\r\n\ta[threadIdx.x]+=1.f;\r\n}\r\n"]
    yield from ["\x00\x01\x7f\x80", "\ufeffbom", "\ufffd\uffff\U0010ffff", "a\u200bb\u200dc\u2060d"]


def random_texts(seed, count, alphabet):
    draw = random.Random(seed)
    for _ in range(count):
        yield "".join(draw.choice(alphabet) for _ in range(draw.randint(1, 60)))


def wide_alphabet():
    """Characters that this Python's Unicode knows: later ones differ between libraries' tables."""
    codes = [c for c in range(0x110000) if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co")]
    return [chr(c) for c in codes]


def every_character():
    """Each assigned character once, between letters and alone."""
    alphabet = wide_alphabet()
    for start in range(0, len(alphabet), 64):
        part = alphabet[start : start + 64]
        yield " ".join("a" + c + c + "b" for c in part)
        yield "".join(part)


def all_texts():
    yield from nasty_texts()
    yield from random_texts(1, 400, list("ab'sS \t\r\n<|>0_é\u0301\u0323가ﬁ") + ["<|im_end|>", "<think>", "  "])
    alphabet = wide_alphabet()
    yield from random_texts(2, 300, alphabet)
    marks = [c for c in alphabet if unicodedata.combining(c)]
    yield from random_texts(3, 300, marks + list("aeouAEcn가ㅏ") * (len(marks) // 8))
    yield from every_character()


def write_cases(tokenizer, texts, path):
    draw = random.Random(4)
    top = tokenizer.get_vocab_size(with_added_tokens=True)
    with open(path, "w", encoding="ascii") as out:
        for text in texts:
            if any(0xD800 <= ord(c) < 0xE000 for c in text):
                continue
            out.write(json.dumps({"text": text, "ids": tokenizer.encode(text, add_special_tokens=False).ids}) + "\n")
        for length in [1, 2, 3, 5, 20, 200] * 40:
            ids = [draw.randrange(top) for _ in range(length)]
            for skip in (False, True):
                text = tokenizer.decode(ids, skip_special_tokens=skip)
                out.write(json.dumps({"decode": ids, "skip_special": skip, "text": text}) + "\n")


def qwen2(folder, out, task_files):
    folder = pathlib.Path(folder)
    tokenizer = Tokenizer(models.BPE.from_file(str(folder / "vocab.json"), str(folder / "merges.txt")))
    tokenizer.normalizer = normalizers.NFC()
    split = pre_tokenizers.Split(Regex(QWEN2), "isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    config = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    for key, flags in sorted(config["added_tokens_decoder"].items(), key=lambda item: int(item[0])):
        tokenizer.add_tokens([AddedToken(**flags)])
        assert tokenizer.token_to_id(flags["content"]) == int(key)
    texts = [t for name in task_files for t in strings_of(json.loads(pathlib.Path(name).read_text(encoding="utf-8")))]
    write_cases(tokenizer, texts + list(all_texts()), out)


def trained(out_folder):
    lines = Regex(r"[^\n]*\n|[^\n]+")
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    shapes = {
        "own_regex": (None, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)),
        "whole_text": (normalizers.NFC(), byte_level),
        "lines": (normalizers.NFC(), pre_tokenizers.Sequence([pre_tokenizers.Split(lines, "isolated"), byte_level])),
        "two_splits": (
            None,
            pre_tokenizers.Sequence(
                [
                    pre_tokenizers.Split(lines, "isolated"),
                    pre_tokenizers.Split(Regex(r"\d{1,3}"), "isolated"),
                    pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
                ]
            ),
        ),
    }
    program = (
        "def get_inputs():\n    return [torch.rand(16, 4096)]\n\n__global__ void relu(const float* a, float* b, int n) {\n"
        "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) b[i] = fmaxf(a[i], 0.f);\n}\n"
    )
    for name, (normalizer, pre) in shapes.items():
        tokenizer = Tokenizer(models.BPE())
        tokenizer.normalizer, tokenizer.pre_tokenizer, tokenizer.decoder = normalizer, pre, decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=420,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            special_tokens=["<|endoftext|>", "<MASK>"],
            show_progress=False,
        )
        corpus = [program.replace("relu", word) for word in ("gelu", "sum", "softmax", "été", "tanh")] * 5
        tokenizer.train_from_iterator(corpus, trainer)
        # Not of letters in the byte alphabet: Hugging Face decodes those of an added token as single bytes.
        tokenizer.add_tokens(["<think>", AddedToken("\u0436\u0306x", normalized=True)])
        tokenizer.add_tokens([AddedToken("е\u0301е", normalized=False)])
        tokenizer.add_special_tokens([AddedToken("<gap>", lstrip=True, rstrip=True), "<gap><gap>"])
        folder = pathlib.Path(out_folder) / name
        folder.mkdir()
        tokenizer.save(str(folder / "tokenizer.json"))
        gaps = ["a <gap> b", " \u3000<gap>\n\n<gap>\t<gap><gap> <gap>", "\u0436\u0306x \u04c2x<think> y е\u0301е"]
        write_cases(tokenizer, [program, program * 20] + gaps + list(all_texts()), folder / "cases.jsonl")


if sys.argv[1] == "qwen2":
    qwen2(sys.argv[2], sys.argv[3], sys.argv[4:])
else:
    trained(sys.argv[2])
