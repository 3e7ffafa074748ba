"""Writes a task file's modules as somebody might who copied them: disguise.py TASKS OUT. Each task becomes four: renamed,
restructured (temporaries and a helper method), with other shapes, and wrapped in another module. Runs no code of them."""
import ast
import json
import sys


class Renamed(ast.NodeTransformer):
    """Other names for arguments, local variables, attributes of self and module-level numbers."""

    def __init__(self, tree):
        stored = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        arguments = {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)} - {"self"}
        self.names = {name: f"quantity_{i}" for i, name in enumerate(sorted(stored | arguments))}
        attributes = {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)}
        self.attributes = {name: f"part_{i}" for i, name in enumerate(sorted(attributes))}

    def visit_Name(self, node):
        node.id = self.names.get(node.id, node.id)
        return node

    def visit_arg(self, node):
        node.arg = self.names.get(node.arg, node.arg)
        node.annotation = None
        return node

    def visit_Attribute(self, node):
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            node.attr = self.attributes.get(node.attr, node.attr)
        return node


class Restructured(ast.NodeTransformer):
    """Every call inside a statement of forward() gets a variable; the work moves to a helper method."""

    def visit_FunctionDef(self, node):
        if node.name != "forward":
            return node
        body = []
        for statement in node.body:
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                continue
            if isinstance(statement, (ast.Return, ast.Assign)) and statement.value is not None:
                statement.value = self.split(statement.value, body)
            body.append(statement)
        helper = ast.FunctionDef("work_on", node.args, body, [], None, lineno=1)
        call = ast.Call(ast.Attribute(ast.Name("self", ast.Load()), "work_on", ast.Load()),
                        [ast.Name(a.arg, ast.Load()) for a in node.args.args[1:]], [])
        result = ast.Assign([ast.Name("answer", ast.Store())], call, lineno=1)
        front = ast.FunctionDef("forward", node.args, [result, ast.Return(ast.Name("answer", ast.Load()))], [], None, lineno=1)
        return [helper, front]

    def split(self, value, body):
        """Calls and operations of arguments before their use, one a line."""
        if isinstance(value, ast.Call):
            value.args = [self.split(a, body) if not isinstance(a, ast.Starred) else a for a in value.args]
            return self.named(value, body)
        if isinstance(value, ast.BinOp):
            value.left, value.right = self.split(value.left, body), self.split(value.right, body)
            return self.named(value, body)
        return value

    @staticmethod
    def named(value, body):
        name = f"step_{len(body)}"
        body.append(ast.Assign([ast.Name(name, ast.Store())], value, lineno=1))
        return ast.Name(name, ast.Load())


class Larger(ast.NodeTransformer):
    """Whole numbers of 16 and more are doubled."""

    def visit_Constant(self, node):
        return ast.Constant(node.value * 2) if type(node.value) is int and node.value >= 16 else node


def renamed(code):
    tree = ast.parse(code)
    return ast.unparse(ast.fix_missing_locations(Renamed(tree).visit(tree)))


def restructured(code):
    return ast.unparse(ast.fix_missing_locations(Restructured().visit(ast.parse(code))))


def larger(code):
    """Numbers at module level, or those of get_inputs() where there are none: every use follows."""
    tree = ast.parse(code)
    for place in (ast.Assign, ast.FunctionDef):
        for node in tree.body:
            if isinstance(node, place) and getattr(node, "name", "get_inputs") == "get_inputs":
                Larger().visit(node)
        if ast.unparse(tree) != ast.unparse(ast.parse(code)):
            return ast.unparse(ast.fix_missing_locations(tree))
    sys.exit(f"no number of this task can be doubled:\n{code}")


def wrapped(code):
    tree = ast.parse(code)
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name == "Model":
            node.name = "Inner"
        if isinstance(node, ast.Name) and node.id == "Model":
            node.id = "Inner"
    return ast.unparse(tree) + ("\n\nclass Model(torch.nn.Module):\n    def __init__(self, *arguments, **keywords):\n        super().__init__()\n"
                                "        self.inside = Inner(*arguments, **keywords)\n\n    def forward(self, *arguments):\n"
                                "        found = self.inside(*arguments)\n        return found\n")


out = []
for task in json.load(open(sys.argv[1])):
    for disguise in (renamed, restructured, larger, wrapped):
        out.append({"idx": f"{task['name']} {disguise.__name__}", "level": task["level"], "pytorch_code": disguise(task["pytorch_code"])})
json.dump(out, open(sys.argv[2], "w"))
print(len(out))
