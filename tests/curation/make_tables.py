"""Writes small tables of the published forms with Arrow's own library: make_tables.py FOLDER. Fields as published."""
import sys

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError:
    print("pyarrow is not installed (curation/requirements.txt)")
    sys.exit(77)

folder = sys.argv[1]
MODULE = "import torch\n\n\nclass {}(torch.nn.Module):\n    def forward(self, x):\n        return torch.relu(x) + {}\n\n\n" \
         "def get_inputs():\n    return [torch.rand(4, 4)]\n\n\ndef get_init_inputs():\n    return []\n"

concur = pa.table({
    "uuid": ["u-1", "u-2", "u-3"], "problem_name": ["One", "Two", "Three"],
    "pytorch_code": [MODULE.format("Model", i) for i in range(3)],
    "generated_think": ["First, the shape.", "Ünïcode ≥ ASCII", ""],
    "generated_code": ["class ModelNew: pass  # 1", "class ModelNew: pass  # 2", "class ModelNew: pass  # 3"],
    "speedup_over_eager": pa.array([2.5, float("nan"), None], pa.float64())})
with pa.OSFile(f"{folder}/data-00000-of-00001.arrow", "wb") as sink, pa.ipc.new_stream(sink, concur.schema) as out:
    out.write_table(concur, max_chunksize=2)
with pa.OSFile(f"{folder}/as_file.arrow", "wb") as sink, pa.ipc.new_file(sink, concur.schema) as out:
    out.write_table(concur)

pq.write_table(pa.table({
    "ops": ['["nn.Conv2d", "torch.relu"]', "['nn.Linear']"], "data_source": ["torch#2", "torch#1"],
    "code": [MODULE.format("Model", 7), MODULE.format("Model", 8)]}), f"{folder}/data.parquet")

pq.write_table(pa.table({
    "entry_point": ["Gate"], "original_triton_code": ["@triton.jit"], "python_code": [MODULE.format("Gate", 1)],
    "triton_code": ["import triton"], "repo_name": ["someone/something"], "module_name": ["Gate"], "synthetic": [False],
    "uuid": pa.array([17], pa.int64()), "licenses": pa.array([["MIT"]])}), f"{folder}/kernelbook.parquet")

pq.write_table(pa.table({
    "data_source": ["kernel"], "ability": ["kernel"],
    "prompt": pa.array([[{"role": "user", "content": "Write a kernel."}]]),
    "reward_model": pa.array([{"ground_truth": MODULE.format("Net", 3), "style": "rule"}]),
    "extra_info": pa.array([{"entry_point": "Net", "level": 1, "module_name": "Net", "ops": "relu", "original_prompt": "",
                             "repo_name": "r", "type": "t", "uuid": "v-1"}])}), f"{folder}/verl.parquet")

pq.write_table(pa.table({"surprise": [1, 2], "code_of_something": ["a", "b"]}), f"{folder}/other_columns.parquet")
with open(f"{folder}/cut_off.parquet", "wb") as out:
    out.write(open(f"{folder}/data.parquet", "rb").read()[:200])
