import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from take.generation.finetuning.token_rows import Rows
from take.generation.finetuning.updates import epoch_batches, padded, plan_updates
from tests.generation.finetuning.conftest import quick

LENGTHS = st.lists(st.integers(2, 60), min_size=1, max_size=80).map(np.array)


@given(LENGTHS, st.integers(1, 9), st.integers(0, 9))
def test_an_epoch_holds_every_row_once(lengths, batch_rows, seed):
    batches = epoch_batches(lengths, batch_rows, np.random.default_rng(seed))
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(lengths)))
    assert all(len(batch) <= batch_rows for batch in batches)


@given(LENGTHS, st.integers(1, 5000), st.integers(1, 4), st.integers(1, 3))
def test_the_plan_keeps_to_budget_and_epochs(lengths, budget, epochs, accumulation):
    settings = quick(
        token_budget=budget, max_epochs=epochs, accumulation=accumulation, batch_rows=4
    )
    batches = [batch for update in plan_updates(lengths, settings) for batch in update]
    taken = [int(lengths[batch].sum()) for batch in batches]
    assert sum(taken[:-1]) < budget
    assert sum(taken) <= epochs * lengths.sum()
    assert sum(taken) >= min(budget, epochs * lengths.sum())


def test_rows_of_a_batch_are_alike_in_length_and_batches_are_shuffled():
    lengths = np.random.default_rng(0).integers(5, 60, size=2000)
    batches = epoch_batches(lengths, 8, np.random.default_rng(0))
    computed = sum(len(batch) * lengths[batch].max() for batch in batches)
    assert computed < 1.01 * lengths.sum()
    means = [lengths[batch].mean() for batch in batches]
    assert abs(np.corrcoef(means, np.arange(len(means)))[0, 1]) < 0.2


def test_epochs_differ_and_seeds_decide():
    lengths = np.full(32, 10)
    settings = quick(token_budget=640, max_epochs=2, batch_rows=32)
    first, second = (update[0].tolist() for update in plan_updates(lengths, settings))
    assert first != second
    assert first == plan_updates(lengths, settings)[0][0].tolist()


def test_padding_and_prompts_are_never_targets():
    rows = Rows(((7, 8, 1, 2, 0), (7, 3, 0)), np.array([2, 1]), np.arange(2))
    batch = padded(rows, np.array([0, 1]), pad_id=0)  # pad == end, as SmolLM2 has it
    assert batch.token_ids.tolist() == [[7, 8, 1, 2, 0], [7, 3, 0, 0, 0]]
    assert batch.target_ids.tolist() == [1, 2, 0, 3, 0]
    assert batch.target_rows.tolist() == [0, 0, 0, 1, 1]
    assert batch.tokens == 8
