"""Conditions on figures: ``ratio_30 > 2 and ratio_5 < 1.5``, read as data, never executed as code."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

from burnside.errors import UnreadableFile

__all__ = ["condition_names", "holds"]

_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {"abs": abs, "len": len, "max": max, "min": min, "sum": sum}


def condition_names(condition: str) -> set[str]:
    """The figures a condition speaks of.

    >>> sorted(condition_names("max(a, b) > 2 * c"))
    ['a', 'b', 'c']
    """
    return {node.id for node in ast.walk(_parsed(condition)) if isinstance(node, ast.Name)} - set(_FUNCTIONS)


def holds(condition: str, figures: Mapping[str, Any]) -> bool:
    """Whether a condition holds for these figures.

    Numbers, lists, figures by name, ``+ - * /``, comparisons, ``and``, ``or``, ``not``, an index, and ``abs``, ``len``,
    ``max``, ``min``, ``sum``: nothing else is understood.

    >>> holds("1 < ratios[0] < ratios[-1]", {"ratios": [3.96, 25.2]}), holds("not solved", {"solved": 2})
    (True, False)
    """
    return bool(_value(_parsed(condition), figures))


def _parsed(condition: str) -> ast.expr:
    try:
        return ast.parse(condition, mode="eval").body
    except SyntaxError:
        raise UnreadableFile(f"the condition {condition!r} cannot be read: write it as in 'ratio > 2'") from None


def _value(node: ast.expr, figures: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=int() | float() | str() | bool() as value):
            return value
        case ast.Name(id=name) if name in figures:
            return figures[name]
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return [_value(part, figures) for part in parts]
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_value(inner, figures)
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return not _value(inner, figures)
        case ast.BoolOp(op=kind, values=parts):
            found = [bool(_value(part, figures)) for part in parts]
            return all(found) if isinstance(kind, ast.And) else any(found)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
            return _ARITHMETIC[type(op)](_value(left, figures), _value(right, figures))
        case ast.Compare(left=left, ops=ops, comparators=rights) if all(type(op) in _COMPARE for op in ops):
            values = [_value(part, figures) for part in (left, *rights)]
            return all(_COMPARE[type(op)](a, b) for op, a, b in zip(ops, values, values[1:], strict=False))
        case ast.Subscript(value=inner, slice=index):
            return _value(inner, figures)[_value(index, figures)]
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*(_value(part, figures) for part in arguments))
    raise UnreadableFile(f"a condition has a part that is not understood or not among the figures: {ast.unparse(node)}")
