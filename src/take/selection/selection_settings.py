"""The settings of `distillation`, with bounds: they are validated before anything is computed."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field, field_validator, model_validator

from take.frozen import Frozen, Quantiles
from take.rows.arrays import Int64

Scope = Literal["class", "global"]
ClassMass = Literal["even", "corpus", "weights"]
Plan = Literal["nearest", "entropic"]
SurrogateName = Literal["phi", "tfidf", "joint", "centred", "words"]
PlayoffLearner = Literal["transformer_lpft", "transformer", "textcnn", "textrnn", "char_lr"]
RecipeName = Literal["transformer_lpft", "transformer_contrastive", "transformer"]
UNCOUPLED = ("kmeans", "random")
"""Selectors that transport nothing, so that no prior coupling can act on them."""


class PlayoffSettings(Frozen):
    """`params:distillation.selection.exam.playoff`: several sets, compared by real training.

    >>> PlayoffSettings(sets=4).learners
    ('transformer_lpft', 'textcnn')
    """

    sets: int = Field(default=0, ge=0, le=100)
    """Searches, each with its own exam rows; fewer than 2: one search, and nothing to choose."""
    learners: tuple[PlayoffLearner, ...] = Field(
        default=("transformer_lpft", "textcnn"), min_length=1
    )
    """Each is trained on every set."""
    recipes: tuple[RecipeName, ...] = ()
    """Tried on the set that is chosen: the best on validation rows is recommended in the
    release."""
    rounds: int = Field(default=2, ge=1, le=10)
    """Trainings of a set, at most: the worse half of the sets leaves after each."""
    validation_rows: int = Field(default=500, ge=10)
    """Of the validation rows, those that decide."""
    fresh_rows: int = Field(default=500, ge=10)
    """Other training rows, which decide nothing: they show by how much the winner was lucky. At
    most a quarter of the validation rows of the search."""

    @property
    def transformer_trainings(self) -> int:
        """Trainings of a transformer, which take nearly all of its time.

        >>> recipes = ("transformer_lpft", "transformer_contrastive")
        >>> PlayoffSettings(recipes=recipes).transformer_trainings
        2
        >>> PlayoffSettings(sets=5, recipes=recipes).transformer_trainings  # 5 and 3, and 1 more
        9
        """
        left, trained = self.sets, 0
        for _ in range(self.rounds if left > 1 else 0):
            trained += left
            left = (left + 1) // 2
        transformers = [name for name in self.learners if trained and "transformer" in name]
        return trained * len(transformers) + len(set(self.recipes) - set(transformers))


class ExamSettings(Frozen):
    """`params:distillation.selection.exam`: selection by the accuracy of surrogate models.

    >>> ExamSettings(surrogates=("phi", "tfidf"), max_sweeps=3).exam_rows
    8000
    """

    surrogates: tuple[SurrogateName, ...] = Field(default=("phi", "tfidf"), min_length=1)
    """Feature spaces of the kernel-ridge models: `surrogates.KERNELS`."""
    exam_rows: int = Field(default=8000, ge=10)
    """Training rows the surrogates are scored on: the more, the less they overfit."""
    validation_rows: int = Field(default=2000, ge=10)
    """Other training rows: they stop the search and choose which sweep is kept."""
    length_quantiles: Quantiles = (0.0, 1.0)
    """Exam, validation and fresh rows are of these lengths in characters: of those that texts to
    predict will have. [0.5, 1]: the longer half of the training rows."""
    schedule: Literal["growing", "fixed"] = "growing"
    """`growing`: the first sweep uses one of `parts`, each later one twice as many, up to all (as
    good as `fixed` in about half the time); `fixed`: every sweep uses all."""
    parts: int = Field(default=4, ge=1)
    fewest_rows: int = Field(default=200, ge=4)
    """With fewer exam rows `facility` selects instead."""
    ridge_grid: tuple[float, ...] = Field(default=(0.1, 0.3, 1.0, 3.0), min_length=1)
    """λ: each surrogate uses the best of these, fitted again in every sweep."""
    exact_candidates: int = Field(default=64, ge=1)
    """Candidates of a position scored exactly, after the quadratic screen."""
    min_gain: float = Field(default=1e-4, ge=0)
    """Smallest decrease of the exam loss that is worth a swap."""
    max_sweeps: int = Field(default=12, ge=0)
    max_swaps: int | None = Field(default=None, ge=0)
    max_seconds: float | None = Field(default=None, ge=0)
    """A time limit makes the rows depend on the machine."""
    patience: int = Field(default=3, ge=1)
    """Sweeps without a lower validation loss before the search ends."""
    playoff: PlayoffSettings = PlayoffSettings()

    def without_recipes(self) -> ExamSettings:
        """The same with no way to train tried on the rows."""
        none = self.playoff.model_copy(update={"recipes": ()})
        return self.model_copy(update={"playoff": none})

    def without_playoff(self) -> ExamSettings:
        """The same with a single search, and nothing trained on its rows."""
        none = self.playoff.model_copy(update={"sets": 0, "recipes": ()})
        return self.model_copy(update={"playoff": none})

    @field_validator("surrogates")
    @classmethod
    def _each_once(cls, names: tuple[SurrogateName, ...]) -> tuple[SurrogateName, ...]:
        if len(set(names)) < len(names):
            raise ValueError(f"surrogates {list(names)} name one model twice; name each once")
        return names

    @field_validator("ridge_grid")
    @classmethod
    def _positive(cls, grid: tuple[float, ...]) -> tuple[float, ...]:
        if min(grid) <= 0:
            raise ValueError(f"ridge_grid holds {min(grid):g}; each λ must be above 0")
        return grid


class CouplingSettings(Frozen):
    """`params:distillation.selection.coupling`: a prior that keeps transport within groups.

    >>> CouplingSettings(by="clusters").clusters
    8
    """

    by: Literal["group", "clusters"] | None = None
    """`group`: the corpus column `columns.group` of corpora.yml; `clusters`: k-means of φ, class by
    class (of all rows with the scope `global`)."""
    clusters: int = Field(default=8, ge=2, le=1000)
    strength: float = Field(default=0.5, ge=0, lt=1)
    """s: the share of the prior that stays within groups."""


class SelectionSettings(Frozen):
    """`params:distillation.selection`: how rows are selected (METHOD §3).

    >>> SelectionSettings(epsilon=0.1).epsilon
    0.1
    """

    selector: str = "exam"
    """A name in `selectors.SELECTORS`."""
    scope: Scope = "class"
    """`class`: each class has its budget; `global`: classes compete for all of it."""
    tempering: float = Field(default=1.0, ge=0, le=1)
    """Α of w^α: 1 is κ, 0 gives equal weights."""
    class_mass: ClassMass = "even"
    """Mass of a class in w: `even` (as the budget), `corpus` (its share of the rows), or `weights`
    (what κ gives it: more to classes that are easy)."""
    seed: int = Field(default=0, ge=0, lt=2**32)
    block_rows: int = Field(default=2048, ge=1, le=1_000_000)
    """Corpus rows processed at a time."""
    memory_megabytes: int = Field(default=1024, ge=16)
    """Limit on what a selector keeps to save time."""
    most_replaced: float = Field(default=0.2, ge=0, le=1)
    """`redistil`: share of the rows that may be replaced."""
    epsilon: float = Field(default=0.05, gt=0, le=10)
    """ε of Eq. 11."""
    iterations: int = Field(default=200, ge=1, le=100_000)
    """Sinkhorn iterations of `received_mass`."""
    tolerance: float = Field(default=1e-5, gt=0, lt=1)
    """Largest Σ_c |Σ_n γ_nc − ν_c| of a converged plan."""
    path_factor: float = Field(default=2.0, ge=1, le=100)
    """`facility`, `exam`: greedy continues to this multiple of the budget, for the budget curve."""
    refine: bool = True
    """`facility`: swap until no swap lowers the cost."""
    swap_rows: int = Field(default=4096, ge=1, le=1_000_000)
    """`swap`: corpus rows drawn by weight."""
    swap_patience: int = Field(default=50, ge=1)
    """`swap`: solves without a gain before it stops."""
    kmeans_iterations: int = Field(default=50, ge=1, le=10_000)
    coupling: CouplingSettings = CouplingSettings()
    exam: ExamSettings = ExamSettings()

    @property
    def playoff_learners(self) -> tuple[str, ...]:
        """Learners that a playoff chooses by: they are not independent of the selector.

        >>> SelectionSettings(exam=ExamSettings(playoff=PlayoffSettings(sets=2))).playoff_learners
        ('transformer_lpft', 'textcnn')
        """
        final = self.exam.playoff
        return final.learners if self.selector == "exam" and final.sets > 1 else ()

    @property
    def memory_bytes(self) -> int:
        """The memory limit in bytes."""
        return self.memory_megabytes * 2**20

    def replaceable(self, rows: Int64, previous: Int64) -> int:
        """How many rows may still be replaced when a corpus is distilled again.

        Those of `rows` that were not chosen before count as replaced.

        >>> SelectionSettings().replaceable(np.arange(19), previous=np.arange(18))
        2
        """
        added = len(np.setdiff1d(rows, previous))
        return max(0, int(self.most_replaced * len(rows) + 1e-9) - added)

    @field_validator("selector")
    @classmethod
    def _selector_is_registered(cls, name: str) -> str:
        from take.selection.selectors import SELECTORS  # selectors read these settings

        if name not in SELECTORS:
            raise ValueError(f"selector is {name!r}; registered are {', '.join(SELECTORS)}")
        return name

    @model_validator(mode="after")
    def _coupling_has_a_transport(self) -> SelectionSettings:
        if self.coupling.by is not None and self.selector in UNCOUPLED:
            raise ValueError(
                f"coupling.by is {self.coupling.by!r}, but {self.selector!r} transports nothing: "
                "choose another selector, or set coupling.by to null"
            )
        return self


class DescriptionSettings(Frozen):
    """`params:distillation.description`: what is reported; it does not change the rows."""

    sample_weights: Literal["uniform", "mass"] = "uniform"
    """`weight` of a distilled row: 1, or by the mass it represents, with mean 1."""
    lineage_rows: int = Field(default=20, ge=1, le=10_000)
    """Training rows listed for each distilled row."""
    plan: Plan = "nearest"
    """`nearest`: a training row is represented by its nearest distilled row; `entropic`: it is
    shared among them as in Eq. 11."""
    curve_rows_per_class: int | None = Field(default=None, ge=1)
    """Last point of the budget curve; None: twice the budget."""
    sample_rows: int = Field(default=1000, ge=10, le=20_000)
    """Corpus rows in the exact distances."""
    seed: int = Field(default=0, ge=0, lt=2**32)
