"""Digests of files, values and code, with the versions of the libraries that the code imports."""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib
import importlib.util
import inspect
import json
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel

_ASSETS = frozenset({".j2", ".css", ".yml"})

_NOT_DECIDING = frozenset(
    {
        *("click", "kedro", "kedro_datasets", "kedro_mlflow", "mlflow", "pluggy", "psutil"),
        *("pydantic", "rich", "tqdm", "yaml"),  # settings, logs and progress
        *("ray", "cloudpickle"),  # the same result wherever a block is computed
        *("datasets", "huggingface_hub"),  # what they fetch is pinned, and digested as a file
    }
)
"""Libraries whose version changes no result. All others that the code imports are in its origin."""

_COMPUTE_WITH = {"sklearn": {"numpy", "scipy"}, "transformers": {"tokenizers", "torch"}}
"""Libraries that decide a result through others, which the code need not import."""


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


class Code(NamedTuple):
    """The code that decides a result.

    Digests are of the syntax tree without docstrings: reformatting or documenting code does not
    make what it computed out of date, changing it does. Imports inside functions count; imports
    for type checkers do not. Templates and style sheets next to a module are part of it.
    """

    modules: dict[str, str]
    """Digest by module; of a node's own module, by function."""
    libraries: dict[str, str]
    """Version by installed package."""


class _Part(NamedTuple):
    digest: str
    imports: frozenset[str]
    assets: dict[Path, str]
    """Digests of the templates and style sheets that are part of it."""


def module_code(*modules: str, follow: bool = True) -> Code:
    """The code of modules, and of every module of their package that they import, however deep.

    Without `follow`, of the modules themselves and the libraries that they import.
    """
    return _code({}, modules, modules[0].partition(".")[0], follow=follow)


def function_code(function: Callable[..., Any]) -> Code:
    """The code of a function: what it refers to in its own module, and all modules it reaches.

    The nodes of a pipeline can be in one module: a change to one is no change to the others.
    """
    while isinstance(function, functools.partial):
        function = function.func
    function = inspect.unwrap(function)
    part = _function_part(function.__module__, function.__qualname__)
    if part is None:
        return module_code(function.__module__)
    package = function.__module__.partition(".")[0]
    own = {f"{function.__module__}.{function.__qualname__}": part}
    return _code(own, part.imports, package)


def load_code(function: Callable[..., Any]) -> Code:
    """The code of a function, with every module of it imported: later edits do not reach it.

    Modules are imported inside functions, so otherwise one that is edited during a run would be
    recorded as it was and run as it is.
    """
    code = function_code(function)
    for name in code.modules:
        with suppress(ImportError):  # a function's name, or an extra that is not installed
            importlib.import_module(name)
    return code


def edited_assets(code: Code) -> list[Path]:
    """The templates and style sheets that have changed since the code was digested."""
    parts = [part for name in code.modules if (part := _module_part(name)) is not None]
    assets = {path: digest for part in parts for path, digest in part.assets.items()}
    return [
        path
        for path, digest in sorted(assets.items())
        if not path.is_file() or file_digest(path) != digest
    ]


def _code(
    parts: dict[str, _Part], names: Iterable[str], package: str, *, follow: bool = True
) -> Code:
    """The parts with the modules of the package among `names`, and what these import."""
    libraries = {name.partition(".")[0] for name in names}
    waiting = [name for name in names if name.startswith(f"{package}.")]
    while waiting:
        name = waiting.pop()
        part = None if name in parts else _module_part(name)
        if part is not None:
            parts[name] = part
            libraries |= {imported.partition(".")[0] for imported in part.imports}
            if follow:
                waiting += [name for name in part.imports if name.startswith(f"{package}.")]
    libraries |= {other for name in libraries for other in _COMPUTE_WITH.get(name, ())}
    versions = {library: _version(library) for library in sorted(libraries - {package})}
    return Code(
        {name: parts[name].digest for name in sorted(parts)},
        {library: version for library, version in versions.items() if version},
    )


