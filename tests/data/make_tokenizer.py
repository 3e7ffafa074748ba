"""Writes tokenizer/: a small vocabulary in the form in which SDAR's is published (vocab.json, merges.txt,
tokenizer_config.json, added_tokens.json, config.json), trained on the task files in this folder.

Run by hand when the fixture is to change; needs the `tokenizers` package.
"""
import json
import pathlib

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

HERE = pathlib.Path(__file__).parent
OUT = HERE / "tokenizer"
QWEN2_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
ADDED = {"<|endoftext|>": True, "<|im_start|>": True, "<|im_end|>": True, "<think>": False, "</think>": False, "<|MASK|>": True}
MERGES = 600

texts = []
for path in sorted(HERE.glob("*.json")):
    for task in json.loads(path.read_text()):
        texts += [value for value in task.values() if isinstance(value, str)]
tokenizer = Tokenizer(models.BPE())
tokenizer.normalizer = normalizers.NFC()
tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
    [pre_tokenizers.Split(Regex(QWEN2_SPLIT), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
)
tokenizer.decoder = decoders.ByteLevel()
alphabet = pre_tokenizers.ByteLevel.alphabet()
tokenizer.train_from_iterator(
    texts, trainers.BpeTrainer(vocab_size=len(alphabet) + MERGES, initial_alphabet=alphabet, show_progress=False)
)
OUT.mkdir(exist_ok=True)
tokenizer.model.save(str(OUT))  # vocab.json, merges.txt
size = tokenizer.get_vocab_size()
ids = {content: size + i for i, content in enumerate(ADDED)}
added = {
    str(ids[content]): {"content": content, "lstrip": False, "normalized": False, "rstrip": False, "single_word": False, "special": special}
    for content, special in ADDED.items()
}
config = {
    "add_bos_token": False,
    "add_prefix_space": False,
    "added_tokens_decoder": added,
    "clean_up_tokenization_spaces": False,
    "eos_token": "<|endoftext|>",
    "mask_token": "<|MASK|>",
    "model_max_length": 8192,
    "pad_token": "<|endoftext|>",
    "tokenizer_class": "Qwen2Tokenizer",
}
shape = {
    "architectures": ["SDARForCausalLM"],
    "attention_bias": False,
    "block_size": 4,
    "bos_token_id": ids["<|endoftext|>"],
    "eos_token_id": ids["<|endoftext|>"],
    "head_dim": 16,
    "hidden_act": "silu",
    "hidden_size": 32,
    "intermediate_size": 64,
    "mask_token_id": ids["<|MASK|>"],
    "max_position_embeddings": 32768,
    "model_type": "sdar",
    "num_attention_heads": 2,
    "num_hidden_layers": 2,
    "num_key_value_heads": 1,
    "rms_norm_eps": 1e-06,
    "rope_scaling": None,
    "rope_theta": 1000000,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "vocab_size": -(-(size + len(ADDED)) // 64) * 64,
}
spellings = {content: id for content, id in ids.items() if content != "<|MASK|>"} | {"<MASK>": ids["<|MASK|>"]}  # as published
for name, content in (("tokenizer_config.json", config), ("added_tokens.json", spellings), ("config.json", shape)):
    (OUT / name).write_text(json.dumps(content, indent=2) + "\n")
print(size + len(ADDED), [t for t in tokenizer.get_vocab() if t.startswith('"""')])
