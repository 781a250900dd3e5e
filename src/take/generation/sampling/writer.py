"""The rows that a fine-tuned model generates, by class and number, kept on disk part by part.

A killed run resumes where it was.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from take.engine import current, load
from take.frozen import Frozen
from take.generation.finetuning.adapter import public_name
from take.generation.language_models import LanguageModel
from take.generation.sampling.batches import RowSource, TunedModel, WriteRows
from take.generation.sampling.rows import LengthBounds, RowNumbers, SamplingSettings
from take.generation.template import Template
from take.generation.vocabulary import WHOLE, Vocabulary
from take.reuse.digests import file_digest, module_code, value_digest
from take.reuse.store import KeyedStore
from take.rows.blocks import block_bounds

_logger = logging.getLogger(__name__)

_PART = re.compile(r"class-(\d+)-rows-(\d+)-(\d+)\.parquet")

# These decide how many rows are wanted, not how a row is generated.
_NOT_OF_A_ROW = {"rows", "tries"}


class SamplingReport(Frozen):
    """Counts and rates of sampling. Holds no text."""

    language_model: str
    decoder: str
    rows_generated: int
    rows_kept: int
    shortest_tokens: int
    """Learned from the corpus."""
    longest_tokens: int
    """Learned from the corpus."""
    mean_tokens: float
    """Of a generated row, without the end token."""
    tokens_written: int
    """In this run; rows found on disk are not counted."""
    seconds: float
    """Spent generating in this run, without screening."""
    tokens_per_second: float


class RowStore:
    """Parts of consecutive rows of a class."""

    def __init__(self, folder: Path) -> None:
        self._store = KeyedStore(folder, "its rows are generated again")

    def add(self, rows: pd.DataFrame) -> None:
        """Keep rows of one class with consecutive numbers."""
        label, first, last = rows["label"].iloc[0], rows["index"].iloc[0], rows["index"].iloc[-1]
        name = f"class-{label}-rows-{first:08d}-{last + 1:08d}.parquet"
        with self._store.writing(name) as temporary:
            rows.to_parquet(temporary, index=False)

    def read(self, label: int, start: int, stop: int) -> pd.DataFrame:
        """What is kept of the rows start … stop−1 of a class: all up to the first one missing."""
        parts, reached = [], start
        for first, after, path in self._parts(label):
            if first <= reached < after and reached < stop:
                if not self._store.is_whole(path):
                    break
                rows = pd.read_parquet(path)
                parts.append(rows[(rows["index"] >= reached) & (rows["index"] < stop)])
                reached = min(after, stop)
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()

    def _parts(self, label: int) -> list[tuple[int, int, Path]]:
        found = []
        for path in self._store.files(f"class-{label}-rows-*.parquet"):
            if match := _PART.fullmatch(path.name):
                found.append((int(match[2]), int(match[3]), path))
        return sorted(found)


class RowWriter:
    """Rows of classes by number: read from disk, or generated if they are not there."""

    def __init__(
        self,
        load_model: Callable[[], Any],
        template: Template,
        bounds: LengthBounds,
        settings: SamplingSettings,
        store: RowStore,
        vocabulary: Vocabulary = WHOLE,
    ) -> None:
        self._template = template
        self._bounds = bounds
        self._settings = settings
        self._store = store
        self._job = WriteRows.of(RowSource(load_model, template, bounds, settings, vocabulary))
        self.seconds = 0.0
        """Spent generating, without loading."""
        self.tokens = 0
        """Generated now, not read from disk."""

    @classmethod
    def of(
        cls,
        language_model: LanguageModel,
        tuned: Path,
        template: Template,
        bounds: LengthBounds,
        settings: SamplingSettings,
        vocabulary: Vocabulary = WHOLE,
    ) -> RowWriter:
        """The writer of a fine-tuned model, with its rows in the model's work folder."""
        key = row_key(language_model, tuned, template.prompts, bounds, settings, vocabulary)
        store = RowStore(language_model.work_folder(key))
        model = TunedModel(language_model, tuned, vocabulary)
        return cls(model, template, bounds, settings, store, vocabulary)

    def report(self, language_model: LanguageModel, rows: pd.DataFrame) -> SamplingReport:
        """What was generated in this run, and the screened rows of all runs."""
        report = SamplingReport(
            language_model=public_name(language_model),
            decoder=self._settings.decoder,
            rows_generated=len(rows),
            rows_kept=int((rows["reason"] == "").sum()),
            shortest_tokens=self._bounds.shortest,
            longest_tokens=self._bounds.longest,
            mean_tokens=round(float(rows["tokens"].mean()), 2),
            tokens_written=self.tokens,
            seconds=round(self.seconds, 1),
            tokens_per_second=round(self.tokens / self.seconds if self.seconds else 0.0, 1),
        )
        _logger.info(
            "Generated %s rows, kept %s; %s tokens written at %.0f tokens/s.",
            f"{report.rows_generated:,}",
            f"{report.rows_kept:,}",
            f"{report.tokens_written:,}",
            report.tokens_per_second,
        )
        return report

    def read(self, label: int, start: int, stop: int) -> pd.DataFrame:
        """The rows start … stop−1 of a class."""
        return self.read_all([RowNumbers(label, start, stop)])

    def read_all(self, wanted: Sequence[RowNumbers]) -> pd.DataFrame:
        """The rows, parsed: label, index, raw, finished, tokens, and the text columns."""
        lacking = [
            RowNumbers(label, start + len(self._store.read(label, start, stop)), stop)
            for label, start, stop in wanted
        ]
        self._write([rows for rows in lacking if rows.start < rows.stop])
        rows = pd.concat([self._store.read(*rows) for rows in wanted], ignore_index=True)
        return rows.assign(**self._texts(rows))

    def _texts(self, rows: pd.DataFrame) -> dict[str, pd.Series]:
        parsed = [
            self._template.parse(raw) if finished else None
            for raw, finished in zip(rows["raw"], rows["finished"], strict=True)
        ]
        return {
            column: pd.Series([texts[i] if texts else None for texts in parsed], dtype="str")
            for i, column in enumerate(self._template.columns)
        }

    def _write(self, lacking: Sequence[RowNumbers]) -> None:
        """Generate rows where the run's engine does, all classes together."""
        batches = [
            RowNumbers(label, start + low, start + high)
            for label, start, stop in lacking
            for low, high in block_bounds(stop - start, self._settings.batch_rows)
        ]
        if not batches:
            return
        load(self._job)
        began = time.perf_counter()
        with _Progress(sum(stop - start for _, start, stop in batches)) as progress:
            self._job.on_step = progress.add
            for rows in current().map(self._job, batches):
                self._store.add(rows)
                # The end of a row is a token, too.
                n_tokens = int(rows["tokens"].sum() + rows["finished"].sum())
                self.tokens += n_tokens
                progress.end_batch(n_tokens, len(rows))
        self.seconds += time.perf_counter() - began


