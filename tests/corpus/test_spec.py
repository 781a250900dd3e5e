from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from take.corpus.sources import CorpusSource
from take.corpus.spec import About, CorpusSpec, select_corpus
from take.errors import InputError
from tests.conftest import CSV_CORPUS, ROOT

PAIR = {
    "task": "pair",
    "source": {"kind": "files", "train": "pairs.csv"},
    "columns": {"text_a": "q1", "text_b": "q2", "label": "same"},
}


def test_the_shipped_corpora_are_valid() -> None:
    corpora = yaml.safe_load((ROOT / "conf/base/corpora.yml").read_text())["corpora"]
    specs = {name: select_corpus(corpora, name) for name in corpora}
    assert set(specs) == {
        "rotten_tomatoes",
        "ag_news",
        "imdb",
        "sst2",
        "mnli",
        "qnli",
        "qqp",
        "mrpc",
        "banking77",
        "emotion",
    }
    assert {name for name, spec in specs.items() if spec.task == "pair"} == {
        "mnli",
        "qnli",
        "qqp",
        "mrpc",
    }


def test_an_unknown_name_suggests_near_ones() -> None:
    with pytest.raises(InputError, match="did you mean 'ag_news'"):
        select_corpus({"ag_news": CSV_CORPUS, "imdb": CSV_CORPUS}, "agnews")


