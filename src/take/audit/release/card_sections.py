"""Sections of the dataset card about what was found, and how Markdown is written for them.

Names and sentences are escaped, so that a class called `|a|` or `<b>` is shown, not obeyed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PureWindowsPath
from typing import TYPE_CHECKING

from take.corpus.budget import Budget
from take.evaluation.markdown import NOTHING, percent, table
from take.evaluation.names import DISTILLED, FULL, ordered_learners, ordered_methods
from take.evaluation.text import METRICS, score

if TYPE_CHECKING:
    from take.audit.release.card import CardFacts

# Characters that hide, or reorder what stands around them.
UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
_MARKS = re.compile(r"([\\`*_\[\]<>#~&$!])")


def inline(text: object) -> str:
    r"""A name or sentence within a line of Markdown, shown as it is; `table` sees to "|".

    >>> print(inline("a_b <b>*x*</b>"))
    a\_b \<b\>\*x\*\</b\>
    """
    return _MARKS.sub(r"\\\1", _visible(text))


def code(text: object) -> str:
    """A name as it is written in settings, whatever backticks it holds.

    >>> code("exam"), code("a`b")
    ('`exam`', '`` a`b ``')
    """
    name = _visible(text)
    return f"{_fence(name, 1)} {name} {_fence(name, 1)}" if "`" in name else f"`{name}`"


def fenced(text: str, language: str = "") -> str:
    """A block of text as it is.

    >>> print(fenced("a ``` b"))
    ````
    a ``` b
    ````
    """
    fence = _fence(text, 3)
    return f"{fence}{language}\n{text}\n{fence}"


def quality(facts: CardFacts) -> Iterator[str]:
    """How well the rows stand for the corpus, and what they teach."""
    report, agreement = facts.distillation_report, facts.pool_quality.agreement
    chance, cost, mass = report.coverage.random, report.transport, report.representation
    # The random choice is measured as the scope has it: like is compared with like.
    own = report.coverage.own_class if report.run.scope == "class" else None
    covered = own or report.coverage.any_class
    nearest = "nearest of these rows" + (" of its class" if own else "")
    distance = f"distance of a training row to the {nearest} (φ, 0 to 2)"
    rows = [
        [f"mean {distance}", f"{covered.mean:.3f}", f"{chance.mean:.3f} (random rows)"],
        ["the same, of 95 % of training rows at most", f"{covered.p95:.3f}", f"{chance.p95:.3f}"],
        [
            "transport cost from the weighted corpus",
            f"{cost.distilled.cost:.3f}",
            f"{cost.random.cost:.3f} (random rows), {cost.pool.cost:.3f} (whole pool)",
        ],
        [
            "effective rows: so many of equal mass would stand for the corpus as unevenly",
            f"{mass.effective_rows:.1f}",
            f"{report.rows:,} (all rows)",
        ],
        [
            "generated rows whose label a probe agrees with, before screening, %",
            percent(agreement.before),
            f"{percent(agreement.corpus)} (real rows)",
        ],
        ["the same after screening, %", percent(agreement.after), NOTHING],
    ]
    yield table(["figure", "here", "for comparison"], rows)
    yield from _accuracy(facts)


def privacy(facts: CardFacts) -> Iterator[str]:
    """The verdict and what it rests on."""
    found = facts.privacy
    yield (
        f"Verdict: **{found.verdict}**{' and blocked' if found.blocked else ''}. The rows are "
        f"**{inline(found.word)}**, not certified private: the checks look for what they know of, "
        "and what they do not find may be there."
    )
    rows = [[code(c.name), c.verdict, inline(c.sentence)] for c in found.checks]
    yield table(["check", "verdict", "what was found"], rows, left=3)
    if changed := found.limits_in_words():
        yield inline(changed)
    yield (
        "Personal data are looked for by their form: e-mail and IP addresses, phone, account, card "
        "and identity numbers. Names, street addresses and stories that point to a person are not "
        "looked for."
    )
    overridden = [
        f"- {code(check.name)}: {inline(check.overridden)}"
        for check in found.checks
        if check.overridden
    ]
    if overridden:
        yield "Blocked, and let pass all the same, by whom and why:\n\n" + "\n".join(overridden)
    spent = found.spent
    if spent is None:
        yield "No differential privacy: no ε is claimed."
        return
    yield (
        f"Differential privacy: ε = {spent.epsilon:.2f} at δ = {spent.delta:g} covers the language "
        "model's fine-tuning, for one training row more or less. It does not cover what else was "
        "computed from the corpus: weights, the choice of rows to train on, screening, selection "
        "of these rows, figures of this audit. So it is no ε of these rows."
    )
    if spent.repeatable:
        yield (
            "The noise was seeded by a setting: from anyone who knows that setting, ε protects "
            "nothing."
        )


def balance(facts: CardFacts) -> Iterator[str]:
    """What has shifted from the corpus."""
    findings = facts.balance.findings
    shifted = [finding for finding in findings if finding.verdict == "shifted"]
    sets = {"distilled": "These rows", "pool": "The pool they were chosen from"}
    for where, name in sets.items():
        verdicts = [finding.verdict for finding in findings if finding.where == where]
        if verdicts:
            yield (
                f"{name}: {verdicts.count('shifted')} of {len(verdicts)} figures held against the "
                f"corpus have shifted; {verdicts.count('untold')} cannot be told for want of rows."
            )
    if shifted:
        rows = [[inline(f.name), f.where, f.verdict, inline(f.sentence)] for f in shifted]
        yield table(["figure", "rows", "verdict", "what was found"], rows, left=4)


def licence(facts: CardFacts) -> Iterator[str]:
    """Whose the corpus and the language model are."""
    report = facts.corpus_report
    about = report.about
    origin = PureWindowsPath(report.origin)
    is_local = origin.is_absolute() or report.origin.startswith(("/", "~"))
    note = f" {inline(about.licence_note)}" if about.licence_note else ""
    rows = [
        ["corpus", inline(report.corpus)],
        ["licence", f"{code(about.licence)}.{note}"],
        ["source", inline(about.source) or "not stated"],
        ["read from", inline(origin.name if is_local else report.origin)],
        ["language", ", ".join(map(inline, about.language)) or "not stated"],
        ["contains personal data", inline(about.contains_personal_data)],
        ["language model", inline(facts.fine_tuning_report.language_model)],
    ]
    yield table(["", "of the source"], rows, left=2)
    yield (
        "These rows were generated, but by a model fine-tuned on that corpus, and they may carry "
        "its terms. The language model has a licence of its own, which may say what can be done "
        "with what it writes. Check both before you pass the rows on; nothing here grants a right."
    )


def reproduction(facts: CardFacts) -> Iterator[str]:
    """How to make the rows again, and how to check these."""
    made = facts.reproduction.shareable()
    yield fenced(made.command, "bash")
    yield (
        f"TAKE {inline(made.code_version)}, {inline(made.made_at)}. SHA-256 of the parameters: "
        f"{code(made.parameters_digest)}; they stand in `manifest.json`. The same seeds give the "
        "same rows on the same kind of machine."
    )
    if made.inputs:
        inputs = [[code(name), code(digest)] for name, digest in sorted(made.inputs.items())]
        yield table(["made from", "digest"], inputs, left=2)
    yield (
        "To check that no file was altered: `sha256sum -c SHA256SUMS` here, or `kedro verify "
        "--folder <this folder>` where TAKE is."
    )


