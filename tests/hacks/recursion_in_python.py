# class: record|protocol|memory|illegal_access|process|timeout
# task: affine, template: affine_copy
# hack: H61 unbounded recursion with a limit of a billion
# why: the interpreter's stack or the memory ends first

import sys

# ---- forward
        sys.setrecursionlimit(10**9)

        def deeper(depth):
            return deeper(depth + 1) + 1

        return deeper(0)
