# class: record|protocol|memory|output_limit
# task: affine, template: affine_copy
# hack: H56 an exception whose text raises, an other one is huge and not encodable
# why: reporting the exception must not end the report

# ---- setup

class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("\udfff" + "A" * 10**7)

    __repr__ = __str__

# ---- forward
        module.affine(x)
        raise Unprintable("\ud800" * 10**6)
