"""Repeats recorded updates with torch.optim.AdamW and compares norms, learning rates and final parameters."""
import json
import math
import pathlib
import sys

try:
    import torch
except ImportError:
    print("torch is missing")
    sys.exit(77)

folder = pathlib.Path(sys.argv[1])
log = json.loads((folder / "log.json").read_text())


def load(name):
    return torch.frombuffer(bytearray((folder / name).read_bytes()), dtype=torch.float32).clone()


def schedule(update):
    if update < 4:
        return 3e-3 * (update + 1) / 4
    progress = min(1.0, (update - 4) / 12)
    return 3e-4 + (3e-3 - 3e-4) * 0.5 * (1 + math.cos(math.pi * progress))


initial = load("initial.f32")
parameters = [torch.nn.Parameter(initial[o:o + n].clone()) for o, n, _ in log["entries"]]
matrices = [p for p, (_, _, is_matrix) in zip(parameters, log["entries"]) if is_matrix]
norms = [p for p, (_, _, is_matrix) in zip(parameters, log["entries"]) if not is_matrix]
assert matrices and norms
optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": 0.1}, {"params": norms, "weight_decay": 0.0}],
                              betas=(0.9, 0.95), eps=1e-8)
clipped = 0
for i, update in enumerate(log["updates"]):
    gradient = load(f"gradient{i}.f32")
    for p, (o, n, _) in zip(parameters, log["entries"]):
        p.grad = gradient[o:o + n].clone()
    norm = torch.nn.utils.clip_grad_norm_(parameters, 1.0).item()
    clipped += norm > 1
    assert abs(norm - update["norm"]) < 1e-4 * norm, (i, norm, update["norm"])
    assert abs(schedule(i) - update["learning_rate"]) < 1e-12, (i, update)
    for group in optimizer.param_groups:
        group["lr"] = schedule(i)
    optimizer.step()
assert 0 < clipped < len(log["updates"]), clipped
final = load("final.f32")
ours = torch.cat([p.detach() for p in parameters])
difference = (final - ours).abs().max().item()
assert difference < 2e-6, difference
assert (final - initial).abs().max().item() > 1e-2
