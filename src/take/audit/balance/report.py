"""The balance report: numbers and names only, each with its meaning.

It holds no text and no word of the corpus, because MLflow logs it; words are in a separate table.
"The reweighted corpus" is always the corpus at the set's own mix of classes (`rows.py`).
"""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import Field

from take.audit.audited import AuditedRows
from take.frozen import Frozen

Where = Literal["distilled", "pool"]
Verdict = Literal["even", "shifted", "inconclusive"]
_NAMED = 4  # figures that the summary names


class Finding(Frozen):
    """One figure compared with the corpus."""

    name: str = Field(description="What is compared: class, length, vocabulary, mention, …")
    where: Where = Field(description="Which rows: distilled or pool.")
    value: float | None = Field(
        description="A ratio to the corpus (1 is no shift) or, of labels among mentions, a "
        "difference of shares (0 is no shift); none where the ratio has no bound."
    )
    low: float | None = Field(description="Lower end of its interval; none: no bound.")
    high: float | None = Field(description="Upper end of its interval; none: no bound.")
    p_adjusted: float = Field(
        description="p-value of no shift, for all figures of this set at once (Holm)."
    )
    verdict: Verdict = Field(
        description="`shifted`: chance is ruled out and the value is outside what counts as even; "
        "`even`: the whole interval is within it; `inconclusive`: neither, mostly for too few rows."
    )
    sentence: str = Field(description="The same in words.")


class ClassShare(Frozen):
    """One class."""

    rows: int = Field(description="Rows of this class.")
    share: float = Field(description="Their share of the set.")
    expected: float = Field(description="The share that the budget sets.")
    corpus: float = Field(description="The share in the corpus; a set may differ on purpose.")


class Quantiles(Frozen):
    """How lengths are spread over rows."""

    p5: int = Field(description="5 % of rows have this many words or fewer.")
    p25: int = Field(description="A quarter of the rows has this many words or fewer.")
    p50: int = Field(description="Half of the rows have this many words or fewer.")
    p75: int = Field(description="Three quarters of the rows have this many words or fewer.")
    p95: int = Field(description="95 % of rows have this many words or fewer.")


class LengthShift(Frozen):
    """Words per text, of one column of texts."""

    mean: float = Field(description="Mean number of words.")
    corpus_mean: float = Field(description="The same of the reweighted corpus.")
    quantiles: Quantiles = Field(description="Of the set.")
    corpus_quantiles: Quantiles = Field(description="Of the reweighted corpus.")
    standardised_difference: float | None = Field(
        description="Difference of the means over √((s² + s²_corpus)/2); none without spread."
    )
    ks: float = Field(description="Largest gap between the cumulative shares of the lengths.")
    ks_p: float = Field(description="p-value of that gap if both had one distribution.")


class Variety(Frozen):
    """A figure of the set, and of random corpus rows: as many, of the same classes."""

    value: float = Field(description="Of the set.")
    random_rows: float = Field(description="Mean over samples of the corpus: what size alone does.")


class VocabularyShift(Frozen):
    """The words of the set."""

    tokens: int = Field(description="Number of words, counted as often as they occur.")
    known_share: Variety = Field(
        description="Share of them that other rows of the corpus have as well."
    )
    distinct_1: Variety = Field(description="Different words over words, at equally many words.")
    distinct_2: Variety = Field(description="Different word pairs over word pairs, likewise.")
    divergence: Variety = Field(
        description="Jensen–Shannon divergence, in bits, of the word frequencies from those of "
        "corpus rows that are not in the sample: 0 the same, 1 no word in common."
    )
    random_low: float = Field(description="Lower end of the range of random rows' divergence.")
    random_high: float = Field(description="Upper end of the range of random rows' divergence.")


class LabelShare(Frozen):
    """Among the rows that mention a group, those of one class."""

    share: float = Field(description="P(label | mentions) in the set.")
    corpus: float = Field(description="The same in the reweighted corpus.")
    low: float = Field(description="Lower end of the difference's interval.")
    high: float = Field(description="Upper end of the difference's interval.")


class MentionShift(Frozen):
    """Rows that mention one side of a group."""

    rows: int = Field(description="Rows of the set that mention it.")
    share: float = Field(description="Their share of the set.")
    corpus: float = Field(description="Their share of the corpus as it is.")
    corpus_reweighted: float = Field(description="Their share of the reweighted corpus.")
    ratio: float | None = Field(description="share / corpus_reweighted; none of n / 0.")
    low: float | None = Field(description="Lower end of the ratio's interval; none of 0 / 0.")
    high: float | None = Field(description="Upper end of the ratio's interval; none: no bound.")
    labels: dict[str, LabelShare] = Field(
        description="By class, the labels of such rows: what a model could learn bias from; "
        "empty where set or corpus has no such row."
    )


class SidesShift(Frozen):
    """Of the rows that mention one of two sides and not the other: the one against the other."""

    odds: float | None = Field(description="First side over second, in the set; none: no second.")
    corpus: float | None = Field(description="The same in the reweighted corpus.")
    ratio: float | None = Field(description="odds / corpus; none where it has no bound.")
    low: float | None = Field(description="Lower end of the ratio's interval.")
    high: float | None = Field(description="Upper end of the ratio's interval; none: no bound.")


class SetBalance(Frozen):
    """All figures of one set."""

    rows: int = Field(description="Rows of the set.")
    classes: dict[str, ClassShare]
    lengths: dict[str, LengthShift]
    vocabulary: VocabularyShift | None = Field(
        description="None if no class has two corpus rows, or there are no words."
    )
    mentions: dict[str, MentionShift]
    sides: dict[str, SidesShift]


class BalanceReport(Frozen):
    """How far distilled rows and pool have shifted from the corpus."""

    corpus_rows: int = Field(description="Rows of the corpus.")
    distilled: SetBalance
    pool: SetBalance
    findings: list[Finding] = Field(description="Each figure with its verdict and its sentence.")
    audited: AuditedRows | None = Field(default=None, description="The rows it is about.")

    def of(self, where: Where, verdict: Verdict | None = None) -> list[Finding]:
        """The findings about a set, of one verdict or of all."""
        return [
            finding
            for finding in self.findings
            if finding.where == where and verdict in (None, finding.verdict)
        ]

    def summary(self) -> str:
        """The figures to look at first, in one line."""
        parts = []
        for where in get_args(Where):
            names = [finding.name for finding in self.of(where, "shifted")]
            more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
            named = f" ({', '.join(names[:_NAMED])}{more})" if names else ""
            counted = f"{where}: {len(names)} of {len(self.of(where))} figures shifted{named}"
            parts.append(f"{counted}, {len(self.of(where, 'inconclusive'))} inconclusive")
        return "; ".join(parts)
