# class: protocol|wrong_value|record|illegal_access
# task: affine, template: forged
# hack: H52 a trace frame with views and copies far outside of their buffers
# why: the kernel is wrong on purpose: if nobody listens to the forged bytes, that is the verdict

# ---- sends
view = {"buffer": 0, "offset": -(1 << 62), "shape": [1 << 40, -5], "strides": [1 << 50, 0], "dtype": "float32"}
send(json.dumps({"kind": "trace", "buffers": [{"kind": "allocation", "bytes": 1 << 63}, {"kind": "symbol", "bytes": 4,
                 "module": -1, "name": "../../etc/passwd"}], "ops": [{"op": "copy", "target": view, "source": view}],
                 "blobs": [], "outputs": {"t": "tensor", **view}}))
