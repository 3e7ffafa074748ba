"""Writes tiny_tokenizer/tokenizer.json: all bytes, a few merges that glue quotes and newlines, two added tokens.

Run by hand when the fixture is to change; needs the `tokenizers` package.
"""
import json
import pathlib

from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers, decoders, normalizers, Regex

QWEN2_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
MERGES = [('"', '"'), ('""', '"'), ("Ċ", "Ċ"), ('"""', "ĊĊ"), ('"""', "Ċ"), ("a", "b"), ("ab", "c"), ("Ġ", "x")]

vocab = {}
for char in sorted(pre_tokenizers.ByteLevel.alphabet()):
    vocab[char] = len(vocab)
for left, right in MERGES:
    vocab[left + right] = len(vocab)
tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=MERGES))
tokenizer.normalizer = normalizers.NFC()
tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
    [pre_tokenizers.Split(Regex(QWEN2_SPLIT), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
)
tokenizer.decoder = decoders.ByteLevel()
tokenizer.add_special_tokens([AddedToken("<|endoftext|>", special=True), AddedToken("<|MASK|>", special=True)])
path = pathlib.Path(__file__).parent / "tiny_tokenizer" / "tokenizer.json"
tokenizer.save(str(path), pretty=False)
print(len(vocab), [tokenizer.encode(s).tokens for s in ('"""\n\n', 'abc """\n', ' x')])
