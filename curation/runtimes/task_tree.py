"""A task's text as a tree: features of its syntax for similarity, and its normalised text. Reads code and runs none."""
import ast
import hashlib

DEPTH = 3  # of the subtrees that are compared
INPUT_MAKERS = {"get_inputs", "get_init_inputs", "get_costing_inputs", "get_costing_repeats"}
MOST_NODES = 20000


def hashed(text):
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=7).digest(), "little")


class Names(ast.NodeTransformer):
    """Names that an author chose become the order of their appearance; imports, texts and hints are left out."""

    def __init__(self, tree, shapes):
        self.shapes = shapes
        self.known = {}
        self.chosen = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        self.chosen |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
        self.chosen |= {node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
        self.attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)}

    def short(self, name):
        return self.known.setdefault(name, f"n{len(self.known)}")

    def visit_Name(self, node):
        return ast.Name(self.short(node.id) if node.id in self.chosen and node.id != "self" else node.id, ast.Load())

    def visit_Attribute(self, node):
        value = self.visit(node.value)
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            return ast.Attribute(value, self.short("." + node.attr), ast.Load())
        if isinstance(value, (ast.Name, ast.Attribute)) and is_library(value):
            return ast.Name(node.attr, ast.Load())  # torch.relu, F.relu and relu are one
        return ast.Attribute(value, node.attr, ast.Load())

    def visit_arg(self, node):
        return ast.arg(self.short(node.arg) if node.arg != "self" else "self", None)

    def visit_keyword(self, node):
        return ast.keyword(self.short(node.arg) if node.arg in self.chosen else node.arg, self.visit(node.value))

    def visit_Constant(self, node):
        if isinstance(node.value, (int, float)) and not isinstance(node.value, bool) and not self.shapes:
            return ast.Constant(0)
        return node

    def visit_FunctionDef(self, node):
        body = [self.visit(n) for n in node.body if not is_text(n)]
        name = node.name if node.name in ("forward", "__init__") or node.name in INPUT_MAKERS else self.short("." + node.name)
        return ast.FunctionDef(name, self.visit_arguments(node.args), body or [ast.Pass()], [], None)

    def visit_arguments(self, node):
        args = [self.visit(a) for a in node.posonlyargs + node.args]
        named = [self.visit(a) for a in node.kwonlyargs]
        rest, keywords = [self.visit(a) if a else None for a in (node.vararg, node.kwarg)]
        defaults = [self.visit(d) for d in node.defaults]
        named_defaults = [self.visit(d) if d else None for d in node.kw_defaults]
        return ast.arguments([], args, rest, named, named_defaults, keywords, defaults)

    def visit_ClassDef(self, node):
        return ast.ClassDef(self.short(node.name), [self.visit(b) for b in node.bases], [],
                            [self.visit(n) for n in node.body if not is_text(n)], [])

    def visit_AnnAssign(self, node):
        return ast.Assign([self.visit(node.target)], self.visit(node.value) if node.value else ast.Constant(None), lineno=1)


def is_text(node):
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def is_library(node):
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id in ("torch", "nn", "F", "math", "np", "functional")


def is_number(node, numbers):
    """Is an expression made of numbers alone, by themselves or by the names of `numbers`?"""
    if isinstance(node, ast.Name):
        return node.id in numbers
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (int, float)) and not isinstance(node.value, bool)
    parts = [x for x in ast.iter_child_nodes(node) if not isinstance(x, (ast.operator, ast.unaryop, ast.expr_context))]
    return isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Tuple, ast.List)) and all(is_number(x, numbers) for x in parts)


def names_number(node, numbers):
    """Is a statement an assignment of numbers? Its names are added to `numbers`, or taken away."""
    if not isinstance(node, (ast.Assign, ast.AnnAssign)) or node.value is None:
        return False
    found = is_number(node.value, numbers)
    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
        names = {x.id for x in ast.walk(target) if isinstance(x, ast.Name)}
        numbers.update(names) if found else numbers.difference_update(names)
    return found


def normalised(code, shapes):
    """The tree of all that is compared: classes, functions and module-level values other than numbers; all numbers and the makers of
    inputs as well if shapes matter."""
    tree = ast.parse(code)
    names = Names(tree, shapes)
    kept, numbers = [], set()
    for node in tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)) or is_text(node):
            continue
        maker = isinstance(node, ast.FunctionDef) and node.name in INPUT_MAKERS
        if (names_number(node, numbers) or maker) and not shapes:
            continue  # numbers by name: how large the inputs are
        kept.append(names.visit(node))
    return ast.Module(kept, [])


def features(tree):
    """Hashes of every node with what is below it, to a depth."""
    found = []

    def below(node, depth):
        if depth == 0:
            return type(node).__name__
        parts = [type(node).__name__]
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.AST):
                if not isinstance(value, ast.expr_context):
                    parts.append(name + ":" + below(value, depth - 1))
            elif isinstance(value, list):
                parts.append(name + ":[" + ",".join(below(x, depth - 1) if isinstance(x, ast.AST) else str(x) for x in value) + "]")
            elif value is not None and name not in ("lineno", "kind", "type_comment"):
                parts.append(f"{name}={value!r}")
        return "(" + " ".join(parts) + ")"

    for count, node in enumerate(ast.walk(tree)):
        if count > MOST_NODES:
            break
        if isinstance(node, (ast.expr, ast.stmt)):
            found.append(hashed(below(node, DEPTH)))
    return sorted(found)


def numbers_in(node):
    """Numbers in the order of the text, with their signs."""
    negated = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
    number = node.operand if negated else node
    if isinstance(number, ast.Constant):
        is_number = isinstance(number.value, (int, float)) and not isinstance(number.value, bool)
        return [-number.value if negated else number.value] if is_number else []
    return [number for part in ast.iter_child_nodes(node) for number in numbers_in(part)]


def read_tree(code, shapes):
    """{"features": [...], "text": hash} or {"broken": why}; if shapes matter, with the hash of all "numbers"."""
    try:
        tree = normalised(code, shapes)
        text = ast.unparse(ast.fix_missing_locations(tree))
        found = {"features": features(tree), "text": f"{hashed(text):014x}"}
        return {**found, "numbers": f"{hashed(repr(numbers_in(tree))):014x}"} if shapes else found
    except (SyntaxError, ValueError, RecursionError) as error:
        return {"broken": f"{type(error).__name__}: {error}"[:200]}
