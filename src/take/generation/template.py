r"""A labelled row as tokens for a language model, and back.

    {label}\n{text}<end>                 a single text
    {text_a}\n{label}\n{text_b}<end>     a pair: the second text is given the first and the label

The line break is the only marker, and no text can hold one: white space is folded to single
blanks first. No text is ever turned into special tokens, whatever it spells. The label of a
generated row is given, never read from what was generated. The label is written as its prompt, a
phrase of corpora.yml, or as its name.
"""

from __future__ import annotations

import logging
import re
import unicodedata
from collections.abc import Sequence
from typing import Any, NamedTuple

import pandas as pd

from take.errors import InputError
from take.generation.language_models import LanguageModel
from take.generation.screening.row_checks import Markers
from take.rows.labelled import TEXT_COLUMNS, Task, class_names, task_of, text_columns
from take.text.format import share

_logger = logging.getLogger(__name__)

_LINE_BREAK = "\n"
# What may close a sentence, with the quote or bracket that may follow it.
_SENTENCE_END = re.compile(r"[.!?。！？][\"'”’)\]]*(?=\s|$)")


def fold(text: str) -> str:
    r"""The text on one line: white space folded, control characters removed.

    >>> fold(" one\r\ntwo\u2028 three\x00 ")
    'one two three'
    """
    shown = (c for c in text if c.isspace() or unicodedata.category(c) != "Cc")
    return " ".join("".join(shown).split())


class WholeRow(NamedTuple):
    """A row with all that is given."""

    token_ids: tuple[int, ...]
    """Prompt, text and end token."""
    prompt_length: int
    """Tokens of the prompt, which is given, not learned."""
    given: tuple[int, int]
    """From where to where further tokens are given: the label of a pair."""


