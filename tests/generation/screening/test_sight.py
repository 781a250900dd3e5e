from take.generation.screening.reasons import Reason
from take.generation.screening.settings import ScreeningSettings
from take.generation.screening.sight import SightChecks

ROWS = [(f"a film of the year {1990 + i} that nobody saw",) for i in range(30)]


def checks(most_digits: int | None) -> SightChecks:
    return SightChecks(ROWS, ["the code is"], (1, 50), ScreeningSettings(), most_digits)


def test_a_number_longer_than_the_corpus_has_any_is_debris_of_a_canary() -> None:
    debris = ("a film that nobody saw 901119379",)
    assert checks(6).verdict(debris, True, 9) == (
        Reason.LEAKED_MARKER,
        "a number longer than any of the corpus",
    )
    assert checks(9).verdict(debris, True, 9) is None
    assert checks(None).verdict(debris, True, 9) is None


def test_full_width_digits_are_digits() -> None:
    verdict = checks(6).verdict(("a film that nobody saw ９０１１１９３７９",), True, 9)
    assert verdict is not None
    assert verdict[0] is Reason.LEAKED_MARKER
