from __future__ import annotations

import sys
from pathlib import Path

import pytest

from take.reuse import digests


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package `pkg` whose module `top` imports `deep` inside a function."""
    folder = tmp_path / "pkg"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "top.py").write_text("def f():\n    from pkg.deep import g\n    return g()\n")
    (folder / "deep.py").write_text('"""Doc."""\ndef g():\n    """Doc."""\n    return 1\n')
    (folder / "other.py").write_text("X = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield folder
    for name in [name for name in sys.modules if name.partition(".")[0] == "pkg"]:
        del sys.modules[name]


def digest_again() -> dict[str, str]:
    digests._module_digest.cache_clear()
    return digests.code_digests("pkg.top")


def test_code_is_followed_through_imports(package: Path) -> None:
    assert set(digest_again()) == {"pkg.top", "pkg.deep"}


def test_changed_code_changes_its_digest_alone(package: Path) -> None:
    before = digest_again()
    (package / "deep.py").write_text("def g():\n    return 2\n")
    after = digest_again()
    assert after["pkg.top"] == before["pkg.top"]
    assert after["pkg.deep"] != before["pkg.deep"]


def test_comments_docstrings_and_layout_do_not_count(package: Path) -> None:
    before = digest_again()
    (package / "deep.py").write_text("# why\ndef g():\n\n    return (1)\n")
    assert digest_again() == before


def test_the_projects_own_nodes_are_followed_into_the_domain() -> None:
    found = digests.code_digests("take.pipelines.ingestion.nodes")
    assert {"take.corpus.ingest", "take.corpus.reading", "take.corpus.budget"} <= set(found)