@pytest.mark.parametrize(
    "name", ["../ag_news", "a/b", "", ".", "..", "a\0b", "C:\\x", "A" * 80, 7, None]
)
def test_a_name_cannot_leave_its_folder(name: object) -> None:
    with pytest.raises(InputError, match="cannot name a folder"):
        select_corpus({str(name): CSV_CORPUS}, name)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"columns": {"text_a": "q1", "label": "same"}},
            r"maps the columns \['text_a', 'text_b'\]",
        ),
        ({"columns": {"text": "q1", "label": "same"}}, "maps the columns"),
        ({"columns": {"text_a": "q1", "text_b": "q1", "label": "same"}}, "same source column"),
        ({"columns": {"text_a": "q1", "text_b": "same", "label": "same"}}, "same source column"),
        (
            {"columns": {"text_a": "q1", "text_b": "q2", "label": "same", "group": "same"}},
            "same source column",
        ),
        ({"labels": ["yes"]}, "at least 2"),
        ({"labels": ["yes", "yes"]}, "listed twice"),
        ({"task": "triple"}, "'single' or 'pair'"),
        ({"source": {"kind": "hub", "repository": "a/b", "revision": "main"}}, "revision"),
        ({"source": {"kind": "hub", "repository": "/a/b", "revision": "0" * 40}}, "repository"),
        ({"source": {"kind": "hub", "repository": "csv", "revision": "0" * 40}}, "repository"),
        (
            {"source": {"kind": "hub", "path": "a/b", "revision": "0" * 40}},
            "has the key 'path'.*Allowed: repository: .*Fix: rename the key 'path' to 'repository'",
        ),
        (
            {"source": {"kind": "hub", "path": "a/b", "repository": "a/b", "revision": "0" * 40}},
            "has the key 'path'",
        ),
        ({"sorce": {}}, "sorce"),
        ({"evaluation": {"fraction": 1.5}}, "less than 1"),
        ({"about": {"licence": "CC BY 4.0"}}, "about.licence: .*pattern"),
        ({"about": {"licence": ""}}, "about.licence"),
        ({"about": {"language": ["english language"]}}, "about.language.0: .*pattern"),
        ({"about": {"contains_personal_data": "maybe"}}, "'yes', 'no' or 'unknown'"),
        ({"about": {"author": "me"}}, "about.author"),
    ],
)
def test_a_wrong_entry_is_named(change: dict, message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        select_corpus({"mine": {**PAIR, **change}}, "mine")
    assert "corpus 'mine'" in str(error.value)


@pytest.mark.parametrize("written", ["[yes, no]", "[a, off]", "[1, 2]", "[a, null]"])
def test_labels_that_yaml_reads_as_something_else_have_to_be_quoted(written: str) -> None:
    with pytest.raises(InputError, match=r"labels: .* is not a string.*quote every") as error:
        select_corpus({"mine": {**PAIR, "labels": yaml.safe_load(written)}}, "mine")
    assert "at least 2" not in str(error.value)


def test_raw_root_replaces_the_hub_only() -> None:
    with pytest.raises(InputError, match="raw_root"):
        CorpusSource("films", CorpusSpec.model_validate(CSV_CORPUS), raw_root="/anywhere")


def test_files_with_one_name_are_distinguished(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "rows.csv").write_text("text,label\none,0\n")
    files = {"train": str(tmp_path / "a/rows.csv"), "evaluation": str(tmp_path / "b/rows.csv")}
    spec = CorpusSpec.model_validate({**CSV_CORPUS, "source": {"kind": "files", **files}})
    before = CorpusSource("films", spec).digest()
    (tmp_path / "a/rows.csv").write_text("text,label\ntwo,0\n")
    assert CorpusSource("films", spec).digest() != before


def test_the_place_of_files_is_not_part_of_a_corpus(tmp_path: Path) -> None:
    def digest(folder: str, train: str, evaluation: str | None = None) -> str:
        named = {"train": train, "evaluation": evaluation}
        paths = {split: str(tmp_path / folder / name) for split, name in named.items() if name}
        spec = CorpusSpec.model_validate({**CSV_CORPUS, "source": {"kind": "files", **paths}})
        return CorpusSource("films", spec).digest()

    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
        for name in ("rows.csv", "renamed.CSV", "rows.jsonl"):
            (tmp_path / folder / name).write_text("text,label\none,0\n")
    assert digest("here", "rows.csv") == digest("there", "rows.csv")
    assert digest("here", "rows.csv") == digest("here", "renamed.CSV")
    assert digest("here", "rows.csv") != digest("here", "rows.jsonl")
    assert digest("here", "rows.csv") != digest("here", "rows.csv", "rows.csv")


def test_the_shipped_corpora_state_source_and_licence() -> None:
    corpora = yaml.safe_load((ROOT / "conf/base/corpora.yml").read_text(encoding="utf-8"))[
        "corpora"
    ]
    for name in corpora:
        about = select_corpus(corpora, name).about
        assert about.source, name
        assert about.citation, name
        assert about.language == ("en",), name
        assert about.contains_personal_data != "unknown", name
        # A note explains why no licence can be named.
        assert about.licence_note, name


def test_a_corpus_without_a_description_claims_nothing() -> None:
    about = select_corpus({"mine": PAIR}, "mine").about
    assert about == About()
    assert (about.licence, about.language) == ("unknown", ())
    assert about.contains_personal_data == "unknown"


@pytest.mark.parametrize(
    ("written", "field", "value"),
    [
        ("licence: Apache-2.0", "licence", "apache-2.0"),
        ("licence: gpl-2.0+", "licence", "gpl-2.0+"),
        ("contains_personal_data: yes", "contains_personal_data", "yes"),
        ("contains_personal_data: no", "contains_personal_data", "no"),
        ("contains_personal_data: unknown", "contains_personal_data", "unknown"),
        ("language: no", "language", ("no",)),  # Norwegian, which YAML takes for false
        ("language: [en, pt-BR, zh-Hant-TW]", "language", ("en", "pt-BR", "zh-Hant-TW")),
        ("source: '  Jo Doe '", "source", "Jo Doe"),
    ],
)
def test_about_is_read_as_people_write_it(written: str, field: str, value: object) -> None:
    corpora = {"mine": {**PAIR, "about": yaml.safe_load(written)}}
    assert getattr(select_corpus(corpora, "mine").about, field) == value


def test_another_licence_is_another_source() -> None:
    specs = [
        CorpusSpec.model_validate({**CSV_CORPUS, "about": {"licence": licence}})
        for licence in ("mit", "unknown")
    ]
    assert len({CorpusSource("films", spec).digest() for spec in specs}) == 2
