"""Texts in the dataset card, as a Markdown reader shows them."""

from __future__ import annotations

import pytest

from take.audit.release.card import code, fenced, inline
from tests.audit.release.test_card import HOSTILE


@pytest.mark.parametrize("text", HOSTILE)
def test_a_markdown_reader_shows_the_text_as_it_is(text: str) -> None:
    markdown = pytest.importorskip("markdown_it")
    reader = markdown.MarkdownIt("commonmark", {"html": True})
    [paragraph] = [t for t in reader.parse(f"Class {inline(text)} is.") if t.type == "inline"]
    assert "".join(child.content for child in paragraph.children or []) == f"Class {text} is."
    [span] = [t for t in reader.parse(f"x {code(text)}") if t.type == "inline"]
    assert (span.children or [])[-1].type == "code_inline"
    assert (span.children or [])[-1].content == text
    [block] = reader.parse(fenced(text))
    assert (block.type, block.content) == ("fence", f"{text}\n")
