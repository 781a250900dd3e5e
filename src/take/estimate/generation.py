"""What the language model would have to read and write, and what earlier runs have left of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from take.estimate.counts import GenerationCounts
from take.generation.finetuning.canaries import plant
from take.generation.finetuning.examples import TrainingRows
from take.generation.finetuning.fine_tuning_settings import FineTuningSettings
from take.generation.finetuning.training import training_key
from take.generation.language_models import LanguageModel
from take.generation.sampling.rows import LengthBounds, SamplingSettings, corpus_lengths
from take.generation.sampling.writer import row_key
from take.generation.template import Template
from take.reuse.records import record_path
from take.rows.arrays import Int64
from take.rows.labelled import class_names, task_of

_PART = re.compile(r"class-(\d+)-rows-(\d+)-(\d+)\.parquet")


@dataclass(frozen=True)
class GenerationPlan:
    """The rows to train on, if any are left to train on, and the rows to write."""

    template: Template
    counts: GenerationCounts
    rows: TrainingRows | None
    """None where fine-tuning is reused or was finished before."""

    def with_updates(self, tokens: Int64) -> GenerationCounts:
        """The counts with the tokens of each update."""
        return replace(self.counts, update_tokens=tokens)


def plan_generation(
    corpus: pd.DataFrame,
    language_model: LanguageModel,
    fine_tuning: FineTuningSettings,
    sampling: SamplingSettings,
    *,
    adapter: Path | None = None,
    weights: NDArray[np.float64] | None = None,
    anew: bool = False,
) -> GenerationPlan:
    """Plan the work as a run would. `adapter` is the one that the run reuses, if it does.

    What earlier runs have left in the language model's folder counts as done, unless `anew`. Rows
    that are drawn by weights nobody has computed yet are drawn evenly in their place: they cost
    the same.
    """
    template = Template(
        language_model.load_tokenizer(),
        class_names(corpus),
        task_of(corpus),
        fine_tuning.max_text_tokens,
    )
    lengths = corpus_lengths(corpus, template)
    bounds = LengthBounds.of(lengths, sampling.length_quantiles)
    drawn = fine_tuning
    if fine_tuning.row_sampling == "knowledge" and weights is None:
        drawn = fine_tuning.model_copy(update={"row_sampling": "balanced"})
    planted = plant(corpus, template, drawn, weights)
    rows: TrainingRows | None = planted.rows
    if adapter is None and not anew and drawn is fine_tuning:
        work_folder = language_model.work_folder(training_key(language_model, planted.rows, drawn))
        if (work_folder / "report.json").exists():  # written when all is done
            adapter = work_folder / "adapter"
    on_disk: tuple[int, ...] = ()
    if adapter is not None:
        rows = None
        n_classes = len(class_names(corpus))
        prompts = [template.prompt(label) for label in range(n_classes)]
        folder = language_model.work_folder(
            row_key(language_model, adapter, prompts, bounds, sampling)
        )
        on_disk = tuple(rows_on_disk(folder, label) for label in range(n_classes))
    counts = GenerationCounts(
        trained_rows=planted.corpus_rows,
        held_out_tokens=int(planted.rows.validation.lengths.sum()),
        row_lengths=np.array(lengths, dtype=np.int64),
        longest=bounds.longest,
        rows_on_disk=on_disk,
    )
    return GenerationPlan(template, counts, rows)


def rows_on_disk(folder: Path, label: int) -> int:
    """Rows of a class that an earlier run has written, up to the first one missing."""
    spans = [
        (int(match[2]), int(match[3]))
        for path in folder.glob(f"class-{label}-rows-*.parquet")
        if (match := _PART.fullmatch(path.name)) and record_path(path).exists()
    ]
    return _reached(sorted(spans))


def _reached(spans: Sequence[tuple[int, int]]) -> int:
    """How far rising spans go from 0 without a gap.

    >>> _reached([(0, 256), (256, 512), (600, 700)])
    512
    """
    reached = 0
    for first, after in spans:
        if first > reached:
            break
        reached = max(reached, after)
    return reached
