"""oracle_quickstart_tokens.py TEXTS.json FOLDER: what the quickstart relies on in its tokenizer, through transformers.

TEXTS holds, for each task, named texts and the ids that our own tokenizer makes of them.
"""
import json
import sys
from pathlib import Path

try:
    from transformers import AutoTokenizer
except ImportError as error:
    print(f"needs transformers: {error}")
    sys.exit(77)

ANY_TEXT = ["", "\n", "\n\n\n", "  x", "caf\u00e9 \u4e16\u754c \U0001f600", "tab\there\r\nCRLF", "\0\x7f",
            "x = \"\"\"a\"\"\"\"b", "    def forward(self, x):\n  <|program|>", "e\u0301 not composed"]


def main(texts_path, folder):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    encode = lambda text: tokenizer.encode(text, add_special_tokens=False)
    decode = lambda ids: tokenizer.decode(ids, skip_special_tokens=False)
    assert tokenizer.eos_token == "<|endoftext|>" and tokenizer.mask_token == "<|mask|>"
    assert 400 <= len(tokenizer) <= 768, len(tokenizer)
    for text in ANY_TEXT:
        assert decode(encode(text)) == text, repr(text)

    longest = {}
    for record in json.loads(Path(texts_path).read_text()):
        texts = record["texts"]
        ids = {name: encode(text) for name, text in texts.items()}
        assert record["ids"] == ids, "our tokenizer differs from Hugging Face's"
        for name, text in texts.items():
            assert decode(ids[name]) == text, name
            longest[name] = max(longest.get(name, 0), len(ids[name]))
        # The seams of a clamped response are token boundaries of the whole program.
        parts = ids["clamp_prefix"] + ids["body"] + ids["delimiter"] + ids["clamp_suffix"]
        assert parts == ids["program"], texts["program"]
        assert len(ids["delimiter"]) == 1
        # Markers are single tokens, and what stands between them does not depend on them.
        assert ids["infilling"][-len(ids["end_to_end"]):] == ids["end_to_end"]
        assert encode(texts["end_to_end"] + texts["program"]) == ids["end_to_end"] + ids["program"]
    print(longest)
    limits = {"end_to_end": 16, "infilling": 24, "program": 64, "middle": 60}
    for name, limit in limits.items():
        assert longest[name] <= limit, (name, longest[name])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
