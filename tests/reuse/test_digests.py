from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from take.pipeline_registry import register_pipelines
from take.reuse import digests
from take.reuse.digests import Code, edited_assets, function_code, load_code, module_code

NODES = '''
from typing import NamedTuple
import numpy as np
from pkg.deep import g, unused
from pkg.other import X

LIMIT = 3
FACTOR = 2


class Result(NamedTuple):
    value: int


def _twice(value):
    return FACTOR * value


def first(value) -> Result:
    """Doc."""
    return Result(_twice(g(value)))


def second(value):
    from scipy import stats

    return np.sum(value) + X + LIMIT + stats.norm.cdf(value)
'''


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package `pkg` whose module `top` imports `deep` inside a function."""
    folder = tmp_path / "pkg"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "top.py").write_text("def f():\n    from pkg.deep import g\n    return g()\n")
    (folder / "deep.py").write_text(
        '"""Doc."""\nimport pandas\n\ndef g(value=0):\n    """Doc."""\n    return 1\n\nunused = 1\n'
    )
    (folder / "other.py").write_text("X = 1\n")
    (folder / "nodes.py").write_text(NODES)
    monkeypatch.syspath_prepend(tmp_path)
    for cached in (digests._module_part, digests._function_part):
        cached.cache_clear()
    yield folder
    for name in [name for name in sys.modules if name.partition(".")[0] == "pkg"]:
        del sys.modules[name]


def digest_again() -> dict[str, str]:
    digests._module_part.cache_clear()
    return module_code("pkg.top").modules


def node_code(name: str) -> Code:
    digests._module_part.cache_clear()
    digests._function_part.cache_clear()
    return function_code(getattr(importlib.import_module("pkg.nodes"), name))


def test_code_is_followed_through_imports(package: Path) -> None:
    assert set(digest_again()) == {"pkg.top", "pkg.deep"}
    assert set(module_code("pkg.top", follow=False).modules) == {"pkg.top"}


def test_changed_code_changes_its_digest_alone(package: Path) -> None:
    before = digest_again()
    (package / "deep.py").write_text("def g():\n    return 2\n")
    after = digest_again()
    assert after["pkg.top"] == before["pkg.top"]
    assert after["pkg.deep"] != before["pkg.deep"]


def test_comments_docstrings_layout_and_imports_for_types_do_not_count(package: Path) -> None:
    before = digest_again()
    (package / "deep.py").write_text(
        "# why\nimport pandas\nif TYPE_CHECKING:\n    import pkg.other\n"
        "def g(value=0):\n\n    return (1)\n\n\nunused = 1\n"
    )
    assert digest_again() == before


def test_a_node_is_its_function_and_what_that_refers_to(package: Path) -> None:
    first, second = node_code("first"), node_code("second")
    assert set(first.modules) == {"pkg.nodes.first", "pkg.deep"}
    assert set(first.libraries) == {"pandas"}
    assert set(second.modules) == {"pkg.nodes.second", "pkg.other"}
    assert set(second.libraries) == {"numpy", "scipy"}  # one of them imported in the function


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("FACTOR = 2", "FACTOR = 4", ["first"]),  # through a function that it calls
        ("LIMIT = 3", "LIMIT = 4", ["second"]),
        ("value: int", "value: float", ["first"]),  # what it returns
        ("import g, unused", "import g, unused, another", []),
        ("import numpy as np", "import numpy as np\nimport re", []),
        ('"""Doc."""', '"""Another text."""', []),
        ("def second(value):", "def third():\n    return 1\n\n\ndef second(value):", []),
        ("LIMIT = 3", "LIMIT = 3\nprint(LIMIT)", ["first", "second"]),  # an effect on anything
    ],
)
def test_a_change_to_one_node_is_no_change_to_another(
    package: Path, old: str, new: str, changed: list[str]
) -> None:
    before = {name: node_code(name) for name in ("first", "second")}
    (package / "nodes.py").write_text(NODES.replace(old, new))
    assert [name for name in before if node_code(name) != before[name]] == changed


def test_modules_imported_by_their_names_count(package: Path) -> None:
    (package / "deep.py").write_text(
        "def g(value=0):\n    import_module('pkg.other')\n    import_module(value)\n"
        "    return importlib.import_module(f'stdnum.{value}')\n\nunused = 1\n"
    )
    first = node_code("first")
    assert set(first.modules) == {"pkg.nodes.first", "pkg.deep", "pkg.other"}
    assert set(first.libraries) == {"stdnum"}


def test_a_function_inside_another_counts_with_its_whole_module(package: Path) -> None:
    def inner() -> None: ...

    inner.__module__, inner.__qualname__ = "pkg.nodes", "first.<locals>.inner"
    assert set(function_code(inner).modules) == {"pkg.nodes", "pkg.deep", "pkg.other"}


def test_the_projects_own_nodes_are_followed_into_the_domain() -> None:
    nodes = {node.func.__name__: node.func for node in register_pipelines()["distill"].nodes}
    ingest = function_code(nodes["ingest_corpus"])
    assert {"take.corpus.ingest", "take.corpus.reading", "take.corpus.budget"} <= set(
        ingest.modules
    )
    tuned = function_code(nodes["fine_tune"])
    assert {"torch", "transformers", "tokenizers", "peft", "numpy"} <= set(tuned.libraries)
    assert {"stdnum", "phonenumbers"} <= set(function_code(nodes["screen_rows"]).libraries)
    assert not {"kedro", "mlflow", "pydantic", "json", "take"} & set(tuned.libraries)
    assert not any(
        name.startswith("take.pipelines.generation.nodes") and "fine_tune" not in name
        for name in tuned.modules
    )


def test_code_that_is_edited_during_a_run_is_not_what_runs(package: Path) -> None:
    from pkg.top import f  # type: ignore[import-not-found]

    before = load_code(f)
    (package / "deep.py").write_text("def g():\n    return 'edited'\n")
    assert f() == 1  # `f` imports `deep` when it is called
    assert load_code(f) == before


def test_an_asset_that_is_edited_during_a_run_is_named(package: Path) -> None:
    template = package / "page.j2"
    template.write_text("one")
    modules = load_code(importlib.import_module("pkg.top").f).modules
    assert edited_assets(modules) == []
    template.write_text("two")
    assert edited_assets(modules) == [template]
    template.unlink()
    assert edited_assets(modules) == [template]
