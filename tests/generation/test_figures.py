from __future__ import annotations

import pandas as pd

from take.generation.figures import generation_figure
from take.generation.finetuning.fine_tuning_report import (
    FineTuningReport,
    RowCounts,
    ValidationLoss,
)
from take.generation.pool import LedgerReport
from take.generation.screening.reasons import Reason


def test_every_row_of_the_ledger_is_drawn_once() -> None:
    judged = pd.DataFrame(
        [(label, reason) for label in (0, 1) for reason in ("", "", *Reason)],
        columns=["label", "reason"],
    )
    judged["prompt_label"] = judged["label"]
    report = FineTuningReport(
        language_model="tiny",
        method="lora",
        trainable_parameters=1,
        rows=RowCounts(
            corpus_rows=9,
            train_rows=8,
            validation_rows=1,
            train_tokens=80,
            train_rows_by_class=[4, 4],
            short_classes=[],
            cut_texts=0,
            left_out_pairs=0,
        ),
        updates=4,
        planned_updates=4,
        stopped_early=False,
        epochs=1,
        tokens=80,
        padding_share=0,
        tokens_per_second=1,
        seconds=1,
        resumed=0,
        train_loss=[3.0, 2.0],
        validation_loss=[ValidationLoss(update=0, loss=3.1), ValidationLoss(update=4, loss=2.1)],
        kept_update=4,
    )
    figure = generation_figure(LedgerReport.of(judged, ["bad", "good"]), report)
    bars = [trace for trace in figure.data if trace.type == "bar"]
    assert sum(sum(bar.x) for bar in bars) == len(judged)
    assert len({bar.marker.color for bar in bars}) == len(bars) == len(Reason) + 1
    (train, validation) = (trace for trace in figure.data if trace.type == "scatter")
    assert list(train.x) == [2, 4]
    assert list(validation.y) == [3.1, 2.1]
