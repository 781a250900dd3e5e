"""From sizes and rates to seconds, megabytes and bytes: arithmetic alone, no model is loaded."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from take.estimate import Estimate
from take.estimate.costs import (
    _MODEL_NODES,
    _SECONDS,
    _STAGE_OF_NODE,
    STAGES,
    Job,
    StageCost,
    Step,
)
from take.estimate.rates import Rates
from take.generation.sampling.guidance import GuidedDecoder
from take.generation.sampling.rows import LengthBounds, SamplingSettings, write_rows
from take.generation.template import Template
from take.generation.verifier.verifier_settings import VerifierSettings
from take.pipeline_registry import register_pipelines
from take.reuse.records import FileEntry, MakingCost, Record
from tests.generation import tiny

NODES = {
    "ingest_corpus": "ingestion",
    "embed_corpus": "embedding",
    "study_scorers": "scoring",
    "fine_tune": "fine-tuning",
    "train_verifier": "verifier",
    "sample_and_screen": "sampling",
    "measure_pool": "pool quality",
    "select_rows": "selection",
    "describe_distilled": "description",
    "attack_generator": "audit",
}


def plan(**changes: object) -> SimpleNamespace:
    """A `GenerationPlan` as far as costs read it."""
    validation = SimpleNamespace(lengths=np.full(70, 100))
    fields = {
        "lengths": np.array([10, 25, 40]),
        "longest": 57,
        "rows_on_disk": 0,
        "sampling": SamplingSettings(),
        "rows": SimpleNamespace(validation=validation),
    }
    return SimpleNamespace(**{**fields, **changes})


def job(**changes: object) -> Job:
    rates = Rates(
        encoder_load=4.0,
        string=0.002,
        model_load=1.0,
        trained_token=0.005,
        trained_tokens=40_000,
        trained_bytes=20_000_000,
        read_token=0.002,
        decoder_load=5.0,
        decoder_step=0.012,
        written_token=0.001,
        peaks={"base": 350, "encoder": 1200, "training": 2700, "decoder": 2600, "reading": 2600},
    )
    whole = Job(
        rates=rates,
        rows=8000,
        classes=2,
        texts_per_row=1,
        dimension=384,
        text_bytes=880_000,
        strings=8000,
        missing=8000,
        evaluation_missing=1000,
        pool=5000,
        chosen=40,
        batch_rows=256,
        canaries=480,
        texts_read=256,
        evaluations=4,
        plan=plan(),
    )
    return replace(whole, **changes)


def seconds(of: Job, name: str, *records: Record) -> float:
    return of.seconds(Step(name, NODES[name], records=records))


def by_stage(of: Job, reused: Sequence[str] = ()) -> dict[str, StageCost]:
    steps = [Step(name, stage, name not in reused) for name, stage in NODES.items()]
    return {step.stage: of.cost(step.stage, [step]) for step in steps}


def test_every_node_that_has_its_own_cost_exists():
    nodes = {node.name for pipeline in register_pipelines().values() for node in pipeline.nodes}
    names = {name.rpartition(".")[2] for name in nodes}
    assert names >= {*_SECONDS, *_MODEL_NODES, *_STAGE_OF_NODE}


def test_embedding_is_loading_and_encoding():
    assert seconds(job(), "embed_corpus") == pytest.approx(4 + 16, rel=0.01)
    cached = job(missing=0)
    assert seconds(cached, "embed_corpus") < 1
    assert by_stage(cached)["embedding"].decided_by == "all 8,000 strings are in the cache"


def test_a_cross_encoder_costs_by_the_text_it_reads_and_a_probe_little():
    probe, tuned = job(), job(texts_per_row=2, tuned_rows=24_000)
    assert seconds(probe, "train_verifier") < 10
    twice = seconds(replace(tuned, tuned_rows=48_000), "train_verifier")
    alone = seconds(replace(tuned, tuned_rows=0), "train_verifier")
    assert twice - alone == pytest.approx(2 * (seconds(tuned, "train_verifier") - alone))
    assert seconds(tuned, "train_verifier") > 10 * seconds(probe, "train_verifier")
    assert (
        by_stage(tuned)["verifier"].disk_megabytes > 50 > by_stage(probe)["verifier"].disk_megabytes
    )
    assert "24,000 rows" in by_stage(tuned)["verifier"].decided_by
    settings = VerifierSettings(max_rows=1000, max_epochs=2)
    assert settings.likely_reads(5000, pairs=True) == 2000
    assert settings.likely_reads(5000, pairs=False) == 0


def test_fine_tuning_is_updates_and_evaluations():
    # 40,000 tokens, the start and 4 more evaluations of 7,000 tokens, the load, and 0.2 s
    assert seconds(job(), "fine_tune") == pytest.approx(200 + 5 * 14 + 1, abs=0.3)
    nothing_read = SimpleNamespace(validation=SimpleNamespace(lengths=np.zeros(0, dtype=int)))
    without = job(evaluations=0, plan=plan(rows=nothing_read))
    assert seconds(without, "fine_tune") == pytest.approx(201, abs=0.3)
    finished = job(plan=plan(rows=None))
    assert seconds(finished, "fine_tune") < 3


@pytest.mark.parametrize("name", ["embed_corpus", "study_scorers", "ingest_corpus"])
def test_more_rows_take_longer(name):
    large = job(rows=400_000, strings=400_000, missing=400_000, text_bytes=44_000_000)
    assert seconds(large, name) > 5 * seconds(job(), name)


def test_a_larger_budget_takes_selection_longer():
    assert seconds(job(chosen=400), "select_rows") > 8 * seconds(job(), "select_rows")


def test_a_slower_machine_takes_longer_where_nothing_is_measured():
    slow = job(rates=replace(job().rates, pace=3.0))
    for name in ("study_scorers", "select_rows", "describe_distilled"):
        assert seconds(slow, name) == pytest.approx(3 * seconds(job(), name))
    assert seconds(slow, "embed_corpus") == pytest.approx(seconds(job(), "embed_corpus"), rel=0.02)


def test_a_node_that_ran_before_takes_what_it_took():
    record = Record(
        files={"weights.parquet": FileEntry(bytes=5_000_000, sha256="0" * 64)},
        cost=MakingCost(seconds=50.0, peak_megabytes=9000.0),
        take_version="",
        written_at="",
    )
    assert seconds(job(), "study_scorers", record) == 50
    assert seconds(job(growth=2.0), "study_scorers", record) == 100
    cost = job().cost("scoring", [Step("study_scorers", "scoring", records=[record])])
    assert (cost.peak_megabytes, cost.disk_megabytes) == (9000, 5)
    # The encoder is measured now; the record may be of a run that found every string cached.
    assert seconds(job(), "embed_corpus", record) == seconds(job(), "embed_corpus")


class Scripted:
    """A decoder that ends each row where a script says, and counts the rows of its steps."""

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


def test_writing_takes_about_the_steps_that_write_rows_takes(monkeypatch):
    monkeypatch.setattr("take.estimate.costs.LENGTH", 1.0)
    monkeypatch.setattr("take.estimate.costs.KEPT", 1.0)
    lengths = np.random.default_rng(0).integers(2, 40, size=256)
    tokenizer = tiny.tokenizer("qwen")
    template = Template(tokenizer, ["bad", "good"], "single", 256)
    decoder = Scripted(lengths.tolist(), template.end_id, len(tokenizer))
    bounds, settings = LengthBounds(shortest=1, longest=50), SamplingSettings(batch_rows=256)
    write_rows(GuidedDecoder(decoder, template, [0]), range(256), bounds, settings)
    taken = 0.012 * len(decoder.rows_by_step) + 0.001 * sum(decoder.rows_by_step)
    one_batch = job(pool=256, classes=1, plan=plan(lengths=lengths, longest=50))
    written = one_batch._writing_seconds(one_batch.plan) - 6.0  # of loading
    assert written == pytest.approx(taken, rel=0.15)


def test_rows_on_disk_are_not_written_again():
    kept = job(plan=plan(rows_on_disk=6000))
    assert (job().rows_to_write, kept.rows_to_write) == (5556, 0)
    assert seconds(kept, "sample_and_screen") < seconds(job(), "sample_and_screen") / 2
    assert "on disk" in by_stage(kept)["sampling"].decided_by


def test_a_reused_stage_costs_nothing_and_the_others_what_they_did():
    everything, tuned = by_stage(job()), by_stage(job(), reused=["fine_tune"])
    assert tuned.pop("fine-tuning") == StageCost(stage="fine-tuning", reused=True)
    assert all(tuned[stage] == everything[stage] for stage in tuned)


def test_disk_is_that_of_the_arrays():
    stages = by_stage(job())
    assert stages["embedding"].disk_megabytes == pytest.approx(2 * 8000 * 384 * 4 / 1e6, rel=0.05)
    assert stages["fine-tuning"].disk_megabytes == pytest.approx(40)


def test_memory_grows_with_the_arrays_and_is_never_below_what_was_measured():
    small, large = by_stage(job()), by_stage(job(rows=800_000, strings=800_000))
    grown = large["selection"].peak_megabytes - small["selection"].peak_megabytes
    assert grown > 790_000 * 384 * 4 / 1e6
    assert small["fine-tuning"].peak_megabytes >= 2700
    assert 1200 <= small["embedding"].peak_megabytes < small["fine-tuning"].peak_megabytes


def made(*stages: StageCost) -> Estimate:
    return Estimate(
        corpus="films",
        budget="20/class",
        rows=7440,
        evaluation_rows=1090,
        calibration_seconds=31.4,
        stages=list(stages),
        notes=("A note.",),
    )


def test_the_table_has_a_line_per_stage_and_a_total():
    tuning = StageCost(
        stage="fine-tuning", seconds=290, peak_megabytes=2700, disk_megabytes=40, decided_by="why"
    )
    shown = made(tuning, StageCost(stage="selection", reused=True)).table().splitlines()
    start = "films, 20/class: 7,440 rows, 1,090 for evaluation; calibrated in 31 s on "
    assert shown[0].startswith(start)
    assert [re.split(r"  +", line) for line in shown[2:-2]] == [
        ["stage", "time", "memory", "disk", "decided by"],
        ["fine-tuning", "4 min 50 s", "2.7 GB", "40 MB", "why"],
        ["selection", "reused"],
        ["total", "4 min 50 s", "2.7 GB", "40 MB", "± 40%"],
    ]
    assert shown[-1] == "A note."


def test_where_all_is_reused_nothing_was_calibrated():
    table = made(*(StageCost(stage=stage, reused=True) for stage in STAGES)).table()
    assert "calibrated" not in table
    assert re.search(r"total +seconds +nothing changed", table)


def test_a_playoff_costs_its_searches_and_its_trainings():
    one = seconds(job(), "select_rows")
    assert seconds(job(searches=5), "select_rows") == pytest.approx(5 * one)
    trained = seconds(job(searches=5, trainings=10), "select_rows") - 5 * one
    assert trained == pytest.approx(10 * job().rates.pace * 1100 * 110 * 2e-4, rel=0.01)
    assert "10 trainings" in by_stage(job(trainings=10))["selection"].decided_by
