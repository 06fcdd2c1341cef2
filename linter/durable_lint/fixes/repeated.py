"""Rewrites the manual workaround into a scope: a cleanup in `except Exception: ...; raise` and once more."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from durable_lint.fixes import names, scope
from durable_lint.fixes.cleanup import Parts, called_name, step_arguments
from durable_lint.fixes.scope import Header, clause_colon, header_comments, last_row
from durable_lint.fixes.tree import Change, Refused, own_nodes, walk

if TYPE_CHECKING:
    from collections.abc import Callable

    from durable_lint.fixes.cleanup import Cleanup
    from durable_lint.fixes.place import Place
    from durable_lint.rules.finding import Fix
    from durable_lint.rules.ldc205 import Repeated


def rewrite(place: Place, found: Repeated, is_first_party: Callable[[str], bool]) -> Fix:
    """Return the fix that registers a repeated cleanup once. Raises `Refused`."""
    node, facts, tree = place.node, place.facts, place.tree
    if not isinstance(node, ast.Try) or len(node.handlers) != 1:
        raise Refused("it is not a plain `try`")
    scope.check_suspendable(place)
    clause = node.handlers[0]
    if clause.name and clause.name in names.read_names(*clause.body[:-1]):
        raise Refused(f"it uses the exception (`{clause.name}`)")
    if found.where == "list":
        return _rewrite_list(place, found, is_first_party)
    spot = place.context([facts.body])
    cleanup = scope.new_cleanup(place, spot, "cleanup")
    again = [tree.find(fact.at, (ast.stmt,)) for fact in found.again]
    for statement in again:
        if not tree.starts_line(statement) and statement is not again[0]:
            raise Refused("its statements stand on one line")
    first = again[0]
    if not tree.starts_line(first):
        raise Refused("its statements stand on one line")
    pieces = cleanup.pieces(again, found.again, first.lineno)
    parts = cleanup.take_apart(pieces, keep_trailing=False, keep_leading=False)
    colon = clause_colon(place, clause)
    comments = header_comments(place, colon, clause.body[0])
    end_row = last_row(node.orelse) if node.orelse else last_row(clause.body)
    inside = tree.comments_in(tree.start(clause), tree.row_end(end_row))
    shown = {text for piece in pieces for text in (*piece.above, piece.beside)}
    for piece in pieces:
        shown |= {c.text for c in tree.comments_in(tree.start(piece.node), tree.end(piece.node))}
    listed = tuple(c.text for c in inside if c.text not in shown)
    header = Header(clause.lineno, "", listed, "", end_row)
    change = Change(tree)
    scope.compose(change, place, cleanup, Parts([], parts.actions, []), header, keeps_handlers=False)
    if found.where in {"after", "inside"}:
        last = again[-1]
        start, end = tree.row_start(first.lineno), tree.row_end(last.end_lineno or last.lineno)
        if ";" in tree.text[tree.end(last) : end].partition("#")[0]:
            raise Refused("its statements stand on one line")
        between = tree.text[tree.row_end(end_row) : start] if found.where == "after" else ""
        if between.strip() and not between.lstrip().startswith("#"):
            raise Refused("other code stands between the block and the cleanup")
        change.replace(start, end, "")
    del comments
    return scope.finish(change, place, cleanup, is_first_party, scope.described(parts))


# ---------------------------------------------------------------- a list of compensations


def _rewrite_list(place: Place, found: Repeated, is_first_party: Callable[[str], bool]) -> Fix:
    node, tree = place.node, place.tree
    assert isinstance(node, ast.Try)
    if node.orelse:
        raise Refused("its `else` would run before the scope has ended")
    spot = place.context([place.facts.body])
    kind = "cleanup" if found.again else "compensate"
    cleanup = scope.new_cleanup(place, spot, kind)
    clause = node.handlers[0]
    loop = clause.body[0]
    change = Change(tree)
    made = _list_made(place, found.name)
    allowed = {n for part in (loop, made) for n in walk(part)}
    again = [tree.find(fact.at, (ast.stmt,)) for fact in found.again]
    allowed |= {n for part in again for n in walk(part)}
    inside = set(own_nodes(*node.body))
    for use in names.reads(place.function):
        if use.id != found.name or use in allowed:
            continue
        attribute = tree.parent(use)
        call = tree.parent(attribute) if attribute is not None else None
        statement = tree.parent(call) if call is not None else None
        if (
            use not in inside
            or not isinstance(attribute, ast.Attribute)
            or attribute.attr != "append"
            or not isinstance(call, ast.Call)
            or len(call.args) != 1
            or not isinstance(statement, ast.Expr)
        ):
            raise Refused(f"`{found.name}` is used in another way than to append (line {use.lineno})")
        change.replace(
            tree.start(statement),
            tree.end(statement),
            _compensation(cleanup, call.args[0]),
        )
    if _runs_late(loop):
        raise Refused("the loop does more than to call each of them")
    for part in (made, *again):
        end = tree.row_end(part.end_lineno or part.lineno)
        if not tree.starts_line(part) or tree.comments_in(tree.row_start(part.lineno), end):
            raise Refused("comments or other code stand beside the list")
        change.replace(tree.row_start(part.lineno), end, "")
    listed = tuple(c.text for c in tree.comments_in(tree.start(clause), tree.row_end(last_row(clause.body))))
    header = Header(clause.lineno, "", listed, "", last_row(clause.body))
    scope.compose(change, place, cleanup, Parts([], [], []), header, keeps_handlers=False)
    return scope.finish(change, place, cleanup, is_first_party, f"what `{found.name}` holds")


def _list_made(place: Place, name: str) -> ast.stmt:
    """Return the statement `name = []`, the only one that binds the list, before the block."""
    binding = [n for n in own_nodes(*place.function.body) if name in set(names.bound_by(n))]
    for statement in own_nodes(*place.function.body):
        match statement:
            case ast.Assign(targets=[ast.Name(id=target)], value=ast.List(elts=[])) if target == name:
                if len(binding) == 1 and place.is_bound_before(name):
                    return statement
            case ast.AnnAssign(target=ast.Name(id=target), value=ast.List(elts=[])) if target == name:
                if len(binding) == 1 and place.is_bound_before(name):
                    return statement
    raise Refused(f"`{name}` is not an empty list before the block")


def _runs_late(loop: ast.stmt) -> bool:
    """Whether the loop does anything but call each one, plainly or in a step."""
    assert isinstance(loop, ast.For) and isinstance(loop.target, ast.Name)
    statement = loop.body[0]
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return True
    call = statement.value
    if isinstance(call.func, ast.Name) and call.func.id == loop.target.id:
        return bool(call.args or call.keywords)
    if isinstance(call.func, ast.Attribute) and call.func.attr == "step" and call.args:
        func = call.args[0]
        if (
            isinstance(func, ast.Lambda)
            and isinstance(func.body, ast.Call)
            and isinstance(func.body.func, ast.Name)
        ):
            return bool(func.body.args or func.body.keywords)
    return True


def _step_of(cleanup: Cleanup, given: ast.Lambda) -> str:
    """Return the registration of `lambda: context.step(f, name="...")`, which is `f` itself; "" for anything else."""
    call = given.body
    if given.args.args or not isinstance(call, ast.Call) or any(k.arg is None for k in call.keywords):
        return ""
    slice_ = cleanup.place.tree.slice
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "step":
        return ""
    if (
        slice_(call.func.value) != cleanup.spot.text
        or not call.args
        or not isinstance(call.args[0], ast.Lambda)
    ):
        return ""
    func, name, config = step_arguments(call)
    if not isinstance(name, ast.Constant) or not (config is None or isinstance(config, ast.Name)):
        return ""
    extra = "" if config is None else f", config={slice_(config)}"
    return f"{cleanup.terminal}.{cleanup.kind}({slice_(func)}, name={slice_(name)}{extra})"


def _compensation(cleanup: Cleanup, given: ast.expr) -> str:
    place, terminal, kind = cleanup.place, cleanup.terminal, cleanup.kind
    tree = place.tree
    text = tree.slice(given)
    if "\n" in text or "\r" in text or tree.comments_in(tree.start(given), tree.end(given)):
        raise Refused("a compensation of several lines")
    if isinstance(given, ast.Lambda):
        arguments = given.args
        if arguments.posonlyargs or arguments.vararg or arguments.kwarg:
            raise Refused("a compensation with parameters")
        if len(arguments.args) != len(arguments.defaults):
            raise Refused("a compensation with parameters")
        uses = cleanup.context_uses([given.body])
        as_step = _step_of(cleanup, given) if uses else ""
        if as_step:
            return as_step
        name = called_name(given.body) or kind
        listed = text.partition("lambda")[2][: tree.start(given.body) - tree.start(given) - len("lambda")]
        inner = listed.rpartition(":")[0].strip()
        if uses:
            own = names.fresh("action_context", names.mentioned(given))
            replaced = [(tree.start(use), tree.end(use), own) for use in uses]
            body = tree.moved(tree.start(given.body), tree.end(given.body), "", "", replaced)
            parameters = f"{own}, {inner}" if inner else own
            return f'{terminal}.{kind}_in_context(lambda {parameters}: {body}, name="{kind}")'
        unused = names.fresh(
            "_" if "_" not in names.mentioned(given) else "step_context", names.mentioned(given)
        )
        if inner and place.is_annotated:
            unused = f"*{unused}"
        parameters = f"{unused}, {inner}" if inner else unused
        return f'{terminal}.{kind}(lambda {parameters}: {tree.slice(given.body)}, name="{name}")'
    if isinstance(given, ast.Name) and given.id not in place.changed:
        name = called_name(ast.Call(given, [], [])) or kind
        return f'{terminal}.{kind}(lambda _: {text}(), name="{name}")'
    made = given.func if isinstance(given, ast.Call) else given
    if isinstance(given, ast.Call) and getattr(made, "id", getattr(made, "attr", "")) == "partial":
        made = given.args[0]
    elif not isinstance(given, ast.Name):
        raise Refused("what a compensation calls cannot be seen")
    name = called_name(ast.Call(made, [], [])) or kind
    star = "*" if place.is_annotated else ""
    return f'{terminal}.{kind}(lambda {star}_, undo={text}: undo(), name="{name}")'
