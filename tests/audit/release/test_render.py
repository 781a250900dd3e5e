"""The page as text and as HTML, without a browser (that is test_browser.py)."""

from __future__ import annotations

import dataclasses
import re

import pandas as pd
import pytest

from take.audit.privacy.report import Check, PrivacyReport
from take.audit.release.render import CONTENTS, render_page
from take.audit.release.report_rows import LONG
from take.generation.finetuning.fine_tuning_report import PrivacyReport as SpentBudget
from tests.audit.release.sample import HOSTILE, HOSTILE_NAMES, NAMES, Page, evidence


@pytest.fixture(scope="module")
def hostile() -> str:
    made = evidence(HOSTILE, HOSTILE, names=HOSTILE_NAMES, rows_per_class=5)
    return render_page(made, release=False)


def test_texts_of_distilled_and_training_rows_are_shown_unchanged(hostile: str) -> None:
    texts = Page(hostile).texts
    for text in HOSTILE:
        # Once as a distilled row; hostile training rows may also be listed in the lineage.
        assert text in texts


def test_texts_become_no_markup(hostile: str) -> None:
    page = Page(hostile)
    harmless = Page(render_page(evidence(), release=False))
    assert set(page.tags) <= set(harmless.tags)
    assert not {"script", "img", "u", "link", "iframe", "object", "form"} & set(page.tags)
    assert page.tags.count("style") == page.tags.count("body") == 1


def test_nothing_is_loaded_or_linked_from_elsewhere(hostile: str) -> None:
    page = Page(hostile)
    names = {name for _, name, _ in page.attributes}
    assert not {"src", "srcset", "action", "formaction", "ping", "background", "poster"} & names
    assert not [name for name in names if name.startswith("on")]
    links = [value for _, name, value in page.attributes if name in ("href", "xlink:href")]
    assert links
    assert all(re.fullmatch(r"#[a-z0-9-]+", link) for link in links)
    style = hostile[hostile.index("<style>") : hostile.index("</style>")]
    assert not re.search(r"url\(|@import|https?:|expression\(", style)
    inline = [value for _, name, value in page.attributes if name == "style"]
    assert all(re.fullmatch(r"width:[\d.]+%", value) for value in inline)


def test_every_internal_link_has_its_target(hostile: str) -> None:
    page = Page(hostile)
    places = {value for _, name, value in page.attributes if name == "id"}
    links = {value[1:] for _, name, value in page.attributes if name == "href"}
    assert links <= places
    assert {anchor for anchor, _ in CONTENTS} <= places


def test_policy_forbids_scripts_and_requests(hostile: str) -> None:
    head = hostile[: hostile.index("<style>")]
    assert "default-src 'none'; style-src 'unsafe-inline'; img-src data:" in head


def test_addresses_of_the_corpus_are_no_links(hostile: str) -> None:
    outside_texts = hostile.replace("https://example.org/?a=1&amp;b=2", "")
    outside_texts = outside_texts.replace("https://example.org/films", "")  # the corpus's source
    assert not re.search(r"https?://", outside_texts)


def test_long_texts_are_folded_and_whole(hostile: str) -> None:
    assert hostile.count('<details class="long">') >= 2
    assert max(map(len, HOSTILE)) > LONG
    assert "all 10,240 characters" in hostile


def test_control_characters_are_shown() -> None:
    texts = ["nul \0 esc \x1b[31m del \x7f nel \x85 back\x08", "a\u202egnp.exe"]
    page = render_page(evidence(texts), release=False)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", page)
    page.encode("utf-8")
    shown = Page(page).texts
    assert "nul ␀ esc ␛[31m del ␡ nel ⟨U+0085⟩ back␈" in shown
    assert "a⟨U+202E⟩gnp.exe" in shown


SECRETS = [f"zanzibar{place} kumquat{place} told nobody{place}" for place in range(120)]


def test_without_release_the_training_rows_are_there() -> None:
    page = render_page(evidence(source_texts=SECRETS), release=False)
    assert page.count("zanzibar") > 20
    assert all(f"zanzibar{place} " in page for place in range(2))  # the least covered ones
    listed = re.findall(r"s120-\d{4}", page)
    assert len(set(listed)) > 20


@pytest.mark.parametrize("pair", [False, True])
def test_release_leaves_out_texts_words_and_ids_of_the_corpus(pair: bool) -> None:
    # The second distilled row copies a training row, so that there is something to show of it.
    made = evidence(["fine", SECRETS[7]], SECRETS, rows_per_class=4, pair=pair)
    assert pair or len(made.privacy_findings)
    page = render_page(made, release=True)
    assert not [row_id for row_id in made.corpus["id"] if row_id in page]
    of_distilled = {
        text
        for column in ("text", "text_a", "text_b")
        if column in made.distilled
        for text in made.distilled[column]
    }
    assert not [text for text in SECRETS if text in page and text not in of_distilled]
    words = {word for text in SECRETS if text not in of_distilled for word in text.split()}
    assert not words & set(re.findall(r"\w+", page)) - {"told"}
    assert "texts and ids of training rows are left out" in page
    assert "training row" in page  # totals stay


def test_release_names_no_folder_of_the_machine() -> None:
    made = evidence()
    made = dataclasses.replace(
        made,
        reproduction=made.reproduction._replace(command="kedro run --params=raw_root=/home/jo/raw"),
    )
    assert "/home/jo" in render_page(made, release=False)
    assert "/home/jo" not in render_page(made, release=True)


def judged(state: str, **given: object) -> PrivacyReport:
    report = evidence().privacy
    signed = "J. Doe: made up" if state == "overridden" else None
    verdict = "block" if state == "overridden" else state
    check = Check(name="pii", verdict=verdict, sentence="3 rows hold e-mails.", overridden=signed)
    passed = Check(name="verbatim", verdict="pass", sentence="0 rows copy.")
    update = {"verdict": verdict, "blocked": state == "block", "checks": [passed, check], **given}
    return report.model_copy(update=update)


