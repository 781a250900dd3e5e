"""From sizes and rates to the seconds, megabytes and bytes of each node and stage."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from take.estimate.rates import GenerationPlan, Rates
from take.frozen import Frozen
from take.reuse.records import Record

STAGES = (
    *("ingestion", "embedding", "scoring", "fine-tuning", "verifier", "sampling"),
    *("pool quality", "selection", "description", "audit", "other nodes"),
)
READS = frozenset({"measure_pool", "attack_generator"})
"""Nodes that compute losses with the language model."""
_MODEL_NODES = frozenset({"embed_corpus", "fine_tune", "sample_and_screen", *READS})
_STAGE_OF_NODE = {
    "fine_tune": "fine-tuning",
    "train_verifier": "verifier",
    "sample_and_screen": "sampling",
    "embed_pool": "sampling",
    "trace_rows": "description",
    "describe_distilled": "description",
}
_STAGE_OF_NAMESPACE = {"generation": "pool quality", "distillation": "selection"}
_PEAK_OF_STAGE = {
    "ingestion": "encoder",  # its plot is made after embedding
    "embedding": "encoder",
    "scoring": "encoder",
    "fine-tuning": "training",
    "verifier": "training",
    "sampling": "decoder",
    "pool quality": "reading",
    "audit": "reading",
}

KEPT, LENGTH = 0.9, 0.8
"""Share of generated rows that screening keeps; tokens of a generated row over a corpus row's."""
_CANARY_TOKENS, _ATTACKED_ROWS, _BFLOAT16 = 17, 192, 0.5  # of the audit's attack
# A cross-encoder: seconds by byte of text (20 updates on mnli, on a busy machine), bytes on disk.
_TUNED_BYTE, _TUNED_BYTES = 2e-4, 91_000_000
_PLAYOFF_ROWS = 1100  # that a training reads: 100 updates of 8, and rows to predict
_OTHER_NODE, _OTHER_BYTES = (0.2, 0.0, 0.0, 0.0, 0.0, 0.0), 50_000  # plots, reports, cards

# Seconds on two cores of an AMD EPYC, fitted to runs on rotten_tomatoes, sst2, ag_news, mnli and
# mrpc: fixed, per corpus row, per number (rows x features x classes), per byte of text, per pool
# row, and per pair of a distilled and a pool row.
_SECONDS: dict[str, tuple[float, float, float, float, float, float]] = {
    "ingest_corpus": (0.5, 1.2e-5, 0, 0, 0, 0),
    "profile_corpus": (0.5, 3e-6, 0, 0, 0, 0),
    "embed_corpus": (0, 1e-5, 0, 0, 0, 0),
    "train_probe": (0, 0, 3.5e-8, 0, 0, 0),
    "measure_influence": (0, 0, 4e-9, 0, 0, 0),
    "study_scorers": (0.3, 0, 1e-7, 0, 0, 0),
    "weigh_rows": (0.1, 3e-6, 0, 0, 0, 0),
    "train_verifier": (1.0, 1e-4, 4e-7, 0, 0, 0),
    "sample_and_screen": (0, 0, 0, 1.3e-6, 1e-3, 0),
    "embed_pool": (0.1, 0, 0, 0, 1e-5, 0),
    "measure_pool": (0, 0, 0, 7e-7, 1.5e-3, 0),
    "screen_candidates": (0.5, 0, 0, 4e-7, 0, 0),
    "select_rows": (0.3, 0, 2e-8, 0, 0, 5e-5),
    "trace_rows": (0.1, 1e-5, 0, 0, 0, 0),
    "describe_distilled": (2.0, 0, 2e-9, 0, 0, 0),
    "screen_rows": (0.5, 0, 0, 4e-7, 0, 0),
    "measure_distances": (0.5, 0, 5e-8, 0, 0, 0),
    "measure_balance": (0.5, 2e-5, 0, 0, 0, 0),
    "render_report": (1.0, 0, 0, 0, 0, 0),
}


def stage_of(node: str) -> str | None:
    """The stage of a node, by its name with its namespace; None for one without an estimate.

    >>> stage_of("generation.fine_tune"), stage_of("audit.write_card"), stage_of("evaluation.score")
    ('fine-tuning', 'audit', None)
    """
    namespace, _, name = node.rpartition(".")
    stage = _STAGE_OF_NODE.get(name) or _STAGE_OF_NAMESPACE.get(namespace, namespace)
    return stage if stage in STAGES else None


