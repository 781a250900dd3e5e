"""The order in which things are shown, and what their names mean; unknown names come last."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from take.corpus.budget import Budget
from take.errors import InputError

FULL, RANDOM, DISTILLED, CONSTANT = "full", "random", "distilled", "constant"

METHODS = {
    FULL: "every row of the training split",
    CONSTANT: "no rows: always predicts the most frequent class of the training split",
    RANDOM: "rows drawn at random, as many of each class",
    "random_unstratified": "rows drawn at random, whatever their classes",
    "random_long": "random rows of the longer half of each class",
    "kmeans_long": "k-means among the longer half of each class",
    "eda": "random rows, each with nine copies altered by EDA (Wei & Zou 2019)",
    "herding": "rows whose mean follows that of their class",
    "kcenters": "rows that leave none far away",
    "kmeans": "rows nearest to the centres of k-means",
    "kmeans_pool": "the same, out of the pool of generated rows",
    "dilm": "rows that DiLM published (Maekawa et al. 2024)",
    "file": "rows of a file",
    DISTILLED: "the rows of `kedro run --pipeline=distill`",
    "take": "rows of the pool, chosen as `distillation.selection` says (`exam` by default)",
}
LEARNERS = (
    *("textcnn", "textrnn", "char_lr", "siamese_char_lr", "e5", "e5_lpft", "embedded_lm"),
    *("transformer", "transformer_lpft", "transformer_contrastive", "lr_phi", "siamese_lr_phi"),
    *("lr", "lr_rows", "siamese_lr", "siamese_lr_rows"),
)
"""Independent ones first; `CellResult.independent` decides which of the two a learner is."""
KINDS = {True: "independent learners", False: "learners in the selector's feature spaces"}
CORPORA = ("ag_news", "imdb", "sst2", "mnli", "qnli", "qqp", "mrpc")
_VARIANT = "take_"
_KERNEL = "take_kernel_"
_VARIANTS = {
    "take_without_kappa": "κ: every row weighs the same",
    "take_long": "exam rows of the longer half of the training rows",
    "take_unfiltered": "label filter: off",
    "take_real": "pool: real rows instead of generated ones",
    "take_exam": "one search, without a playoff, as all variants",
}


def is_variant(method: str) -> bool:
    """Whether it is TAKE with one part changed: it shows what that part is worth.

    >>> is_variant("take_without_kappa"), is_variant("take"), is_variant("kmeans")
    (True, False, False)
    """
    return method.startswith(_VARIANT)


def is_competitor(method: str) -> bool:
    """Whether it is a competing method: neither full data nor TAKE or a variant of it.

    A constant prediction is one: whoever does not beat it has learned nothing.

    >>> [name for name in ("full", "eda", "take_real", "distilled") if is_competitor(name)]
    ['eda']
    """
    return method not in (FULL, DISTILLED, "take") and not is_variant(method)


def meaning(method: str) -> str:
    """What a method is, in a few words; empty if it is not known.

    >>> meaning("take_kernel_last"), meaning("take_swap"), meaning("mine")
    ('kernel: last', 'selector: swap', '')
    """
    if method.startswith(_KERNEL):
        return f"kernel: {method.removeprefix(_KERNEL)}"
    if is_variant(method):
        return _VARIANTS.get(method, f"selector: {method.removeprefix(_VARIANT)}")
    return METHODS.get(method, "")


def ordered_methods(names: Iterable[str]) -> list[str]:
    """Full data first, then competitors, TAKE, and its variants by what they change.

    >>> ordered_methods(["take_swap", "take", "mine", "random", "take_kernel_last", "full"])
    ['full', 'random', 'mine', 'take', 'take_kernel_last', 'take_swap']
    """
    known = list(METHODS)
    ours = known.index(DISTILLED)

    def place(name: str) -> tuple[float, str, str]:
        if is_variant(name):
            # The paper's tables begin with "without_kappa".
            return (len(known), "" if name == "take_without_kappa" else meaning(name), name)
        return (known.index(name) if name in known else ours - 0.5, "", name)

    return sorted(set(names), key=place)


def ordered_learners(names: Iterable[str]) -> list[str]:
    """In the order of the tables.

    >>> ordered_learners(["lr", "transformer_lpft", "transformer", "mine", "textcnn"])
    ['textcnn', 'transformer', 'transformer_lpft', 'lr', 'mine']
    """
    return _ordered(names, LEARNERS)


def ordered_corpora(names: Iterable[str]) -> list[str]:
    """As in the paper."""
    return _ordered(names, CORPORA)


def ordered_budgets(names: Iterable[str]) -> list[str]:
    """From small to large, each kind on its own.

    >>> ordered_budgets(["50/class", "0.1%", "5/class"])
    ['0.1%', '5/class', '50/class']
    """

    def place(name: str) -> tuple[str, Fraction, str]:
        try:
            budget = Budget.parse(name)
        except InputError:
            return ("", Fraction(0), name)
        return ({"percent": "a", "rows": "b", "per_class": "c"}[budget.kind], budget.amount, name)

    return sorted(set(names), key=place)


def _ordered(names: Iterable[str], known: Sequence[str]) -> list[str]:
    places = {name: place for place, name in enumerate(known)}
    return sorted(set(names), key=lambda name: (places.get(name, len(places)), name))
