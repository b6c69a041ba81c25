"""Operators and function names that are easily confused."""

import ast

ARITHMETIC = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Pow: "**"}
# The most frequent confusions; for example, masks are multiplied although they should be added.
TAKEN_FOR = {ast.Add: (ast.Sub,), ast.Sub: (ast.Add,), ast.Mult: (ast.Div, ast.Add), ast.Div: (ast.Mult,)}
LOGIC = {ast.BitAnd: "&", ast.BitOr: "|"}
ORDER = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
COMMUTE = (ast.Add, ast.Mult, ast.BitAnd, ast.BitOr)
# Names that are easily confused.
FAMILIES = (
    ("argmax", "argmin"),
    ("max", "min", "amax", "amin"),
    ("maximum", "minimum"),
    ("logical_and", "logical_or"),
    ("bitwise_and", "bitwise_or"),
    ("eq", "ne"),
    ("lt", "le", "gt", "ge"),
    ("mean", "sum"),
    ("any", "all"),
    ("sin", "cos"),
    ("exp", "log", "log2", "sqrt", "square"),
    ("softmax", "log_softmax"),
    ("tanh", "sigmoid", "relu", "gelu"),
    ("tril", "triu"),
    ("zeros", "ones"),
    ("zeros_like", "ones_like"),
    ("mul", "add"),
    ("hstack", "vstack", "dstack"),
    ("bool", "logical_not"),
    ("floor", "ceil"),
    ("cat", "stack"),
    ("var", "std"),
    ("repeat", "repeat_interleave"),
)
MASKING = ("masked_fill", "masked_fill_", "where")
# Splitting attention heads, before axes are transposed.
SPLITTING = ("view", "reshape", "unflatten")
