"""The pipelines of configs/curation as they are shipped: the program reads every one, and refuses a key that is misspelt in it."""
import re
import tempfile
from pathlib import Path

from support import SOURCE, bicrl, expect

FOLDER = Path(SOURCE, "configs", "curation")
PUBLISHED = {"cuke", "concur", "synthesize", "rft"}

found = {file.stem: file for file in sorted(FOLDER.glob("*.yaml"))}
expect(PUBLISHED <= set(found), "the pipelines that the manual names", sorted(found))
for name, file in found.items():
    code, out, err = bicrl("curate", file, "--dry-run")
    written = re.findall(r"- step: (\w+)", file.read_text())
    expect(code == 0 and written and re.findall(r"step: (\w+)", out) == written, f"{name} is read, step by step", code, out, err)
    with tempfile.TemporaryDirectory() as temporary:
        other = Path(temporary, "other.yaml")
        other.write_text(file.read_text().replace("\n    form: ", "\n    from: "))
        code, out, err = bicrl("curate", other, "--dry-run")
        expect(code == 2 and "form" in err, f"{name} with a misspelt key", code, out, err)
print("shipped pipelines are read")
