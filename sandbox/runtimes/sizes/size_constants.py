"""The constants of a task's text that may set sizes, and the text with other values in their place.

They are whole expressions of integers ("256 * 4"): in assignments of the module and its classes, alone or in tuples, lists
and dictionaries, and above SMALL in what classes assign to self.NAME, in get_inputs(), get_init_inputs() and the module's
functions that these call. Methods of classes stay as they are otherwise: what they hard-code is their function.
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
    """name: "batch_size" (of "batch_size, width = 64, 512", too), "shape[1]", "sizes[rows]" (of a dictionary), "Model.SIZE" (of
    a class), "Model.self.size" (assigned by its methods), "get_inputs:3" (the third of its function). begin, end: bytes of the
    text."""

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

    def assignment(self, name, node, above=SMALLEST):
        if isinstance(node, (ast.Tuple, ast.List)):
            for index, item in enumerate(node.elts):
                self.assignment(f"{name}[{index}]", item, above)
        elif isinstance(node, ast.Dict):
            for key, item in zip(node.keys, node.values):
                if isinstance(key, ast.Constant):
                    self.assignment(f"{name}[{key.value}]", item, above)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
            for keyword in node.keywords:
                self.assignment(f"{name}[{keyword.arg}]", keyword.value, above)
        else:
            self.add(name, node, above)

    def assigned(self, target, node, prefix=""):
        sides = target, node
        if isinstance(target, ast.Name):
            self.assignment(prefix + target.id, node)
        elif all(isinstance(side, (ast.Tuple, ast.List)) for side in sides) and len(target.elts) == len(node.elts):
            for one, value in zip(target.elts, node.elts):
                self.assigned(one, value, prefix)

    def statement(self, node, prefix=""):
        """Of the module or, with its name as the prefix, of a class."""
        if isinstance(node, ast.Assign):
            self.assigned(node.targets[0], node.value, prefix)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            self.assignment(prefix + node.target.id, node.value)
        elif isinstance(node, ast.ClassDef):
            for part in node.body:
                self.statement(part, f"{node.name}.")
        elif isinstance(node, ast.FunctionDef) and prefix:
            self.method(node, prefix)

    def method(self, node, prefix):
        for part in ast.walk(node):
            if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Attribute):
                target = part.targets[0]
                if isinstance(target.value, ast.Name) and target.value.id == "self":
                    self.assignment(f"{prefix}self.{target.attr}", part.value, SMALL)

    def function(self, node):
        before = len(self.found)
        pending = list(reversed([*node.args.defaults, *filter(None, node.args.kw_defaults), *node.body]))
        while pending:
            part = pending.pop()
            if whole_number(part) is not None:
                self.add(f"{node.name}:{len(self.found) - before + 1}", part)
            else:
                pending.extend(reversed(list(ast.iter_child_nodes(part))))


def input_functions(body):
    """Names of get_inputs(), get_init_inputs() and the module's functions that these call, or that those call."""
    functions = {node.name: node for node in body if isinstance(node, ast.FunctionDef)}
    reached, pending = set(), list(FUNCTIONS)
    while pending:
        name = pending.pop()
        if name in functions and name not in reached:
            reached.add(name)
            pending.extend(part.func.id for part in ast.walk(functions[name])
                           if isinstance(part, ast.Call) and isinstance(part.func, ast.Name))
    return reached


def find_constants(text):
    """In their order."""
    finder = _Finder(text)
    body = ast.parse(text).body
    reached = input_functions(body)
    for node in body:
        if not isinstance(node, ast.FunctionDef):
            finder.statement(node)
        elif node.name in reached:
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