@cache
def _version(library: str) -> str:
    """The version of an installed library that decides results, by import name; empty otherwise."""
    if library in _NOT_DECIDING or library in sys.stdlib_module_names:
        return ""
    packages = sorted(set(_packages().get(library, ())))
    return ", ".join(metadata.version(package) for package in packages)


@cache
def _packages() -> dict[str, list[str]]:
    return dict(metadata.packages_distributions())


@cache
def _module_part(name: str) -> _Part | None:
    found = _parsed(name)
    if found is None:
        return None
    path, tree = found
    digest = hashlib.sha256(ast.dump(tree).encode())
    assets: dict[Path, str] = {}
    for asset in sorted(path.parent.iterdir()):
        if asset.suffix in _ASSETS:
            content = asset.read_bytes()
            assets[asset] = hashlib.sha256(content).hexdigest()
            digest.update(asset.name.encode() + content)
    return _Part(digest.hexdigest()[:16], _imports([tree]), assets)


@cache
def _function_part(module: str, name: str) -> _Part | None:
    """A top-level function with the statements of its module that it needs, transitively."""
    found = _parsed(module)
    if found is None:
        return None
    statements = [(statement, _bound(statement)) for statement in found[1].body]
    if not any(name in bound for _, bound in statements):
        return None
    needed: list[ast.stmt] = []
    names = {name}
    while True:
        # A statement that binds no name is run for its effect, which may be on anything.
        needed = [statement for statement, bound in statements if not bound or bound & names]
        used = {
            node.id
            for statement in needed
            for node in ast.walk(statement)
            if isinstance(node, ast.Name)
        }
        if used <= names:
            break
        names |= used
    kept = [_only(statement, names) for statement in needed]
    dumped = "\n".join(ast.dump(statement) for statement in kept)
    return _Part(hashlib.sha256(dumped.encode()).hexdigest()[:16], _imports(kept), {})


def _bound(statement: ast.stmt) -> set[str]:
    """The names that a statement gives a meaning to."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {statement.name}
    bound = set()
    for node in ast.walk(statement):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            bound |= {_bound_by(alias) for alias in node.names}
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            bound.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound.add(node.id)
    return bound


def _bound_by(alias: ast.alias) -> str:
    return alias.asname or alias.name.partition(".")[0]


def _only(statement: ast.stmt, names: set[str]) -> ast.stmt:
    """An import reduced to what is used of it; any other statement as it is."""
    if not isinstance(statement, (ast.Import, ast.ImportFrom)):
        return statement
    aliases = [alias for alias in statement.names if _bound_by(alias) in names]
    if isinstance(statement, ast.Import):
        return ast.Import(aliases)
    return ast.ImportFrom(statement.module, aliases, statement.level)


def _imports(trees: Iterable[ast.AST]) -> frozenset[str]:
    """Every imported module, by its whole name."""
    names: set[str] = set()
    for node in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            # `from package.module import name` may name a module, too.
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Call) and node.args:
            names |= _imported_by_name(node.func, node.args[0])
    return frozenset(names)


def _imported_by_name(function: ast.expr, argument: ast.expr) -> set[str]:
    """What a call of `import_module` names: "a.b" for "a.b" and for f"a.b.{name}"."""
    if getattr(function, "attr", getattr(function, "id", "")) != "import_module":
        return set()
    named = argument.values[0] if isinstance(argument, ast.JoinedStr) else argument
    return {str(named.value).rstrip(".")} if isinstance(named, ast.Constant) else set()


def _parsed(name: str) -> tuple[Path, ast.Module] | None:
    """Where a module is, and its syntax tree without docstrings and imports for type checkers."""
    try:
        found = importlib.util.find_spec(name)
    except ModuleNotFoundError:  # its parent is a module, not a package
        return None
    if found is None or found.origin is None or not found.origin.endswith(".py"):
        return None
    path = Path(found.origin)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            kept = [child for child in node.body if not _decides_nothing(child)]
            node.body = kept or [ast.Pass()]
    return path, tree


def _decides_nothing(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.If):
        test = statement.test
        return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
