"""The way back from artifacts, over records in a folder."""

from __future__ import annotations

from pathlib import Path

from take.reuse.provenance import provenance, stage_costs
from take.reuse.records import MakingCost, Origin, read_record, stamp_origin
from tests.recording import write_record


def made(path: Path, content: str, node: str, inputs: dict[str, str], seconds: float) -> str:
    """Write an artifact with its record; its content digest."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    write_record(path)
    stage = node.partition("_")[0]
    origin = Origin(
        node=node,
        code={"take.rows.blocks": "0", f"take.pipelines.{stage}.nodes": "1"},
        parameters={f"{stage}.part": {"seed": 3}},
        inputs=inputs,
    )
    stamp_origin(path, origin, MakingCost(seconds=seconds, peak_megabytes=10.0))
    record = read_record(path)
    assert record is not None
    return record.content_digest


def test_the_way_leads_to_the_versions_that_were_used(tmp_path: Path) -> None:
    corpus = made(tmp_path / "a/1/c", "old", "ingest_corpus", {"raw": "r" * 64}, 1.0)
    made(tmp_path / "a/2/c", "new", "ingest_corpus", {"raw": "s" * 64}, 2.0)
    pool = made(tmp_path / "b/pool", "pool", "generate_pool", {"corpus": corpus, "lm": "m" * 64}, 3)
    root = tmp_path / "b/rows"
    made(root, "rows", "select_rows", {"pool": pool, "corpus": corpus}, 4.0)
    found = provenance([root], [tmp_path / "a", tmp_path / "b"])
    assert {step.node: step.seconds for step in found.steps} == {
        "ingest_corpus": 1.0,
        "generate_pool": 3.0,
        "select_rows": 4.0,
    }
    assert found.origins == {"lm": "m" * 64, "raw": "r" * 64}
    assert found.parameters() == {stage: {"part": {"seed": 3}} for stage in _stages(found)}
    assert [row["stage"] for row in stage_costs(found.steps)] == _stages(found)
    assert found.written_at == max(step.written_at for step in found.steps)


def _stages(found: object) -> list[str]:
    return [step.stage for step in found.steps]  # type: ignore[attr-defined]


def test_of_a_node_that_ran_twice_on_the_way_the_last_run_counts(tmp_path: Path) -> None:
    """`redistil`: the pool is of the corpus as it was, the rows are of the corpus as it is."""
    old = made(tmp_path / "a/1/c", "old", "ingest_corpus", {"raw": "r" * 64}, 1.0)
    new = made(tmp_path / "a/2/c", "new", "ingest_corpus", {"raw": "s" * 64}, 2.0)
    pool = made(tmp_path / "pool", "pool", "generate_pool", {"corpus": old}, 3.0)
    made(tmp_path / "rows", "rows", "select_rows", {"pool": pool, "corpus": new}, 4.0)
    found = provenance([tmp_path / "rows"], [tmp_path])
    assert {step.node: step.seconds for step in found.steps}["ingest_corpus"] == 2.0
    assert found.origins == {"raw": "s" * 64, "raw, earlier": "r" * 64}


def test_a_node_of_two_outputs_is_one_step_with_the_bytes_of_both(tmp_path: Path) -> None:
    first = made(tmp_path / "one", "1234", "select_rows", {"raw": "r" * 64}, 5.0)
    made(tmp_path / "two", "123456", "select_rows", {"raw": "r" * 64}, 5.0)
    root = tmp_path / "three"
    made(root, "x", "trace_rows", {"one": first}, 1.0)
    steps = {step.node: step for step in provenance([root], [tmp_path]).steps}
    assert steps["select_rows"].bytes == 10
    assert len(steps) == 2


def test_records_without_costs_are_read(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("x")
    write_record(path, Origin(node="n", code={}, parameters={}, inputs={}))
    (step,) = provenance([path], [tmp_path]).steps
    assert (step.seconds, step.stage) == (None, "")
