"""From counts and rates to seconds: arithmetic alone, no model is loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from take.estimate.counts import (
    CorpusCounts,
    GenerationCounts,
    RunSettings,
    Strings,
    rows_by_round,
)
from take.estimate.job import Job, batches_to_write, writing_seconds
from take.estimate.rates import (
    KEEP_RATE,
    Curve,
    EncoderRates,
    Pace,
    Rates,
    TuningRates,
    WritingRates,
)
from take.estimate.report import Estimate
from take.estimate.stages import STAGE_OF_NODE, PlannedNode, estimate
from take.estimate.work import encoding_seconds, node_seconds
from take.generation.finetuning.fine_tuning_settings import FineTuningSettings
from take.generation.pool import fill_pool
from take.generation.sampling.rows import LengthBounds, SamplingSettings, write_rows
from take.generation.template import Template
from tests.generation import tiny

STEP = Curve((8.0, 256.0), (0.02, 0.26))


def corpus_counts(rows: int = 8000, missing: int | None = None) -> CorpusCounts:
    tokens = np.array([10, 20, 30])
    return CorpusCounts(
        rows=rows,
        evaluation_rows=1000,
        sizes=(rows // 2, rows // 2),
        texts_per_row=1,
        dimension=384,
        words_per_row=20.0,
        text_bytes=110 * rows,
        strings=Strings(rows, rows if missing is None else missing, tokens),
        evaluation_strings=Strings(1000, 1000, tokens),
    )


def job(**changes: object) -> Job:
    rates = Rates(
        pace=Pace(),
        base_megabytes=350.0,
        resting_megabytes=1500.0,
        encoder=EncoderRates(4.0, Curve((10.0, 30.0), (0.001, 0.003)), 1200.0),
        tuning=TuningRates(1.0, Curve((100.0, 200.0), (0.5, 1.0)), 0.002, 20_000_000, 2700.0),
        writing=WritingRates(1.0, 6.0, STEP, 0.002, 2600.0, 2600.0),
        seconds=30.0,
    )
    generation = GenerationCounts(
        trained_rows=1400,
        update_tokens=np.full(200, 200),
        held_out_tokens=7000,
        row_lengths=np.array([10, 25, 40]),
        longest=57,
    )
    whole = Job(RunSettings("20/class"), corpus_counts(), rates, generation, 1.0)
    return replace(whole, **changes)


def whole_estimate(of: Job, reused: frozenset[str] = frozenset()) -> Estimate:
    nodes = [PlannedNode(name, stage, name not in reused) for name, stage in STAGE_OF_NODE.items()]
    return estimate("films", nodes, of, cores=2)


def test_encoding_costs_what_its_lengths_cost():
    # (0.001 + 0.002 + 0.003) / 3 a string
    assert encoding_seconds(job(), 500, np.array([10, 20, 30])) == pytest.approx(1.0)


def test_fine_tuning_is_updates_and_evaluations():
    # 200 updates of 1 s, the start and 4 more evaluations of 14 s, and the load
    assert node_seconds("fine_tune", job()) == pytest.approx(200 + 5 * 14 + 1)
    without = RunSettings("20/class", fine_tuning=FineTuningSettings(evaluations=0))
    unheld = replace(job().written, held_out_tokens=0)
    assert node_seconds("fine_tune", job(settings=without, generation=unheld)) == pytest.approx(201)


@pytest.mark.parametrize("name", ["embed_corpus", "study_scorers", "train_probe", "select_rows"])
def test_more_rows_take_longer(name):
    small, large = (job(counts=corpus_counts(rows)) for rows in (4000, 400_000))
    assert node_seconds(name, large) > 1.5 * node_seconds(name, small)


def test_a_slower_machine_takes_longer_where_nothing_is_measured():
    slow = replace(job().rates, pace=Pace(arithmetic=3.0, interpreter=3.0))
    for name in ("study_scorers", "select_rows", "describe_distilled", "weigh_rows"):
        assert node_seconds(name, job(rates=slow)) == pytest.approx(3 * node_seconds(name, job()))
    assert node_seconds("fine_tune", job(rates=slow)) == node_seconds("fine_tune", job())


class Scripted:
    """A decoder that ends each row where a script says, and keeps count of its steps."""

    def __init__(self, lengths: Sequence[int], end_id: int, vocabulary: int) -> None:
        self._lengths, self._end_id, self._vocabulary = lengths, end_id, vocabulary
        self.rows_by_step: list[int] = []

    def begin(self, prompt):
        self._position, self._rows = 0, np.arange(len(self._lengths))
        return self._logits(np.zeros(1, dtype=bool))

    def step(self, tokens, parents):
        self._position += 1
        self.rows_by_step.append(len(tokens))
        if self._position > 1:
            self._rows = self._rows[parents]
        self._rows = np.resize(self._rows, len(tokens))
        return self._logits(np.asarray(self._lengths)[self._rows] <= self._position)

    def _logits(self, ends):
        logits = np.full((len(ends), self._vocabulary), -50.0, dtype=np.float32)
        logits[np.arange(len(ends)), np.where(ends, self._end_id, self._end_id + 1)] = 50.0
        return logits


def test_writing_takes_the_steps_that_write_rows_takes():
    rng = np.random.default_rng(0)
    lengths = rng.integers(2, 40, size=64)
    tokenizer = tiny.tokenizer("qwen")
    template = Template(tokenizer, ["bad", "good"], "single", 256)
    decoder = Scripted(lengths.tolist(), template.end_id, len(tokenizer))
    bounds, settings = LengthBounds(shortest=1, longest=50), SamplingSettings(batch_rows=64)
    write_rows(decoder, template, 0, range(64), bounds, settings)
    taken = float(STEP.at(decoder.rows_by_step).sum())
    assert len(decoder.rows_by_step) == lengths.max()
    assert writing_seconds(STEP, lengths.astype(float), [64], 50) == pytest.approx(taken, rel=0.1)


def test_rounds_ask_for_as_many_rows_as_fill_pool_does():
    def read_rows(label: int, start: int, stop: int) -> pd.DataFrame:
        return pd.DataFrame({"label": label, "index": np.arange(start, stop)})

    def judge(rows: pd.DataFrame, room: Mapping[int, int]) -> pd.DataFrame:
        left, reasons = dict(room), []
        for label, index in zip(rows["label"], rows["index"], strict=True):
            good = index % 10 < 10 * KEEP_RATE - 1e-9 and left[label] > 0
            left[label] -= good
            reasons.append("" if good else "dropped")
        return pd.DataFrame({"reason": reasons}, index=rows.index)

    made = fill_pool(read_rows, judge, [900, 900], ["bad", "good"], 3.0)
    planned = sum(map(sum, rows_by_round([900, 900], 3.0)))
    assert planned == pytest.approx(len(made), rel=0.02)


def test_rows_on_disk_are_not_written_again():
    sampling = RunSettings("20/class", sampling=SamplingSettings(rows=1000, batch_rows=256))
    fresh = job(settings=sampling)
    assert batches_to_write(fresh) == [256, 244, 59, 256, 244, 59]
    kept = replace(fresh.written, rows_on_disk=(559, 500))
    assert batches_to_write(replace(fresh, generation=kept)) == [59]
    seconds = [
        node_seconds("sample_and_screen", each)
        for each in (
            fresh,
            job(settings=sampling, generation=replace(fresh.written, rows_on_disk=(559, 559))),
        )
    ]
    assert seconds[1] < seconds[0] / 2


def test_strings_in_the_cache_are_not_encoded_again():
    cached = job(counts=corpus_counts(missing=0))
    assert node_seconds("embed_corpus", cached) < 1 < node_seconds("embed_corpus", job())
    shown = {stage.stage: stage for stage in whole_estimate(cached).stages}
    assert shown["embedding"].decided_by == "all 8,000 strings are in the cache"


def test_a_reused_stage_costs_nothing_and_the_others_what_they_did():
    everything = whole_estimate(job())
    tuned = whole_estimate(job(), reused=frozenset({"fine_tune"}))
    by_stage = {stage.stage: stage for stage in tuned.stages}
    assert by_stage["fine-tuning"].reused
    assert tuned.seconds == pytest.approx(everything.seconds - 271)
    nothing = whole_estimate(job(), reused=frozenset(STAGE_OF_NODE))
    assert (nothing.seconds, nothing.disk_megabytes, nothing.peak_megabytes) == (0, 0, 0)


def test_disk_is_that_of_the_arrays():
    stages = {stage.stage: stage for stage in whole_estimate(job()).stages}
    vectors = 8000 * 384 * 4 / 1e6
    assert stages["embedding"].disk_megabytes == pytest.approx(2 * vectors, rel=0.05)
    assert stages["fine-tuning"].disk_megabytes == pytest.approx(40)


def test_memory_grows_with_the_arrays_and_never_falls_below_what_was_measured():
    small, large = (whole_estimate(job(counts=corpus_counts(rows))) for rows in (8000, 800_000))
    assert large.peak_megabytes > small.peak_megabytes + 800_000 * 384 * 4 / 1e6
    stages = {stage.stage: stage.peak_megabytes for stage in small.stages}
    assert stages["fine-tuning"] >= 2700
    assert stages["embedding"] >= 1200
    assert stages["embedding"] < stages["fine-tuning"]
