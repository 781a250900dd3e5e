"""How a distilled set came about, for whoever wants to make it again."""

from __future__ import annotations

from take.artifacts.provenance import Provenance
from take.audit.manifest import Reproduction
from take.corpus.ingest import CorpusReport
from take.version import code_version


def reproduction(made: Provenance, corpus_report: CorpusReport) -> Reproduction:
    """The command, and all parameters that were in force."""
    chosen = f"corpus={corpus_report.corpus},budget={corpus_report.budget}"
    return Reproduction(
        command=f"kedro run --pipeline=distill --params={chosen}",
        code_version=code_version(),
        parameters={step.node: step.parameters for step in made.steps},
        inputs=made.origins,
        made_at=made.written_at,
    )
