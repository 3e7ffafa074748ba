"""The constants of a task's text that may set sizes, and the text with other values in their place.

They are whole expressions of integers ("256 * 4"): in assignments of the module, alone or in tuples and lists, and above
SMALL in get_inputs() and get_init_inputs(). The class of the reference stays as it is: what it hard-codes is its function.
Kernel sizes, strides, paddings, groups and axes are small, and stay; a small name may still be a batch (size_search.py).
"""
import ast

SMALL = 15
SMALLEST = 3  # of names
FUNCTIONS = ("get_inputs", "get_init_inputs")
LARGEST = 1 << 40
OPERATIONS = {ast.Add: lambda a, b: a + b, ast.Sub: lambda a, b: a - b, ast.Mult: lambda a, b: a * b,
              ast.FloorDiv: lambda a, b: a // b if b else None, ast.LShift: lambda a, b: a << b if 0 <= b < 40 else None,
              ast.Pow: lambda a, b: a**b if 0 <= b < 40 and abs(a) <= 1024 else None}


class Constant:
    """name: "batch_size" (of "batch_size, width = 64, 512", too), "shape[1]", "get_inputs:3" (the third of its function).
    begin, end: bytes of the text."""

    def __init__(self, name, value, begin, end):
        self.name, self.value, self.begin, self.end = name, value, begin, end


def whole_number(node):
    """Of an expression of integers alone; else None."""
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int and abs(node.value) <= LARGEST else None
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATIONS:
        left, right = whole_number(node.left), whole_number(node.right)
        found = None if left is None or right is None else OPERATIONS[type(node.op)](left, right)
        return found if found is not None and abs(found) <= LARGEST else None
    return None


class _Finder:
    def __init__(self, text):
        lines = text.encode().splitlines(keepends=True)
        self.starts = [0]
        for line in lines:
            self.starts.append(self.starts[-1] + len(line))
        self.found = []

    def add(self, name, node, above=SMALL):
        value = whole_number(node)
        if value is not None and value > above:
            self.found.append(Constant(name, value, self.starts[node.lineno - 1] + node.col_offset,
                                       self.starts[node.end_lineno - 1] + node.end_col_offset))

    def assignment(self, name, node):
        if isinstance(node, (ast.Tuple, ast.List)):
            for index, item in enumerate(node.elts):
                self.assignment(f"{name}[{index}]", item)
        else:
            self.add(name, node, SMALLEST)

    def assigned(self, target, node):
        sides = target, node
        if isinstance(target, ast.Name):
            self.assignment(target.id, node)
        elif all(isinstance(side, (ast.Tuple, ast.List)) for side in sides) and len(target.elts) == len(node.elts):
            for one, value in zip(target.elts, node.elts):
                self.assigned(one, value)

    def function(self, node):
        before = len(self.found)
        pending = list(reversed(node.body))
        while pending:
            part = pending.pop()
            if whole_number(part) is not None:
                self.add(f"{node.name}:{len(self.found) - before + 1}", part)
            else:
                pending.extend(reversed(list(ast.iter_child_nodes(part))))


def find_constants(text):
    """In their order."""
    finder = _Finder(text)
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign):
            finder.assigned(node.targets[0], node.value)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            finder.assignment(node.target.id, node.value)
        elif isinstance(node, ast.FunctionDef) and node.name in FUNCTIONS:
            finder.function(node)
    return finder.found


def small_numbers(text):
    """Those that sizes may have to be multiples of: the text's integers from 2 to SMALL, of all its parts."""
    return sorted({node.value for node in ast.walk(ast.parse(text))
                   if isinstance(node, ast.Constant) and type(node.value) is int and 2 <= node.value <= SMALL})


def with_values(text, constants, values):
    """The text with values[i] in the place of constants[i]."""
    raw = text.encode()
    for constant, value in sorted(zip(constants, values), key=lambda pair: -pair[0].begin):
        if value != constant.value:
            raw = raw[:constant.begin] + str(value).encode() + raw[constant.end:]
    return raw.decode()
