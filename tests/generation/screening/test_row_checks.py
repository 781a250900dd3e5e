from __future__ import annotations

import pytest

from take.generation.screening.reasons import Reason, ScreeningSettings
from take.generation.screening.row_checks import CorpusLanguage, LoopBounds, RowChecks

settings = ScreeningSettings()
ADJECTIVES = ("dull", "warm", "slow", "clever", "bold", "tired", "loud", "tender")
NOUNS = ("film", "story", "plot", "drama", "comedy", "script", "war", "family")
CORPUS = [
    f"this {adjective} {noun} is about a {other} {last} and it works"
    for adjective in ADJECTIVES
    for noun in NOUNS
    for other in ADJECTIVES[:4]
    for last in NOUNS[:4]
]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("no no no no", "a phrase 4 times in a row"),
        ("No, no! NO... no", "a phrase 4 times in a row"),
        ("it is the film it is the film it is the film it is the film", "a phrase 4 times"),
        ("good and good and good and good and bad", "a phrase 4 times"),
        ("what a film!!!!!!!!", "a character 8 times in a row"),
        ("aaaaaaa", "a character 7 times in a row"),
        ("no no no", "a phrase 3 times in a row"),
        ("no no", None),
        ("so so and so so and", None),
        ("one two three four five one two three four five one two three four five", None),
        ("oooo!", "a character 4 times in a row"),
        ("ooo...", None),
        ("", None),
    ],
)
def test_loops(text: str, problem: str | None) -> None:
    found = LoopBounds.learn(CORPUS, settings).problem(text)
    assert (found is None) == (problem is None)
    assert (problem or "") in (found or "")


def test_repetitions_of_the_corpus_are_no_loop() -> None:
    dotted = [f"{text}.........." if i % 50 == 0 else text for i, text in enumerate(CORPUS)]
    bounds = LoopBounds.learn(dotted, settings)
    assert bounds.problem("well..........") is None
    assert bounds.problem("well...........") == "a character 11 times in a row"
    once = [f"{CORPUS[0]}..........", *CORPUS[1:]]
    assert LoopBounds.learn(once, ScreeningSettings(corpus_tail=0.01)).problem("well..........")


def learn(texts: list[str]) -> CorpusLanguage:
    return CorpusLanguage.learn([(text,) for text in texts], texts, settings)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("this clever comedy is about a tender war", None),
        ("this Tarantino film is about a bold Wachowski family", None),
        ("Zabriskie Point", None),  # two odd words are no foreign language
        ("ein wunderbarer film mit tollen schauspielern", "5 of 6 words are unknown"),
        ("этот фильм очень хорош", "100% of the letters are Cyrillic"),
        ("this film 这部电影很好看 works", "of the letters are Cjk"),
        ("this film is about ж and it works", "4% of the letters are Cyrillic"),
        ("this film is about ж and it works as a tender comedy about a bold family war", None),
        ("12 : 30 : 45 : 17", None),
    ],
)
def test_language(text: str, problem: str | None) -> None:
    found = learn(CORPUS).problem(text)
    assert (found is None) == (problem is None)
    assert (problem or "") in (found or "")


def test_a_corpus_of_two_scripts_knows_both() -> None:
    both = [*CORPUS, *("этот фильм очень хорош" for _ in range(20))]
    assert learn(both).problem("хорош этот фильм") is None


def test_a_corpus_full_of_rare_words_allows_them() -> None:
    odd = [*CORPUS, *(f"x{i} y{i} z{i} v{i} w{i} q{i}" for i in range(50))]
    text = "ein wunderbarer film mit tollen schauspielern"
    assert learn(odd).problem(text) is None


def test_words_both_texts_of_one_pair_share_count_as_unknown_to_the_others() -> None:
    """As for a corpus of paraphrases: a new pair's words will be as new."""
    rows = [(f"x{i} y{i} and so on", f"x{i} y{i} or not") for i in range(50)]
    sample = [text for row in rows for text in row]
    language = CorpusLanguage.learn(rows, sample, settings)
    assert language.usual_share == pytest.approx(4 / 9)


ROWS = [(f"a film of the year {1990 + i} that nobody saw",) for i in range(30)]


def checks(most_digits: int | None) -> RowChecks:
    return RowChecks(ROWS, ["the code is"], (1, 50), ScreeningSettings(), most_digits)


def test_a_number_longer_than_any_of_the_corpus_is_part_of_a_canary() -> None:
    canary = ("a film that nobody saw 901119379",)
    assert checks(6).verdict(canary, True, 9) == (
        Reason.LEAKED_MARKER,
        "a number longer than any of the corpus",
    )
    assert checks(9).verdict(canary, True, 9) is None
    assert checks(None).verdict(canary, True, 9) is None


def test_full_width_digits_are_digits() -> None:
    verdict = checks(6).verdict(("a film that nobody saw ９０１１１９３７９",), True, 9)
    assert verdict is not None
    assert verdict[0] is Reason.LEAKED_MARKER
