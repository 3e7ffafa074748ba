"""Two trainers that divide parameters, gradients and AdamW's state among them, beside a generator: they end as two colocated ranks do."""
from placement_runs import SPLIT, same, trace, verifier_here, words
from support import bicrl, expect, folder

STAGE = ["trainer.sharding_stage=3"]

with folder() as temporary:
    here = verifier_here(temporary)
    code, out, err = bicrl(*words(f"{temporary}/colocated", *here, *STAGE), ranks=2)
    expect(code == 0, "two colocated ranks", out, err)
    expected = trace(f"{temporary}/colocated")
    expect("trainer/optimizer-00002-of-00002.safetensors" in expected["files"], "both have a part", expected["files"])
    code, out, err = bicrl(*words(f"{temporary}/split", *here, *STAGE, *SPLIT), ranks=3)
    expect(code == 0, "two trainers and a generator", out, err)
    same("three ranks", f"{temporary}/split", expected)
print("sharded trainers beside a generator end as colocated ranks do")
