"""How the learners were trained on full data: rows, updates, and whether training converged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from bench.markdown import both_of, code, folded, table
from take.evaluation.names import FULL, ordered_corpora, ordered_learners
from take.text.format import MISSING, share


def ceilings_section(cells: pd.DataFrame, training_rows: Mapping[str, int]) -> str:
    """Every training on full data; empty if there was none."""
    full = cells[(cells["method"] == FULL) & cells["error"].isna()]
    if full.empty:
        return ""
    rows, curves = [], []
    for corpus in ordered_corpora(full["corpus"]):
        mine = full[full["corpus"] == corpus]
        for learner in ordered_learners(mine["learner"]):
            columns = ["set_seed", "training_seed"]
            for cell in (
                mine[mine["learner"] == learner].drop_duplicates(columns).to_dict("records")
            ):
                curve = [float(loss) for loss in cell["curve"]]
                updates = cell["updates"]
                rows.append(
                    [
                        code(corpus),
                        code(learner),
                        _rows(int(cell["rows"]), training_rows.get(corpus)),
                        "to the optimum" if pd.isna(updates) else f"{int(updates):,}",
                        _stopped(curve, pd.isna(updates)),
                        both_of(cell["accuracy"], cell["macro_f1"]),
                    ]
                )
                if curve:
                    losses = ", ".join(f"{loss:.3f}" for loss in curve)
                    curves.append(f"- {code(corpus)}, {code(learner)}: {losses}")
    header = ["corpus", "learner", "training rows", "updates", "validation loss"]
    return "\n\n".join(
        [
            "## Full data",
            "How far the learners were trained on all rows. Networks are evaluated at regular "
            "steps on a part of the training split that they are not trained on, and the weights "
            "with the lowest loss are kept. Logistic regression is solved to its optimum with "
            "several penalties; the lowest loss decides there, too. *Still falling*: the last "
            "loss was the lowest, so that longer training might score higher, and *kept* may be "
            "too high.",
            table([*header, "accuracy / macro F1"], rows, left=5),
            *([folded("Validation losses", "\n".join(curves))] if curves else []),
        ]
    )


def stopped(curve: Sequence[float]) -> str:
    """A validation curve in a few words.

    >>> stopped([0.7, 0.4, 0.5]), stopped([0.7, 0.4])
    ('0.700 → 0.400 (2nd of 3)', '0.700 → 0.400 (last of 2, still falling)')
    """
    best = min(range(len(curve)), key=curve.__getitem__)
    if best + 1 == len(curve):
        place = f"last of {len(curve)}, still falling"
    else:
        ending = {1: "st", 2: "nd", 3: "rd"}.get(best + 1, "th")
        place = f"{best + 1}{ending} of {len(curve)}"
    return f"{curve[0]:.3f} → {curve[best]:.3f} ({place})"


def _stopped(curve: Sequence[float], by_penalty: bool) -> str:
    if not curve:
        return MISSING
    return f"{min(curve):.3f}, lowest of {len(curve)} penalties" if by_penalty else stopped(curve)


def _rows(rows: int, of: int | None) -> str:
    if not of or rows >= of:
        return f"{rows:,}"
    return f"{rows:,}, {share(rows / of)} of {of:,}"
