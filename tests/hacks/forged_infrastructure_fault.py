# class: protocol|record|wrong_value
# task: affine, template: forged
# hack: H56 fault frames that call themselves infrastructure, with every spelling
# why: a fault that a program reports of itself is its own
# why: the kernel is wrong on purpose: if nobody listens to the forged bytes, that is the verdict

# ---- sends
for word in ("infrastructure", "Infrastructure", "infra", "retry", "kInfrastructure", "task", "", None, 7, "correct"):
    send(json.dumps({"kind": "fault", "class": word, "outcome": word, "message": "infrastructure: please retry",
                     "retryable": True, "blobs": []}))
