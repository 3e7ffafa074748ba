"""An update of a block-diffusion policy by FSDP2 over the GPUs of a host, on the rows of bench_rank_update.

  torchrun --nproc-per-node 4 bench/many_gpus/fsdp_peer.py configs/shapes/sdar-1.7b.json --stage 2 --groups 4 --packs 4 [--recompute]

Rows, layers and further options are those of bench/update_peer.py; every GPU has so many groups of its own. Parameters in fp32 and AdamW's
state are divided; parameters are gathered in bf16 and gradients reduced in fp32. --stage 2: both once an update. --stage 3: in every pass. Without
a GPU its processes talk by gloo.
"""
import argparse
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

parser = argparse.ArgumentParser(add_help=False)
parser.add_argument("--stage", type=int, default=2, choices=(2, 3))
own, sys.argv[1:] = parser.parse_known_args()
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import update_peer as peer  # noqa: E402  reads the other options


class ShardedPolicy(peer.Policy):
    # Within forward(), FSDP has gathered what belongs to no layer: embedding, last norm and head.
    def forward(self, pack):
        return peer.scored_hidden(self, pack, through=lambda layer, *inputs: layer(*inputs))


def sharded_policy():
    torch.manual_seed(0)
    with torch.device(peer.DEVICE):
        policy = ShardedPolicy()
    precision = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for index, layer in enumerate(policy.layers):
        layer = peer.compile_on_gpu(checkpoint_wrapper(layer) if peer.options.recompute else layer, dynamic=False)
        policy.layers[index] = fully_shard(layer, mp_policy=precision, reshard_after_forward=own.stage == 3)
    return fully_shard(policy, mp_policy=precision, reshard_after_forward=False)


def update(policy, packs, adamw):
    for pack in packs:
        is_last = pack is packs[-1]
        policy.set_is_last_backward(is_last)
        if own.stage == 2:
            policy.set_requires_gradient_sync(is_last)
            policy.set_reshard_after_backward(is_last)
        hidden, gradient = policy(pack)
        hidden.backward(gradient)
    torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0, foreach=True)
    adamw.step()
    adamw.zero_grad(set_to_none=True)


def main():
    options = peer.options
    if peer.HAS_GPU:
        dist.init_process_group("nccl", device_id=torch.device(peer.DEVICE))
    else:
        dist.init_process_group("gloo")
    packs = [peer.Pack(options.groups // options.packs) for _ in range(options.packs)]
    rows, scored, pairs = (sum(values) for values in zip(*((p.rows.count, len(p.rows.scored), p.rows.pairs()) for p in packs)))
    policy = sharded_policy()
    adamw = torch.optim.AdamW(policy.parameters(), lr=1e-6, weight_decay=0.0, fused=True)
    seconds = []
    for repeat in range(options.repeats + 2):
        dist.barrier()
        peer.synchronize()
        begin = time.perf_counter()
        update(policy, packs, adamw)
        peer.synchronize()
        dist.barrier()
        if repeat >= 2:
            seconds.append(time.perf_counter() - begin)
    if dist.get_rank() == 0:
        mean, ranks = sum(seconds) / len(seconds), dist.get_world_size()
        peer.report(peer="fsdp2", stage=own.stage, shape=options.shape, layers=peer.LAYERS, ranks=ranks, recompute=options.recompute, rows=rows,
                    packs=len(packs), pairs_per_row=pairs / rows, ms=1e3 * mean, least_ms=1e3 * min(seconds), most_ms=1e3 * max(seconds),
                    rows_per_s=rows * ranks / mean, mfu=peer.model_flops(rows, scored, pairs) / mean / peer.PEAK_FLOPS,
                    peak_gib=peer.peak_gib())
    dist.destroy_process_group()


main()