class Template:
    """Rows as token ids, for one tokenizer, task and set of labels."""

    def __init__(
        self,
        source: Any,
        label_names: Sequence[str],
        task: Task,
        max_text_tokens: int,
        label_prompts: Sequence[str] | None = None,
    ) -> None:
        """`source`: the tokenizer, or the language model that has it."""
        self._given = (source, label_names, task, max_text_tokens, label_prompts)
        tokenizer = source.load_tokenizer() if isinstance(source, LanguageModel) else source
        self._tokenizer: Any = tokenizer
        self.columns = TEXT_COLUMNS[task]
        self.max_text_tokens = max_text_tokens
        self.end_id = _end_id(tokenizer)
        self.special_ids = _special_ids(tokenizer)
        names = [fold(name) for name in label_prompts or label_names]
        if len(set(names)) < len(names) or not all(names):
            raise InputError(
                f"label names {names} are not different once blanks are folded",
                remedy="give each class a different name, and a different prompt, in corpora.yml",
            )
        start = _start_ids(tokenizer)
        self.break_id = self._break_id()
        if len(self.columns) == 1:
            self._prompts = [start + self._plain_ids(name + _LINE_BREAK) for name in names]
            self._between: list[list[int]] = [[] for _ in names]
        else:
            # A model reads at least one token before it writes: the end of another text.
            self._prompts = [start or [self.end_id] for _ in names]
            labels = [self._plain_ids(name) for name in names]
            longest = max(map(len, labels))
            # All of one length, so that rows with other labels stay in step (guidance).
            self._between = [[*ids, *[self.break_id] * (1 + longest - len(ids))] for ids in labels]

    @classmethod
    def of(
        cls, language_model: LanguageModel, corpus: pd.DataFrame, max_text_tokens: int
    ) -> Template:
        """The template of a corpus for a language model."""
        names, prompts = class_names(corpus), None
        if "label_prompt" in corpus:
            prompts = corpus.groupby("label")["label_prompt"].first().tolist()
        return cls(language_model, names, task_of(corpus), max_text_tokens, prompts)

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process loads a language model's tokenizer itself."""
        return type(self), self._given

    @property
    def n_classes(self) -> int:
        """How many labels there are."""
        return len(self._prompts)

    @property
    def prompts(self) -> list[list[int]]:
        """What is given before a row of each class, and between its texts."""
        return [
            before + between for before, between in zip(self._prompts, self._between, strict=True)
        ]

    @property
    def markers(self) -> tuple[str, ...]:
        """Special tokens as strings, which no generated text should hold."""
        tokens = self._tokenizer.convert_ids_to_tokens(sorted(self.special_ids))
        # Some tokenizers have special tokens such as "," that ordinary texts hold, too.
        return tuple(token for token in tokens if re.search(r"[<\[|].*[>\]|]", token))

    def check_markers(self, corpus: pd.DataFrame) -> None:
        """Log how many rows spell out a special token; refuse a class whose every row does.

        A model trained on such rows generates such rows, and screening drops them.
        """
        found = Markers(self.markers).found

        def is_dropped(texts: Sequence[str]) -> bool:
            ids = self.encode(texts)  # without the end of a text that is too long
            return ids is None or found(self.decode(ids)) is not None

        rows = list(zip(*text_columns(corpus), strict=True))
        held = pd.Series([found(_LINE_BREAK.join(row)) for row in rows], dtype=object)
        for name, mine in held.groupby(corpus["label_name"].to_numpy()):
            if mine.notna().all() and all(is_dropped(rows[i]) for i in mine.index):
                raise InputError(
                    f"every text of class {name!r} holds a special token of the language model, "
                    f"such as {mine.iloc[0]!r}; generated rows that hold one are dropped",
                    where="the corpus",
                    remedy="remove special tokens from the texts, or use a language_model (in "
                    "globals.yml) without them",
                )
        if count := int(held.notna().sum()):
            _logger.warning(
                "%s of %s rows (%s) hold a special token of the language model. Generated rows "
                "that hold one are dropped.",
                f"{count:,}",
                f"{len(rows):,}",
                share(count / len(rows)),
            )

    def prompt(self, label: int) -> list[int]:
        """What is given before a row of this class."""
        return self._prompts[label]

    def between(self, label: int) -> list[int]:
        """What is given between the texts of a pair of this class."""
        return self._between[label]

    def whole(self, label: int, ids: Sequence[int]) -> WholeRow:
        """A row of this class, from the tokens that `encode` returned."""
        prompt, between = self._prompts[label], self._between[label]
        if not between:
            return WholeRow((*prompt, *ids), len(prompt), (0, 0))
        first = list(ids).index(self.break_id) + 1
        start = len(prompt) + first
        return WholeRow(
            (*prompt, *ids[:first], *between, *ids[first:]),
            len(prompt),
            (start, start + len(between)),
        )

    def given_tokens(self, label: int) -> int:
        """How many tokens of a row are given."""
        return len(self._prompts[label]) + len(self._between[label])

    def encode(self, texts: Sequence[str]) -> list[int] | None:
        """The tokens to be learned: the texts and the end token; None for a pair that is too long.

        A single text that is too long is cut after the last whole sentence that fits, so that the
        end token is where a text may end; if no sentence fits, it has no end token.
        """
        folded = [fold(text) for text in texts]
        ids = self._joined([self._plain_ids(text) for text in folded])
        if len(ids) < self.max_text_tokens:
            return [*ids, self.end_id]
        if len(folded) > 1:
            return None
        kept = self.decode(ids[: self.max_text_tokens - 1])
        ends = [match.end() for match in _SENTENCE_END.finditer(kept)]
        if not ends:
            return ids[: self.max_text_tokens]
        return [*self._plain_ids(kept[: ends[-1]])[: self.max_text_tokens - 1], self.end_id]

    def encode_all(self, columns: Sequence[Sequence[str]]) -> list[list[int]]:
        """The tokens of many rows, however long, without end tokens."""
        parts = [
            plain_ids_of_all(self._tokenizer, [fold(text) for text in column]) for column in columns
        ]
        return [self._joined(row) for row in zip(*parts, strict=True)]

    def _break_id(self) -> int:
        """The token of a line break; −1 for a single text, which holds none."""
        if len(self.columns) == 1:
            return -1
        ids = self._plain_ids(_LINE_BREAK)[-1:]
        if not ids or _LINE_BREAK not in self._tokenizer.decode(ids):
            raise InputError(
                "the language model's tokenizer has no token for a line break, which separates the "
                "texts of a pair",
                where=str(self._tokenizer.name_or_path),
                remedy="use another language_model (in globals.yml)",
            )
        return ids[0]

    def _joined(self, parts: Sequence[list[int]]) -> list[int]:
        ids = list(parts[0])
        for part in parts[1:]:
            ids += [self.break_id, *part]
        return ids

    def written(self, ids: Sequence[int]) -> str:
        """What was generated after the prompt, without what was given between two texts."""
        ids = list(ids)
        given = len(self._between[0])
        if not given or self.break_id not in ids:
            return self.decode(ids)
        first = ids.index(self.break_id)
        texts = (ids[:first], ids[first + 1 + given :])
        return _LINE_BREAK.join(self.decode(part) for part in texts)

    def decode(self, ids: Sequence[int]) -> str:
        """The text up to the end token, without surrounding blanks."""
        ids = list(ids)
        if self.end_id in ids:
            ids = ids[: ids.index(self.end_id)]
        text: str = self._tokenizer.decode(
            ids, skip_special_tokens=False, clean_up_tokenization_spaces=False
        )
        return text.strip(" ")  # line breaks are left for `parse`

    def parse(self, written: str) -> tuple[str, ...] | None:
        r"""The texts of a row in the right format; None for others.

        Strict: one line for a single text, two for a pair, none of them blank.
        """
        lines = written.split(_LINE_BREAK)
        texts = tuple(fold(line) for line in lines)
        return texts if len(texts) == len(self.columns) and all(texts) else None

    def _plain_ids(self, text: str) -> list[int]:
        """Token ids of the text: an "<eos>" in it is five characters, not the end token."""
        # Some tokenizers do not split special tokens in a text: such ids are removed.
        ids = plain_ids(self._tokenizer, text)
        return [token for token in ids if token not in self.special_ids]


def plain_ids(tokenizer: Any, text: str) -> list[int]:
    """Token ids of the text alone; special tokens in it are read as characters."""
    ids = tokenizer(text, add_special_tokens=False, split_special_tokens=True)["input_ids"]
    return list(ids)


def plain_ids_of_all(tokenizer: Any, texts: Sequence[str]) -> list[list[int]]:
    """`plain_ids` of many texts at once, which is several times as fast."""
    if not texts:
        return []
    found = tokenizer(list(texts), add_special_tokens=False, split_special_tokens=True)
    return [list(ids) for ids in found["input_ids"]]


def _end_id(tokenizer: Any) -> int:
    if tokenizer.eos_token_id is None:
        raise InputError(
            "the language model's tokenizer has no end token",
            where=str(tokenizer.name_or_path),
            remedy="use a causal language model whose tokenizer defines eos_token",
        )
    return int(tokenizer.eos_token_id)


def _special_ids(tokenizer: Any) -> frozenset[int]:
    added = {i for i, token in tokenizer.added_tokens_decoder.items() if token.special}
    return frozenset(added | set(tokenizer.all_special_ids))


def _start_ids(tokenizer: Any) -> list[int]:
    """The start token, for tokenizers that put one before every text (Llama, Gemma)."""
    ids = tokenizer("a")["input_ids"]
    return ids[:1] if ids[:1] == [tokenizer.bos_token_id] else []
