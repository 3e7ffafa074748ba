"""oracle_chat_template.py TEMPLATE.jinja CASES.json: what our own writer made of each conversation is what the template makes of it,
rendered as transformers does."""
import json
import sys
from pathlib import Path

try:
    from jinja2.sandbox import ImmutableSandboxedEnvironment
except ImportError as error:
    print(f"needs jinja2: {error}")
    sys.exit(77)

environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
template = environment.from_string(Path(sys.argv[1]).read_text())
cases = json.loads(Path(sys.argv[2]).read_text())
for case in cases:
    expected = template.render(messages=case["messages"], add_generation_prompt=True)
    assert case["text"] == expected, (case["messages"], case["text"], expected)
print(len(cases), "conversations")
