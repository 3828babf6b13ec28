from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sgbt.core.errors import DataError
from sgbt.data import RaggedIds, batches
from sgbt.data.batches import PADDING, pad


def ragged(lengths: list[int]) -> RaggedIds:
    """Texts of the given lengths; every word has an id of its own, from 1."""
    starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    return RaggedIds(np.arange(1, starts[-1] + 1), starts)


lengths = st.lists(st.integers(0, 12), max_size=25)
options = st.fixed_dictionaries(
    {
        "size": st.integers(1, 7),
        "seed": st.none() | st.integers(0, 2**32),
        "words": st.none() | st.integers(1, 40),
    }
)


@given(lengths, options)
def test_every_text_comes_exactly_once_and_whole(lengths: list[int], options: dict[str, int | None]) -> None:
    texts = ragged(lengths)
    seen = []
    for batch in batches(texts, **options):  # type: ignore[arg-type]
        assert batch.ids.dtype == torch.int64
        assert batch.mask.dtype == torch.bool
        assert batch.ids.shape == batch.mask.shape
        assert 1 <= len(batch.rows) <= (options["size"] or 0)
        for ids, mask, row in zip(batch.ids, batch.mask, batch.rows, strict=True):
            assert ids[mask].tolist() == texts[int(row)].tolist()
            assert (ids[~mask] == PADDING).all()
            assert mask.tolist() == sorted(mask.tolist(), reverse=True), "padding stands behind the words"
        assert batch.lengths.tolist() == texts.lengths[batch.rows.numpy()].tolist()
        assert batch.ids.shape[1] == max(int(batch.lengths.max()), 1)
        seen += batch.rows.tolist()
    assert sorted(seen) == list(range(len(lengths)))


@given(lengths, options)
def test_the_limit_of_words_holds_but_for_a_single_text(lengths: list[int], options: dict[str, int | None]) -> None:
    for batch in batches(ragged(lengths), **options):  # type: ignore[arg-type]
        if options["words"] is not None and len(batch.rows) > 1:
            assert len(batch.rows) * int(batch.lengths.max()) <= options["words"]


@given(lengths, st.integers(0, 100))
def test_a_seed_gives_the_same_batches_again(lengths: list[int], seed: int) -> None:
    runs = [[batch.rows.tolist() for batch in batches(ragged(lengths), size=3, seed=seed)] for _ in range(2)]
    assert runs[0] == runs[1]


def test_seeds_give_different_batches() -> None:
    texts = ragged([4] * 50)
    runs = {str([batch.rows.tolist() for batch in batches(texts, size=5, seed=seed)]) for seed in range(10)}
    assert len(runs) == 10


def test_without_a_seed_the_shortest_come_first() -> None:
    lengths = [batch.lengths.tolist() for batch in batches(ragged([9, 1, 5, 0, 5]), size=2)]
    assert lengths == [[0, 1], [5, 5], [9]]


def test_texts_of_like_length_share_a_batch() -> None:
    texts = ragged(list(range(1, 401)))
    positions = sum(batch.ids.numel() for batch in batches(texts, size=20, seed=1))
    assert positions < 1.2 * len(texts.flat)


def test_an_empty_text_is_one_masked_position() -> None:
    (batch,) = batches(ragged([0]), size=4)
    assert batch.ids.tolist() == [[PADDING]]
    assert batch.mask.tolist() == [[False]]
    assert batch.lengths.tolist() == [0]


def test_no_texts_no_batches() -> None:
    assert list(batches(ragged([]), size=4)) == []


def test_rows_in_any_order() -> None:
    batch = pad(ragged([2, 0, 1]), np.array([2, 0]))
    assert batch.ids.tolist() == [[3, 0], [1, 2]]
    assert batch.rows.tolist() == [2, 0]


@pytest.mark.parametrize("options", [{"size": 0}, {"size": -1}, {"size": 4, "words": 0}])
def test_a_size_that_cannot_be(options: dict[str, int]) -> None:
    with pytest.raises(DataError, match=r"expected batches of at least one (text|word), got (0|-1)"):
        list(batches(ragged([1, 2]), **options))  # type: ignore[arg-type]