class StageCost(Frozen):
    """What one stage will take."""

    stage: str
    seconds: float = 0.0
    peak_megabytes: float = 0.0
    """Of the process, with what earlier stages left in memory."""
    disk_megabytes: float = 0.0
    """Added under data/."""
    reused: bool = False
    """Nothing has changed since it was made, so it does not run."""
    decided_by: str = ""


class Step(NamedTuple):
    """A node of the run, without its namespace."""

    name: str
    stage: str | None
    """None where nothing is known about the node."""
    runs: bool = True
    records: Collection[Record] = ()
    """Of its outputs, if it ran before on this corpus with the same parameters."""


@dataclass(frozen=True)
class Job:
    """A run in numbers: what there is to do, and how fast this machine does it."""

    rates: Rates
    rows: int
    classes: int
    texts_per_row: int  # 2 for pairs
    dimension: int  # of a string's vector
    text_bytes: int
    strings: int
    missing: int  # strings that are not in the encoder's cache
    evaluation_missing: int
    pool: int
    chosen: int  # distilled rows
    batch_rows: int  # of the decoder
    canaries: int
    texts_read: int  # for the pool's perplexity
    evaluations: int  # of fine-tuning
    searches: int = 1  # for rows
    trainings: int = 0  # of transformers in a playoff
    tuned_rows: int = 0  # that a cross-encoder reads in training, where one is likely
    plan: GenerationPlan | None = None  # where the language model is used
    ingestion_seconds: float | None = None  # where ingestion was done for the estimate
    growth: float = 1.0  # corpus rows over corpus rows when the records were written

    @property
    def rows_to_write(self) -> int:
        """By the decoder."""
        return max(0, round(self.pool / KEPT) - (self.plan.rows_on_disk if self.plan else 0))

    @property
    def row_tokens(self) -> float:
        """Tokens of a corpus row."""
        return float(self.plan.lengths.mean()) if self.plan else 0.0

    @property
    def attacked_tokens(self) -> int:
        """Tokens that the audit's attack reads, before and after tuning."""
        return 2 * int(_CANARY_TOKENS * self.canaries + _ATTACKED_ROWS * self.row_tokens)

    def cost(self, stage: str, steps: Collection[Step]) -> StageCost:
        """What the steps of a stage will take."""
        running = [step for step in steps if step.runs]
        if not running:
            return StageCost(stage=stage, reused=True)
        costs = [record.cost for step in running for record in step.records if record.cost]
        return StageCost(
            stage=stage,
            seconds=sum(map(self.seconds, running)),
            peak_megabytes=max([self._megabytes(stage), *(cost.peak_megabytes for cost in costs)]),
            disk_megabytes=sum(map(self._bytes, running)) / 1e6,
            decided_by=self._decided_by(stage, {step.name for step in running}),
        )

    def seconds(self, step: Step) -> float:
        """Of a node: by measured rates, else by its records, else by the table."""
        if step.name == "ingest_corpus" and self.ingestion_seconds is not None:
            return self.ingestion_seconds
        units = (1, self.rows, self._numbers(), self.text_bytes, self.pool, self.chosen * self.pool)
        usual = self.rates.pace * float(np.dot(_SECONDS.get(step.name, _OTHER_NODE), units))
        if step.name == "train_verifier":
            tuned_bytes = self.tuned_rows * self.text_bytes / self.rows
            usual += self.rates.pace * _TUNED_BYTE * tuned_bytes
        if step.name == "select_rows":
            trained_bytes = self.trainings * _PLAYOFF_ROWS * self.text_bytes / self.rows
            usual = self.searches * usual + self.rates.pace * _TUNED_BYTE * trained_bytes
        if step.name in _MODEL_NODES:
            return usual + self._model_seconds(step.name)
        recorded = [record.cost.seconds for record in step.records if record.cost]
        return self.growth * max(recorded) if recorded else usual

    def _model_seconds(self, node: str) -> float:
        rates, plan = self.rates, self.plan
        if node == "embed_corpus":
            return rates.encoder_load * (self.missing > 0) + rates.string * self.missing
        if node == "fine_tune":
            if plan is None or plan.rows is None:
                return 2.0  # the adapter of an earlier run is copied
            trained = rates.trained_token * rates.trained_tokens
            read = (self.evaluations + 1) * int(plan.rows.validation.lengths.sum())
            return rates.model_load + trained + rates.read_token * read
        if node == "measure_pool":
            return rates.model_load + rates.read_token * self.texts_read * self.row_tokens
        if node == "attack_generator":
            return 2 * rates.model_load + _BFLOAT16 * rates.read_token * self.attacked_tokens
        strings = self.texts_per_row * self.pool / KEPT + self.evaluation_missing
        encoding = rates.encoder_load * (not self.missing) + rates.string * strings
        return encoding + (self._writing_seconds(plan) if plan and self.rows_to_write else 0.0)

    def _writing_seconds(self, plan: GenerationPlan) -> float:
        """A batch takes as many steps as its longest row has tokens; rows leave as they end."""
        rates, per_class = self.rates, self.rows_to_write / self.classes
        lengths = np.clip(LENGTH * plan.lengths, 1, plan.longest)
        # The rows that screening dropped are written again, in a batch of their own.
        batches = self.classes * (1 + np.ceil(KEPT * per_class / self.batch_rows))
        steps = batches * np.quantile(lengths, 1 - 1 / min(self.batch_rows, per_class + 1))
        tokens = self.rows_to_write * lengths.mean() + 4 * steps  # rows are filled up to eights
        load = rates.model_load + rates.decoder_load
        pairs = self.texts_per_row > 1
        guided = plan.sampling.strength(pairs=pairs)
        others = min(plan.sampling.rivals, self.classes - 1) if guided else 0
        writing = rates.decoder_step * steps + rates.written_token * tokens
        # Of a pair, only the second text is guided.
        return float(load + (1 + others * (0.5 if pairs else 1)) * writing)

    def _numbers(self) -> int:
        features = self.dimension * (1 if self.texts_per_row == 1 else 4)
        return self.rows * features * self.classes

    def _megabytes(self, stage: str) -> float:
        """The peak while the models were measured, and arrays by their size."""
        peaks = self.rates.peaks
        resting = max(peaks.get("resting", 0.0), peaks.get("base", 0.0))
        arrays = 2 * self.text_bytes + 300 * self.rows + 8 * self.dimension * self.strings
        if stage == "scoring":
            arrays += 24 * (self._numbers() // self.rows + self.classes) ** 2  # dense Hessians
        peak = peaks.get(_PEAK_OF_STAGE.get(stage, "resting"), resting)
        if stage == "audit":
            peak += max(0.0, peak - resting)  # two models at once: before and after tuning
        return peak + arrays / 1e6

    def _bytes(self, step: Step) -> float:
        if step.records and step.name not in _MODEL_NODES:
            return self.growth * sum(record.bytes for record in step.records)
        text = 0.6 * self.text_bytes / self.rows  # compressed
        vector = self.texts_per_row * (4 * self.dimension + 17)
        found = {
            "ingest_corpus": self.rows * (text + 20),
            "embed_corpus": self.rows * vector * (1 + self.missing / max(1, self.strings)),
            "measure_influence": 80 * self.rows,
            "weigh_rows": 30 * self.rows,
            "fine_tune": 2 * self.rates.trained_bytes,
            "train_verifier": _TUNED_BYTES if self.tuned_rows else _OTHER_BYTES,
            "sample_and_screen": self.pool / KEPT * (2.5 * text + vector),
            "embed_pool": self.pool * (text + vector),
            "trace_rows": 45 * self.rows,
        }
        return float(found.get(step.name, _OTHER_BYTES))

    def _decided_by(self, stage: str, running: Collection[str]) -> str:
        rates, features = self.rates, self._numbers() // self.rows // self.classes
        if stage == "embedding" and not self.missing:
            return f"all {self.strings:,} strings are in the cache"
        if stage == "fine-tuning" and not rates.trained_tokens:
            return "finished before: its adapter is used"
        if stage == "verifier" and not self.tuned_rows:
            return "a probe, unless it is weak"
        if stage == "sampling" and not self.rows_to_write:
            return "all rows are on disk; screening alone"
        if stage in ("pool quality", "audit") and READS.isdisjoint(running):
            return f"{self.rows:,} rows"
        reasons = {
            "embedding": f"{self.missing:,} strings at {_per_second(rates.string)}",
            "scoring": f"{self.rows:,} rows of {features:,} features",
            "fine-tuning": f"{rates.trained_tokens:,} tokens at {_per_second(rates.trained_token)}",
            "verifier": f"{self.tuned_rows:,} rows read by a cross-encoder, if the probe is weak",
            "sampling": f"{self.rows_to_write:,} rows to write, if {KEPT:.0%} are kept",
            "pool quality": f"{self.texts_read} texts read by the language model",
            "selection": f"{self.chosen:,} of {self.pool:,} rows"
            + (f", {self.trainings} trainings of a transformer" if self.trainings else ""),
            "audit": f"{self.attacked_tokens:,} tokens read by the language model",
        }
        return reasons.get(stage, f"{self.rows:,} rows")


def _per_second(seconds: float) -> str:
    return f"{1 / max(seconds, 1e-9):,.0f}/s"
