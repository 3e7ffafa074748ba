# class: protocol|wrong_value|record
# task: affine, template: forged
# hack: H52 a trace frame that launches entries of modules that were never compiled
# why: the kernel is wrong on purpose: if nobody listens to the forged bytes, that is the verdict

# ---- sends
send(json.dumps({"kind": "trace", "buffers": [{"kind": "input", "bytes": 13200, "source": 0}],
                 "ops": [{"op": "launch", "module": 99, "entry": "main", "grid": [1, 1, 1], "block": [1, 1, 1],
                          "shared": 0, "cooperative": False, "args": "00", "relocations": [[0, 7, 0, True]]}],
                 "blobs": [], "outputs": {"t": "none"}}))
