# class: memory|record
# task: affine, template: affine_copy
# hack: H61 a list that grows for ever
# why: MemoryError, or the box's limit

# ---- forward
        kept = []
        while True:
            kept.append(bytearray(1 << 24))
