"""Tables of Arrow and Parquet files as JSON lines, and back, by Arrow's own library.
    convert_table.py read TABLE          each row as {"row": {...}} on stdout and {"done": true} at the end, or {"error": why, "kind": word}
    convert_table.py write LINES TABLE   a table of JSON lines; a field that a line lacks is null in its row
Runs as a process of its own: a malformed file can take down no more than that."""
import json
import math
import os
import sys

ROWS = 256  # read or written at a time


def fail(kind, why):
    print(json.dumps({"error": str(why)[:500], "kind": kind}), flush=True)
    sys.exit(0)


try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError as missing:
    fail("missing", missing)


def batches(path):
    if path.endswith(".parquet"):
        yield from pq.ParquetFile(path).iter_batches(batch_size=ROWS)
        return
    with pa.memory_map(path) as source:  # the two forms of Arrow's own files
        try:
            reader = pa.ipc.open_stream(source)
        except pa.ArrowInvalid:
            source.seek(0)
            reader = pa.ipc.open_file(source)
            for i in range(reader.num_record_batches):
                yield reader.get_batch(i)
            return
        yield from reader


def without_nan(value):
    """JSON has no number for it."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: without_nan(x) for key, x in value.items()}
    return [without_nan(x) for x in value] if isinstance(value, list) else value


def read(path):
    try:
        for batch in batches(path):
            for begin in range(0, batch.num_rows, ROWS):
                for row in batch.slice(begin, ROWS).to_pylist():
                    print(json.dumps({"row": without_nan(row)}, default=str))
        print(json.dumps({"done": True}), flush=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        fail("malformed", error)


def rows_of(path):
    with open(path, encoding="utf-8") as lines:
        chunk = []
        for line in lines:
            chunk.append(json.loads(line))
            if len(chunk) == ROWS:
                yield chunk
                chunk = []
        if chunk:
            yield chunk


def schema_of(path):
    """The columns of all lines: what a line lacks, nested or not, another may have."""
    schema = pa.schema([])
    for rows in rows_of(path):
        names = dict.fromkeys(name for row in rows for name in row)
        columns = {name: pa.array([row.get(name) for row in rows]) for name in names}
        schema = pa.unify_schemas([schema, pa.table(columns).schema], promote_options="permissive")
    return schema


def write_rows(path, schema, target, is_parquet):
    with pa.OSFile(target, "wb") as sink:
        make = pq.ParquetWriter if is_parquet else pa.ipc.new_stream
        with make(sink, schema) as out:
            for rows in rows_of(path):
                out.write_table(pa.Table.from_pylist(rows, schema=schema))


def write(path, target):
    temporary = f"{target}.tmp.{os.getpid()}"
    try:
        write_rows(path, schema_of(path), temporary, target.endswith(".parquet"))
        with open(temporary, "rb+") as done:
            os.fsync(done.fileno())
        os.replace(temporary, target)
        print(json.dumps({"done": True}), flush=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        if os.path.exists(temporary):
            os.unlink(temporary)
        fail("unwritable", error)


if sys.argv[1] == "read":
    read(sys.argv[2])
else:
    write(sys.argv[2], sys.argv[3])
