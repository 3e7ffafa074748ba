# class: extract|compile|protocol|record|memory|output_limit|wrong_value
# task: affine, template: affine_copy
# hack: H52 sources that are numbers, bytes and an object whose str() is endless
# why: what is no text is refused somewhere

# ---- setup

class Endless:
    def __str__(self):
        return source + "//" + "x" * 10**8


module = load_inline(name="odd", cpp_sources=[b"", 7], cuda_sources=[Endless()], functions={"affine": None})
