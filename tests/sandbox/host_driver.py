"""Test driver beside the host backend's tests: a warm interpreter that answers frames on one socket.

{"kind":"oracle", ...}  runs a reference Model on seeded inputs: specs, input bytes and expected outputs per draw
{"kind":"record"}       forks; the child is recorder.run_candidate on the same socket, then {"kind":"ended"} follows
No box: what runs here is trusted.
"""
import os
import struct
import sys

descriptor, folder = int(sys.argv[1]), sys.argv[2]
sys.path.insert(0, folder)

import torch  # noqa: E402

torch.set_num_threads(1)
import recorder  # noqa: E402

recorder.warm_up()
channel = recorder.Channel(descriptor)


def span(tensor):
    """Storage bytes from the first to the last element."""
    tensor = tensor.detach()
    if tensor.numel() == 0:
        return b""
    last = sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride()))
    flat = torch.as_strided(tensor, (last + 1,), (1,))
    return flat.contiguous().view(torch.uint8).numpy().tobytes()


def dense(tensor):
    raw = tensor.detach().contiguous().reshape(-1)
    return raw.view(torch.uint8).numpy().tobytes() if raw.numel() else b""


def spec_of(value, tensors):
    if isinstance(value, torch.Tensor):
        tensors.append(value)
        return {"t": "tensor", "shape": list(value.shape), "strides": list(value.stride()),
                "dtype": str(value.dtype).removeprefix("torch.")}
    if value is None:
        return {"t": "none"}
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return {"t": kind.__name__, "v": value}
    return {"t": type(value).__name__, "items": [spec_of(v, tensors) for v in value]}


def without_gpu(text):
    return text.replace(".cuda()", "").replace("device='cuda'", "device='cpu'").replace('device="cuda"', 'device="cpu"')


def oracle(request):
    names = {"__name__": "task"}
    exec(without_gpu(request["task_code"]), names)
    torch.manual_seed(request["init_seed"])
    init = names["get_init_inputs"]() if "get_init_inputs" in names else []
    torch.manual_seed(request["init_seed"])
    model = names["Model"](*init)
    specs, blobs, expected_spec = None, [], None
    for draw in range(request["draws"]):
        torch.manual_seed(request["seed"] + draw)
        inputs = names["get_inputs"]()
        tensors = []
        specs = [spec_of(value, tensors) for value in inputs]
        blobs += [span(t) for t in tensors]
        with torch.no_grad():
            expected = model(*inputs)
        tensors = []
        expected_spec = spec_of(expected, tensors)
        blobs += [dense(t) for t in tensors]
    channel.send({"kind": "answers", "inputs": specs, "expected": expected_spec}, blobs)


def record():
    pid = os.fork()
    if pid == 0:
        try:
            recorder.run_candidate(descriptor)
        finally:
            os._exit(0)
    _, status = os.waitpid(pid, 0)
    channel.send({"kind": "ended", "status": status})


while True:
    try:
        request, _ = channel.receive()
    except EOFError:
        break
    try:
        oracle(request) if request["kind"] == "oracle" else record()
    except Exception as error:  # noqa: BLE001 - becomes a failed test
        channel.send({"kind": "error", "message": f"{type(error).__name__}: {error}"})