class _Progress:
    """A bar of the rows generated, by step in this process and by batch elsewhere."""

    def __init__(self, n_rows: int) -> None:
        self._total = n_rows
        self._rows = self._tokens = 0
        self._ended = (0, 0)
        """Tokens and rows of the batches that are done."""

    def __enter__(self) -> _Progress:
        from tqdm import tqdm

        self._bar = tqdm(total=self._total, unit="row", desc="sampling", disable=None)
        self._began = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def add(self, n_tokens: int, n_rows: int) -> None:
        """A step of the next batch is done."""
        self._tokens, self._rows = self._tokens + n_tokens, self._rows + n_rows
        rate = self._tokens / (time.perf_counter() - self._began)
        self._bar.set_postfix_str(f"{rate:,.0f} tokens/s", refresh=False)
        self._bar.update(n_rows)

    def end_batch(self, n_tokens: int, n_rows: int) -> None:
        """A batch is done, of which steps may have been counted."""
        tokens, rows = self._ended
        self._ended = (tokens + n_tokens, rows + n_rows)
        self.add(self._ended[0] - self._tokens, self._ended[1] - self._rows)


def row_key(
    language_model: LanguageModel,
    tuned: Path,
    prompts: Sequence[Sequence[int]],
    bounds: LengthBounds,
    settings: SamplingSettings,
    vocabulary: Vocabulary = WHOLE,
) -> str:
    """A digest of all that decides the rows, this code included."""
    own = settings.model_dump(exclude=_NOT_OF_A_ROW)
    if settings.guidance == 0:
        own.pop("rivals")
    if settings.decoder != "torch":
        own.pop("batch_rows")  # OpenVINO's rows are the same in any batch
    files = sorted(path for path in tuned.iterdir() if path.is_file())
    return value_digest(
        {
            "language_model": language_model.identity,
            "tuned": {path.name: file_digest(path) for path in files},
            "prompts": [list(prompt) for prompt in prompts],
            "vocabulary": None if vocabulary.ids is None else vocabulary.ids.tolist(),
            "bounds": bounds,
            "settings": own,
            "code": module_code(__name__),
        }
    )