@pytest.mark.parametrize(
    ("state", "word", "statement"),
    [
        ("pass", "Pass", "Nothing was found that stops a release."),
        ("review", "Review", "1 finding to read before a release."),
        ("block", "Block", "1 finding stops the export."),
        ("overridden", "Overridden", "1 finding would stop the export, and was overridden."),
    ],
)
def test_verdict_comes_first_and_says_what_it_means(state: str, word: str, statement: str) -> None:
    page = render_page(evidence(privacy=judged(state)), release=False)
    words = Page(page).all_words()
    assert f"Screened. {statement}" in words
    assert words.index(statement) < words.index("The rows, and what they stand for")
    assert f'<div class="verdict {state}"' in page
    assert (words.count("3 rows hold e-mails.") > 1) is (state != "pass")
    assert ("Overridden: J. Doe: made up" in words) is (state == "overridden")
    assert "private" not in words.casefold()
    assert f"<title>{word}: " in page


def test_epsilon_is_stated_with_what_it_covers() -> None:
    spent = SpentBudget(
        epsilon=3.987,
        delta=1e-5,
        target_epsilon=4,
        noise_multiplier=1,
        clip_norm=1,
        sample_rate=0.1,
        accountant="prv",
        updates=10,
        repeatable=True,
    )
    words = Page(
        render_page(evidence(privacy=judged("pass", spent=spent)), release=False)
    ).all_words()
    assert "ε = 3.99 (δ = 1.0e-05). ε covers what its adapter learned" in words
    assert "does not protect against anyone who knows it" in words
    assert "Differential privacy was not used" not in words


def test_terms_of_the_language_model_are_shown() -> None:
    made = evidence()
    tuning = made.fine_tuning_report.model_copy(update={"terms": "Under terms at example.org"})
    page = render_page(dataclasses.replace(made, fine_tuning_report=tuning), release=True)
    assert "<dt>Terms of the language model</dt><dd>Under terms at example.org</dd>" in page
    assert "Terms of the language model" not in render_page(made, release=True)


def test_optional_parts_may_be_missing() -> None:
    made = evidence()
    optional = dict.fromkeys(
        (
            *("lineage", "corpus", "map_coordinates", "least_covered", "membership_scores"),
            *("balance_terms", "accuracy_summary", "slice_accuracy", "costs"),
        )
    )
    privacy = made.privacy.model_copy(
        update={
            "distances": {},
            "membership": made.privacy.membership.model_copy(
                update={"canaries": None, "rows": None}
            ),
        }
    )
    bare = dataclasses.replace(
        made,
        **optional,
        privacy=privacy,
        privacy_findings=made.privacy_findings[:0],
        budget_curve=made.budget_curve[:0],
    )
    words = Page(render_page(bare, release=False)).all_words()
    for missing in (
        "No lineage was given",
        "There is no map in this run",
        "No budget curve was made",
        "Distances could not be compared",
        "Membership could not be tested",
        "kedro run --pipeline=evaluate",
        "No costs were recorded",
        "not evaluated in this run",
    ):
        assert missing in words, missing


@pytest.mark.parametrize(("n_classes", "rows_per_class"), [(2, 1), (3, 1), (20, 6)])
def test_all_rows_are_shown_whatever_their_number(n_classes: int, rows_per_class: int) -> None:
    names = [f"class {place}" for place in range(n_classes)]
    made = evidence(names=names, rows_per_class=rows_per_class)
    page = render_page(made, release=False)
    texts = Page(page).texts
    assert all(text in texts for text in made.distilled["text"])
    assert page.count('<li id="row-') == n_classes * rows_per_class
    assert page.count('class="spot ') == n_classes * rows_per_class
    shown = [page.index(f"<bdi>{name}</bdi></h3>") for name in names]
    assert shown == sorted(shown)


def test_both_texts_of_a_pair_are_shown() -> None:
    made = evidence(pair=True)
    page = Page(render_page(made, release=False))
    for column in ("text_a", "text_b"):
        assert all(text in page.texts for text in made.distilled[column])


def test_a_class_without_a_row_is_named() -> None:
    made = evidence()
    only = made.distilled[made.distilled["label"] == 0]
    page = render_page(dataclasses.replace(made, distilled=only), release=False)
    assert "No row of this class was distilled." in page
    assert f"<bdi>{NAMES[1]}</bdi></h3>" in page


def test_a_row_with_a_finding_says_so_and_the_finding_leads_to_the_row() -> None:
    made = evidence(["fine", SECRETS[3]], SECRETS)
    found = made.privacy_findings.query("where == 'distilled' and reference == 'train'")
    assert found["kind"].tolist() == ["verbatim"]
    page = render_page(made, release=False)
    row = page[page.index('id="row-2"') : page.index('id="row-4"')]
    assert '<a class="chip flag" href="#findings">verbatim</a>' in row
    findings = page[page.index('<div id="findings">') :]
    assert '<a href="#row-2">row 2</a>' in findings[: findings.index("</ol>")]


def test_a_missing_column_of_a_template_is_an_error() -> None:
    made = evidence()
    costs = pd.DataFrame({"stage": ["a"], "node": ["b"], "seconds": [1.0]})
    with pytest.raises(KeyError, match="peak_megabytes"):
        render_page(dataclasses.replace(made, costs=costs), release=False)


def test_same_evidence_same_page() -> None:
    first, second = (render_page(evidence(), release=False) for _ in range(2))
    assert first == second
    assert " object at 0x" not in first
