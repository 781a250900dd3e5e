"""Digests of files, values and code."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import json
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel

_ASSETS = frozenset({".j2", ".css"})


def file_digest(path: Path) -> str:
    """SHA-256 of a file's bytes, read in blocks."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def value_digest(value: Any) -> str:
    """SHA-256 of a JSON-like value, whatever the order of its keys.

    >>> value_digest({"a": 1, "b": [2]}) == value_digest({"b": [2], "a": 1})
    True
    """
    return hashlib.sha256(json.dumps(plain(value), sort_keys=True).encode()).hexdigest()


def plain(value: Any) -> Any:
    """The value as plain JSON types; settings models become dictionaries."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def code_digests(module: str) -> dict[str, str]:
    """Digest of a module and of every module of its package that it imports, however deep.

    Digests are of the syntax tree without docstrings: reformatting or documenting code does not
    make what it once computed stale, changing it does. Templates and style sheets that lie beside
    a module count as part of it.
    """
    package = module.partition(".")[0]
    digests: dict[str, str] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in digests:
            continue
        found = _module_digest(name, package)
        if found is not None:
            digests[name], imported = found
            waiting.extend(imported)
    return dict(sorted(digests.items()))


@cache
def _module_digest(name: str, package: str) -> tuple[str, tuple[str, ...]] | None:
    found = importlib.util.find_spec(name)
    if found is None or found.origin is None or not found.origin.endswith(".py"):
        return None
    tree = ast.parse(Path(found.origin).read_text(encoding="utf-8"))
    imported = tuple(_imported_modules(tree, package))
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            node.body = [child for child in node.body if not _is_docstring(child)] or [ast.Pass()]
    digest = hashlib.sha256(ast.dump(tree).encode())
    for beside in sorted(Path(found.origin).parent.iterdir()):
        if beside.suffix in _ASSETS:
            digest.update(beside.name.encode() + beside.read_bytes())
    return digest.hexdigest()[:16], imported


def _imported_modules(tree: ast.AST, package: str) -> list[str]:
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            # `from package.module import name` may name a module, too.
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return [name for name in names if name.startswith(f"{package}.") and _is_module(name)]


def _is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # its parent is a module, not a package
        return False


def _is_docstring(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
