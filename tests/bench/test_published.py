from __future__ import annotations

import pytest
import yaml

from bench.published import published_figures, read_published
from take.errors import InputError


@pytest.fixture(scope="module")
def published():
    return read_published()


def figure(published, *cell, **which):
    (found,) = published.of(*cell, **which)
    return found.mean, found.spread


def test_figures_are_the_paper_s(published):
    """The bars of issue 6, and both figures of a cell the paper prints twice."""
    assert figure(published, "sst2", "take", "lr") == (65.05, 0.05)
    assert figure(published, "imdb", "take", "lr") == (66.83, 0.13)
    assert figure(published, "mnli", "take", "siamese_lr") == (42.66, 0.15)
    assert figure(published, "sst2", "herding", "bert") == (76.9, None)
    assert figure(published, "ag_news", "take", "bert", table=2) == (89.82, 0.18)
    assert figure(published, "ag_news", "take", "bert", table=4) == (86.50, 1.01)
    assert [row.table for row in published.of("ag_news", "take", "bert")] == [2, 4, 5]


def test_every_figure_of_the_paper_has_its_table(published):
    tables = {row.table for row in published.rows() if "take" in (row.source, row.quoted_by)}
    assert tables == {2, 3, 4, 5}
    assert len({(r.corpus, r.method, r.backbone, r.table) for r in published.rows()}) == 127


def test_quoted_figures_name_who_measured_them(published):
    (found,) = published.of("qqp", "dilm", "bert")
    assert found.reference == "dilm, quoted by take, table 3"
    assert found.metric == "accuracy_f1"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"source": "nobody"}, "source 'nobody' is not among take"),
        ({"budget": "20 each"}, "Budget '20 each' is not a budget"),
        ({"methods": {"full": {"lr": [190.21, 0.1]}}}, "figures.0.methods.full.lr.0"),
        ({"methods": {"full": {"lr": [90.21]}}}, "figures.0.methods.full.lr"),
        ({"year": 2024}, "figures.0.year: Extra inputs"),
    ],
)
def test_mistakes_in_the_file_are_named(change, message):
    table = {"corpus": "sst2", "budget": "20/class", "source": "take", "table": 2, "methods": {}}
    sources = {"take": {"title": "TAKE", "spread": None}}
    published_figures({"sources": sources, "figures": [table]})
    with pytest.raises(InputError, match=message):
        published_figures({"sources": sources, "figures": [table | change]})


def test_other_files_are_refused(tmp_path):
    with pytest.raises(InputError, match="that can be read"):
        read_published(tmp_path / "nothing.yml")
    other = tmp_path / "other.yml"
    other.write_text(yaml.safe_dump({"corpora": {}}))
    with pytest.raises(InputError, match="does not hold 'published'"):
        read_published(other)