def _accuracy(facts: CardFacts) -> Iterator[str]:
    summary, report = facts.evaluation_summary, facts.corpus_report
    if summary is not None:
        budgets = summary["budget"].map(lambda written: str(Budget.parse(written)))
        is_ours = (summary["corpus"] == report.corpus) & (budgets == report.budget)
        summary = summary[is_ours & (summary["n_cells"] > 0)]
    if summary is None or summary.empty:
        yield "What learners taught with these rows get right was not measured."
        return
    cells = {(r["method"], r["learner"]): score(r) for r in summary.to_dict("records")}
    learners = ordered_learners(summary["learner"])
    metric = str(summary["metric"].iloc[0])
    yield (
        f"What learners get right of the evaluation split ({METRICS.get(metric, metric)} in %, ± "
        f"standard error), taught with these rows ({code(DISTILLED)}), with as many others, or "
        f"with the whole corpus ({code(FULL)}):"
    )
    rows = [
        [code(method), *(cells.get((method, name), NOTHING) for name in learners)]
        for method in ordered_methods(summary["method"])
    ]
    yield table(["taught with", *map(code, learners)], rows)


def _visible(text: object) -> str:
    return UNSEEN.sub("\ufffd", " ".join(str(text).split()))


def _fence(text: str, least: int) -> str:
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    return "`" * max(least, longest + 1)
