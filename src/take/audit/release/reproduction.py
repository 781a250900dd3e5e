"""How a distilled set came about, for whoever wants to make it again."""

from __future__ import annotations

from take.audit.release.manifest import Reproduction
from take.reuse.provenance import Provenance
from take.version import code_version


def reproduction(made: Provenance, corpus: str, budget: str) -> Reproduction:
    """The command, and all parameters that were in force."""
    is_grown = any("previous_distilled" in step.inputs for step in made.steps)
    pipeline = "redistil" if is_grown else "distill"
    return Reproduction(
        command=f"kedro run --pipeline={pipeline} --params=corpus={corpus},budget={budget}",
        code_version=code_version(),
        parameters={step.node: step.parameters for step in made.steps},
        inputs=made.origins,
        made_at=made.written_at,
    )
