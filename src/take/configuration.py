"""The files of conf/, checked before Kedro reads them: what is wrong is named with its line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from take.errors import InputError, closest

_NAMES = ("catalog", "parameters", "credentials", "globals", "corpora", "mlflow")
_SUFFIXES = frozenset({".yml", ".yaml", ".json"})
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAGS = frozenset(
    f"tag:yaml.org,2002:{name}"
    for name in ("str", "int", "float", "bool", "null", "map", "seq", "timestamp", "merge", "value")
)
_MOST_LEVELS = 50
_MOST_NODES = 100_000
"""With aliases written out: a few lines of aliases to aliases can stand for billions."""


def check_configuration(conf: Path, env: str) -> None:
    """Refuse an environment that is not there, and files that are not plain settings."""
    if not (conf / env).is_dir():
        names = [path.name for path in conf.iterdir() if path.is_dir() and path.name != "base"]
        raise InputError(
            f"there is no environment {env!r}",
            where=str(conf),
            remedy=f"{closest(env, names)} Or create the folder {env!r} there"
            if names
            else f"create the folder {env!r} there",
        )
    for path in configuration_files(conf, env):
        _check_file(path)


def configuration_files(conf: Path, env: str) -> Iterator[Path]:
    """The files that Kedro reads, those of base first."""
    for folder in dict.fromkeys((conf / "base", conf / env)):
        for path in sorted(folder.rglob("*")):
            parts = path.relative_to(folder).parts
            if (
                path.suffix in _SUFFIXES
                and path.is_file()
                and any(part.startswith(_NAMES) for part in parts)
            ):
                yield path


def place_of(key: str, conf: Path, env: str) -> str:
    """The file and line that set a key, the last where several do; empty if none does."""
    place = ""
    for path in configuration_files(conf, env):
        node = _compose(path)
        for part in key.split("."):
            values = node.value if isinstance(node, yaml.MappingNode) else []
            node = next((value for name, value in values if name.value == part), None)
        if node is not None:
            place = _at(path, node.start_mark)
    return place


def _check_file(path: Path) -> None:
    root = _compose(path)
    if root is None:
        return
    if not isinstance(root, yaml.MappingNode):
        raise _refusal(
            _at(path, root.start_mark), "it holds no settings", "lines of the form 'name: value'"
        )
    sizes: dict[int, int] = {}
    _check_node(root, path, sizes)
    if sizes[id(root)] > _MOST_NODES:
        raise _refusal(
            str(path),
            f"its aliases expand to {sizes[id(root)]:,} values",
            f"at most {_MOST_NODES:,}",
        )
    for name, _ in root.value:
        if name.tag not in ("tag:yaml.org,2002:str", "tag:yaml.org,2002:merge"):
            raise _refusal(
                _at(path, name.start_mark), f"the name {name.value!r} is not text", "quoted names"
            )


def _compose(path: Path) -> yaml.Node | None:
    """The nodes of a YAML file, from which nothing is constructed."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        depth = 0
        for event in yaml.parse(text, Loader=_LOADER):
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > _MOST_LEVELS:
                raise _refusal(
                    _at(path, event.start_mark),
                    "settings are nested too deeply",
                    f"at most {_MOST_LEVELS} levels",
                )
        root: yaml.Node | None = yaml.compose(text, Loader=_LOADER)
    except UnicodeDecodeError as error:
        above = error.object[: error.start].count(b"\n")
        raise _refusal(
            f"{path}, line {above + 1}", "a byte is not UTF-8", "text in UTF-8"
        ) from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or getattr(error, "reason", "")
        lines = text.split("\n")[mark.line : mark.line + 1] if mark else []
        hint = " (the line holds a tab)" if "\t" in "".join(lines) else ""
        raise _refusal(
            _at(path, mark), f"this is not YAML: {problem}{hint}", "YAML, indented by spaces"
        ) from error
    except OSError as error:
        raise _refusal(
            str(path), f"it cannot be read ({error.strerror})", "a readable file"
        ) from error
    return root


def _check_node(node: yaml.Node, path: Path, sizes: dict[int, int]) -> None:
    """Refuse tags, repeated names and names that are no values; count the nodes."""
    if id(node) in sizes:
        if not sizes[id(node)]:
            raise _refusal(_at(path, node.start_mark), "an alias refers to itself", "values")
        return
    sizes[id(node)] = 0
    if node.tag not in _TAGS:
        raise _refusal(
            _at(path, node.start_mark), f"the tag {node.tag!r} is not read", "plain YAML"
        )
    children: list[yaml.Node] = []
    if isinstance(node, yaml.SequenceNode):
        children = node.value
    elif isinstance(node, yaml.MappingNode):
        seen: dict[str, yaml.Node] = {}
        for name, value in node.value:
            if not isinstance(name, yaml.ScalarNode) or name.tag == "tag:yaml.org,2002:null":
                raise _refusal(_at(path, name.start_mark), "a key is not a string", "name: value")
            if name.value in seen:
                first = seen[name.value].start_mark.line + 1
                raise _refusal(
                    _at(path, name.start_mark),
                    f"{name.value!r} is set again, after line {first}",
                    "each name once",
                )
            seen[name.value] = name
            children.append(value)
    for child in children:
        _check_node(child, path, sizes)
    sizes[id(node)] = 1 + sum(sizes[id(child)] for child in children)


def _at(path: Path, mark: Any) -> str:
    return f"{path}, line {mark.line + 1}" if mark else str(path)


def _refusal(where: str, problem: str, allowed: str) -> InputError:
    return InputError(problem, where=where, allowed=allowed, remedy="correct the file")
