"""Codes: what substitution can and cannot change, against brute force; SEM on a worked example."""

from __future__ import annotations

import numpy as np
import pytest

from sgbt.threats import SubstitutionTable, Vocabulary
from sgbt.threats.codes import code_matrix, community_codes, community_levels, synonym_codes


def random_world(seed: int) -> tuple[Vocabulary, SubstitutionTable, dict[str, int]]:
    random = np.random.default_rng(seed)
    words = tuple(f"w{letter}" for letter in "abcdefghijklmnop")
    entries = {
        word: tuple(random.choice([other for other in words if other != word], random.integers(1, 3), replace=False))
        for word in words
        if random.random() < 0.4
    }
    counts = {word: int(random.choice([1, 500])) for word in words}
    return Vocabulary(tuple(random.permutation(words)[:13])), SubstitutionTable(entries), counts


@pytest.mark.parametrize("seed", range(30))
def test_words_that_no_chain_of_substitutions_connects_never_share_a_code(seed: int) -> None:
    vocabulary, table, counts = random_world(seed)
    codes = community_codes(vocabulary, table, counts)
    linked = np.eye(len(vocabulary), dtype=bool)
    for word in vocabulary.words:
        for other in table.substitutes(word):
            if other in vocabulary:
                linked[vocabulary.id_of(word), vocabulary.id_of(other)] = True
    linked |= linked.T
    for _ in range(len(vocabulary)):
        linked = linked @ linked
    for one in range(2, len(vocabulary)):
        for other in range(2, len(vocabulary)):
            assert codes[one] != codes[other] or linked[one, other]
    assert codes[:2].tolist() == [0, 1]
    assert sorted(set(codes.tolist())) == list(range(codes.max() + 1))
    assert np.array_equal(codes, community_codes(vocabulary, table, counts))


@pytest.mark.parametrize("seed", range(10))
def test_levels_name_each_community_by_its_first_word(seed: int) -> None:
    vocabulary, table, counts = random_world(seed)
    levels = community_levels(vocabulary, table, counts, resolutions=(1e-6, 30.0))
    assert levels.shape == (2, len(vocabulary))
    assert (levels <= np.arange(len(vocabulary))).all()
    assert (np.take_along_axis(levels, levels, axis=1) == levels).all()
    assert levels[:, :2].tolist() == [[0, 1], [0, 1]]
    whole = community_codes(vocabulary, table, counts, resolution=1e-6)  # all that a chain connects
    assert (np.equal.outer(levels[0], levels[0]) == np.equal.outer(whole, whole)).all()
    assert len(set(levels[1])) >= len(set(levels[0]))


def test_a_bridge_between_two_groups_of_words_is_cut_and_only_its_ends_are_ambiguous() -> None:
    near, far = ("good", "fine", "great", "nice"), ("bad", "poor", "weak", "awful")
    entries = {word: tuple(other for other in group if other != word) for group in (near, far) for word in group}
    entries["nice"] = (*entries["nice"], "weak")
    vocabulary, table = Vocabulary((*near, *far, "the")), SubstitutionTable(entries)
    counts = dict.fromkeys(vocabulary.words, 10)
    codes = {word: community_codes(vocabulary, table, counts)[vocabulary.id_of(word)] for word in vocabulary.words}
    assert len({codes[word] for word in near}) == len({codes[word] for word in far}) == 1
    assert len({codes["good"], codes["bad"], codes["the"]}) == 3
    sets = {word: {codes[word], *(codes[other] for other in table.substitutes(word))} for word in vocabulary.words}
    assert [word for word in vocabulary.words if len(sets[word]) > 1] == ["nice"]
    whole = community_codes(vocabulary, table, counts, resolution=1e-6)
    assert len({whole[vocabulary.id_of(word)] for word in (*near, *far)}) == 1


def test_synonym_encoding_follows_the_published_algorithm() -> None:
    """Algorithm 1 by hand, words by falling frequency a b c d e f.

    a has no coded synonym: it founds a cluster and codes c. b founds one and codes d. c has nobody to code; d gives its
    own code, b's, to e. f has two coded synonyms and takes the code of the nearest: c, which is in a's cluster.
    """
    words = ("a", "b", "c", "d", "e", "f", "g")
    table = SubstitutionTable({"a": ("c",), "b": ("d",), "d": ("e",), "f": ("c", "b")})
    vocabulary = Vocabulary(words)
    codes = synonym_codes(vocabulary, table, {word: 100 - place for place, word in enumerate(words)})
    founders = {word: vocabulary.decode([codes[vocabulary.id_of(word)]])[0] for word in words}
    assert founders == {"a": "a", "b": "b", "c": "a", "d": "b", "e": "b", "f": "a", "g": "g"}
    assert codes[:2].tolist() == [0, 1]


def test_a_code_is_the_mean_of_its_words_by_their_counts() -> None:
    matrix = np.array([[0.0], [5.0], [1.0], [4.0], [7.0]])
    found = code_matrix(matrix, np.array([0, 1, 2, 2, 3]), np.array([0.0, 0, 3, 1, 0]))
    assert found[:, 0].tolist() == [0.0, 5.0, 1.75, 7.0]
