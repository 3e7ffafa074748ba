"""What it would cost that a response does not depend on its batch: a forward's products with a fixed number of rows.

    python bench/batch_invariance.py configs/shapes/sdar-1.7b.json [--rows 640] [--most 1024]

The matrix library takes other kernels, and other orders of summation, for other numbers of rows. Alike for every row are products in
pieces of one size, and products of which all are padded to the most rows that there can be (two blocks of each sequence). Both are
timed beside the products as they are, in a CUDA graph each, and the share of rows is told that are the same bits as in a product of 32.
Attention's tiles, whose cuts depend on the batch where they are few, are left out."""
import argparse
import json

import torch


def products_of(shape):
    """(inner, outer) of a layer's fused products."""
    head = shape["head_dim"]
    queries, keys = shape["num_attention_heads"] * head, shape["num_key_value_heads"] * head
    hidden, inner = shape["hidden_size"], shape["intermediate_size"]
    return [(hidden, queries + 2 * keys), (queries, hidden), (hidden, 2 * inner), (inner, hidden)]


def milliseconds(forward, repeats=20):
    for _ in range(3):
        forward()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        forward()
    times = []
    for _ in range(repeats):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return sorted(times)[repeats // 2]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shape")
    parser.add_argument("--rows", type=int, default=640, help="of a step on average: 128 sequences, a quarter of which commit")
    parser.add_argument("--most", type=int, default=1024)
    o = parser.parse_args()
    with open(o.shape) as file:
        shape = json.load(file)
    layers = [[torch.randn(outer, inner, device="cuda", dtype=torch.bfloat16) / inner**0.5 for inner, outer in products_of(shape)]
              for _ in range(shape["num_hidden_layers"])]
    inputs = {inner: torch.randn(o.most, inner, device="cuda", dtype=torch.bfloat16) for inner, _ in products_of(shape)}

    def forward(rows, piece=None):
        for layer in layers:
            for weight in layer:
                x = inputs[weight.shape[1]][:rows]
                for part in x.split(piece or rows):
                    part @ weight.t()

    few = 32
    same = [float((inputs[w.shape[1]][:o.rows] @ w.t())[:few].eq(inputs[w.shape[1]][:few] @ w.t()).all(1).float().mean()) for w in layers[0]]
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {o.shape}: products of a forward of {o.rows} rows")
    print("rows that are the same bits in a product of 32: " + ", ".join(f"{share:.0%}" for share in same) + " (qkv, o, gate and up, down)")
    plain = milliseconds(lambda: forward(o.rows))
    print(f"{'as they are':24} {plain:8.3f} ms")
    for piece in (64, 128, 256, 512):
        padded = -(-o.rows // piece) * piece
        ms = milliseconds(lambda: forward(padded, piece))
        print(f"{f'in pieces of {piece}':24} {ms:8.3f} ms {ms / plain - 1:+7.1%}")
    ms = milliseconds(lambda: forward(o.most))
    print(f"{f'padded to {o.most}':24} {ms:8.3f} ms {ms / plain - 1:+7.1%}")


main()
