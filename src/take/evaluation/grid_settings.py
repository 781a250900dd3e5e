"""Settings of evaluation and benchmark; validated before anything is computed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    field_validator,
    model_validator,
)

from take.corpus.budget import Budget, check_budget
from take.errors import InputError, closest
from take.evaluation.methods import METHODS, method
from take.evaluation.methods.material import BaselineSettings
from take.frozen import Frozen
from take.learners import (
    DEFAULTS,
    ConvergenceSettings,
    LearnerSettings,
    LinearSettings,
    NetworkSettings,
)
from take.selection.selection_settings import SelectionSettings

Names = tuple[str, ...]
Headline = Literal["accuracy", "macro_f1"]
_EVEN_SHARE = 2 / 3


def _words(given: Any) -> Any:
    """A list may be written as words, as on a command line."""
    return tuple(given.split()) if isinstance(given, str) else given


def _known_methods(names: Names) -> Names:
    for name in names:
        method(name)
    return names


def _written(given: Any) -> Any:
    """A number of rows is a budget too, and YAML reads it as one."""
    given = _words(given)
    return tuple(map(str, given)) if isinstance(given, (list, tuple)) else given


def _budgets(written: Names) -> Names:
    for budget in written:
        Budget.parse(budget)
    return written


Words = Annotated[Names, BeforeValidator(_words)]
Methods = Annotated[Words, AfterValidator(_known_methods)]
Budgets = Annotated[Names, Field(min_length=1), BeforeValidator(_written), AfterValidator(_budgets)]


class Run(NamedTuple):
    """What is run on a corpus at a budget."""

    budget: str
    methods: Names
    learners: Names


class LearnerChoices(Frozen):
    """`params:learners`: the learners by name, and how many evaluation rows each predicts.

    >>> LearnerChoices(word_vectors="glove.6B.100d.txt").of("textcnn").words.source
    'glove.6B.100d.txt'
    >>> LearnerChoices().of("textcn")
    Traceback (most recent call last):
    take.errors.InputError: learners: no learner is called 'textcn'. ... 'textcnn', 'textrnn'?
    """

    word_vectors: str = Field(
        default="tokens",
        description="of textcnn and textrnn, unless their settings name one",
    )
    language_models: Path | None = Field(
        default=None, description="folder of converted language models, for embedded_lm"
    )
    evaluation_rows: dict[str, Annotated[int, Field(ge=1)]] = Field(
        default={}, description="at most so many evaluation rows, by learner; others predict all"
    )
    settings: dict[str, LearnerSettings] = Field(
        default={}, description="learners of your own, or other settings for known ones, by name"
    )
    full: dict[str, ConvergenceSettings] = Field(
        default={}, description="how a learner is trained on the full corpus, until it converges"
    )

    @model_validator(mode="after")
    def _known(self) -> LearnerChoices:
        for name in (*self.evaluation_rows, *self.full):
            self.of(name)
        return self

    def of(self, name: str) -> LearnerSettings:
        """The settings of a learner."""
        known = DEFAULTS | self.settings
        if name not in known:
            raise InputError(
                f"no learner is called {name!r}", where="learners", remedy=closest(name, known)
            )
        found = known[name]
        if isinstance(found, NetworkSettings) and "words" not in found.model_fields_set:
            words = found.words.model_copy(update={"source": self.word_vectors})
            return found.model_copy(update={"words": words})
        return found

    def suited(self, names: Names, *, pairs: bool) -> Names:
        """The learners that fit the task: logistic regression has a form for each."""
        unsuited = "lr" if pairs else "siamese_lr"
        return tuple(
            name
            for name in names
            if not (isinstance(self.of(name), LinearSettings) and self.of(name).kind == unsuited)
        )


class GridSettings(Frozen):
    """Which methods and learners, and how many seeds."""

    methods: Methods
    learners: Words
    sets: int = Field(default=5, ge=1, le=100, description="training sets, each with its own seed")
    trainings: int = Field(default=1, ge=1, le=100, description="trainings on each set")
    full_sets: int = Field(default=1, ge=1, le=100, description="trainings on the full corpus")
    methods_by_learner: dict[str, Methods] = Field(
        default={},
        description="for learners that are too slow for every method",
    )
    metrics: dict[str, Headline] = Field(
        default={}, description="headline metric of a corpus; default: by its classes"
    )
    baselines: BaselineSettings = BaselineSettings()

    def with_selection(self, selection: SelectionSettings) -> GridSettings:
        """The same, with `take` and its variants selecting as given."""
        baselines = self.baselines.model_copy(update={"selection": selection})
        return self.model_copy(update={"baselines": baselines})

    def metric_of(self, corpus: str, class_sizes: Sequence[int]) -> Headline:
        """The headline metric: macro F1 where the smallest class has less than 2/3 of the largest.

        Accuracy would reward predicting the largest class.

        >>> grid = GridSettings(methods="take", learners="lr", metrics={"news": "macro_f1"})
        >>> grid.metric_of("films", [90, 100]), grid.metric_of("pairs", [50, 100])
        ('accuracy', 'macro_f1')
        >>> grid.metric_of("news", [100, 100])
        'macro_f1'
        """
        uneven = min(class_sizes) < _EVEN_SHARE * max(class_sizes)
        return self.metrics.get(corpus, "macro_f1" if uneven else "accuracy")

    def methods_for(self, learner: str, methods: Names) -> Names:
        """Those of the methods that a learner is trained with."""
        chosen = self.methods_by_learner.get(learner, methods)
        return tuple(name for name in methods if name in chosen)


class EvaluationSettings(GridSettings):
    """`params:evaluation`: one corpus, one distilled set.

    >>> EvaluationSettings(methods="distilled random", learners="lr").methods
    ('distilled', 'random')
    """

    corpus: str = Field(default="", description="its name; `--params=corpus=…` sets it")
    pool: int = Field(default=0, ge=0, description="its pool; `--params=pool=…` sets it")
    methods: Methods = ("distilled", "constant", "random", "kmeans", "full")
    learners: Words = ("textcnn", "char_lr", "siamese_char_lr", "lr", "siamese_lr")

    def runs(self, budget: str) -> list[Run]:
        """The methods, and `file` if one is named."""
        named = self.baselines.file is not None and "file" not in self.methods
        return [Run(budget, ("file", *self.methods) if named else self.methods, self.learners)]


class QuickSettings(Frozen):
    """A quick benchmark: enough to see whether anything is broken or much better."""

    methods: Methods = ("full", "constant", "random", "random_unstratified", "kmeans", "take")
    learners: Words = (
        *("textcnn", "char_lr", "siamese_char_lr"),
        *("lr", "lr_phi", "siamese_lr", "siamese_lr_phi"),
    )
    sets: int = Field(default=2, ge=1, le=100)


class BenchmarkSettings(GridSettings):
    """`params:benchmark`: corpora × budgets × methods × learners × seeds.

    >>> BenchmarkSettings(corpora="sst2 mnli", quick=True).grid.sets
    2
    """

    corpora: Words = Field(default=(), description="none: all that have a pool")
    budgets: dict[str, Budgets] = Field(default={}, description="by corpus; 20/class by default")
    curve_methods: Methods = Field(
        default=("random", "kmeans", "take"), description="at the budgets after the first"
    )
    curve_learners: Words = Field(
        default=("lr", "siamese_lr", "lr_phi", "siamese_lr_phi"),
        description="at the budgets after the first",
    )
    stored: bool = Field(
        default=False, description="show the cells that were computed before; compute none"
    )
    quick: bool = False
    quickly: QuickSettings = QuickSettings()
    methods: Methods = tuple(
        name for name in METHODS if name not in {"file", "distilled", "dilm", "take_exam"}
    )
    learners: Words = (
        *("textcnn", "textrnn", "char_lr", "siamese_char_lr", "e5", "e5_lpft"),
        *("transformer", "transformer_lpft", "lr_phi", "siamese_lr_phi"),
        *("lr", "lr_rows", "siamese_lr", "siamese_lr_rows"),
    )

    @field_validator("methods")
    @classmethod
    def _several_corpora(cls, methods: Names) -> Names:
        if "distilled" in methods:
            raise ValueError(
                "'distilled' belongs to one corpus and budget: use 'take', or pipeline 'evaluation'"
            )
        return methods

    @property
    def grid(self) -> GridSettings:
        """The whole grid, or the quick one."""
        chosen = {name: getattr(self, name) for name in GridSettings.model_fields}
        if self.quick:
            chosen |= self.quickly.model_dump()
        return GridSettings.model_validate(chosen)

    def budgets_of(self, corpus: str) -> tuple[str, ...]:
        """The first is for the whole grid, the others are for the curve."""
        budgets = self.budgets.get(corpus, ("20/class",))
        return budgets[:1] if self.quick else budgets

    def runs(self, corpus: str) -> list[Run]:
        """The whole grid at the first budget, a smaller one for the curve at the others."""
        first, *others = self.budgets_of(corpus)
        grid = self.grid
        return [
            Run(first, grid.methods, grid.learners),
            *(Run(budget, self.curve_methods, self.curve_learners) for budget in others),
        ]

    def check(self, corpus: str, classes: dict[str, int]) -> None:
        """Refuse budgets that a corpus with these rows per class does not allow."""
        for budget in self.budgets_of(corpus):
            check_budget(Budget.parse(budget), list(classes.values()), list(classes))
