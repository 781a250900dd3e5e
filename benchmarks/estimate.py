"""The estimate of a run compared with what the run took, stage by stage.

    kedro run --pipeline=distill --params=corpus=sst2,raw_root=<folder>
    python benchmarks/estimate.py --params=corpus=sst2,raw_root=<folder>

The run's side is what the records of its artifacts say: the `cost` of each node when it last ran.
The estimate is made now, as if nothing had been made before. On a machine with other work the two
may have met different loads; `--no-estimate` shows the run's side alone.
"""

from __future__ import annotations

import argparse
import logging
from pathlib import Path
from typing import Any, NamedTuple

from kedro.framework.project import pipelines
from kedro.framework.session import KedroSession
from kedro.framework.startup import bootstrap_project
from omegaconf import OmegaConf

from take.estimate import TOLERANCE, Estimate, estimate_run
from take.estimate.costs import STAGES, StageCost, stage_of
from take.hooks import chosen_corpus
from take.reuse.records import RECORD_SUFFIX, read_record


class Took(NamedTuple):
    """What a node or a stage took, and when."""

    seconds: float
    peak_megabytes: float
    written_at: str = ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--params", default="", help="as for `kedro run`")
    parser.add_argument("--pipeline", default="distill")
    parser.add_argument("--no-estimate", action="store_true")
    options = parser.parse_args()
    logging.disable(logging.INFO)
    project = Path.cwd()
    bootstrap_project(project)
    given: Any = OmegaConf.to_container(OmegaConf.from_dotlist(options.params.split(",")))
    given.pop("", None)
    with KedroSession.create(project_path=project, runtime_params=given) as session:
        context = session.load_context()  # type: ignore[attr-defined]
        corpus = chosen_corpus(context)
        took = by_stage(nodes_of_run(project / "data", corpus))
        if not took:
            raise SystemExit(f"no record of corpus {corpus!r} says what it took: run it first")
        if options.no_estimate:
            _print_run(took)
            return
        pipeline = pipelines[options.pipeline]
        estimated = estimate_run(pipeline, context.catalog, corpus, from_scratch=True)
    print(estimated.table(), end="\n\n")
    _print_comparison(estimated, took)


def nodes_of_run(data: Path, corpus: str) -> dict[str, Took]:
    """What each node took when it last ran, by the records of the corpus's artifacts."""
    newest: dict[str, Took] = {}
    for path in sorted(data.glob(f"*/{corpus}/**/*{RECORD_SUFFIX}")):
        record = read_record(path.with_name(path.name.removesuffix(RECORD_SUFFIX)))
        cost = getattr(record, "cost", None)
        if record is None or record.made_from is None or cost is None:
            continue
        node, when = record.made_from.node, record.written_at
        if node not in newest or when > newest[node].written_at:
            newest[node] = Took(cost.seconds, cost.peak_megabytes, when)
    return newest


def by_stage(nodes: dict[str, Took]) -> dict[str, Took]:
    """Nodes added up by stage; those of no stage (an evaluation's) are left out."""
    stages: dict[str, Took] = {}
    for name, took in nodes.items():
        stage = stage_of(name)
        if stage is None:
            continue
        before = stages.get(stage, Took(0.0, 0.0))
        stages[stage] = Took(
            before.seconds + took.seconds, max(before.peak_megabytes, took.peak_megabytes)
        )
    return stages


def _print_run(took: dict[str, Took]) -> None:
    print("| stage | s | peak MB |\n|---|---|---|")
    for stage in STAGES:
        if stage in took:
            print(f"| {stage} | {took[stage].seconds:.1f} | {took[stage].peak_megabytes:.0f} |")
    print(f"| total | {sum(each.seconds for each in took.values()):.1f} | |")


def _print_comparison(estimated: Estimate, took: dict[str, Took]) -> None:
    print("| stage | s estimated | s taken | ratio | MB estimated | MB taken | ratio |")
    print("|---|---|---|---|---|---|---|")
    both = [stage for stage in estimated.stages if stage.stage in took]
    for stage in both:
        print(_line(stage.stage, stage, took[stage.stage]))
    total = StageCost(
        stage="total",
        seconds=sum(stage.seconds for stage in both),
        peak_megabytes=max(stage.peak_megabytes for stage in both),
        disk_megabytes=0,
    )
    run = Took(
        sum(took[stage.stage].seconds for stage in both),
        max(took[stage.stage].peak_megabytes for stage in both),
    )
    print(_line("total", total, run))
    ratio = total.seconds / run.seconds
    verdict = "within" if 1 - TOLERANCE <= ratio <= 1 + TOLERANCE else "beyond"
    print(f"\nThe total is {verdict} ± {TOLERANCE:.0%} of the run's.")


def _line(name: str, guess: StageCost, real: Took) -> str:
    seconds = guess.seconds / max(real.seconds, 1e-3)
    memory = guess.peak_megabytes / max(real.peak_megabytes, 1e-3)
    return (
        f"| {name} | {guess.seconds:.1f} | {real.seconds:.1f} | {seconds:.2f} | "
        f"{guess.peak_megabytes:.0f} | {real.peak_megabytes:.0f} | {memory:.2f} |"
    )


if __name__ == "__main__":
    main()
