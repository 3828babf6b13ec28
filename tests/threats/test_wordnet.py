from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from sgbt.core.errors import LexiconError
from sgbt.core.files import user_cache
from sgbt.resources import UnavailableError
from sgbt.threats import SubstitutionTable, WordNet, read_wordnet, wordnet_synonyms


@pytest.fixture
def wordnet(small_wordnet: Path, monkeypatch: pytest.MonkeyPatch) -> WordNet:
    located = SimpleNamespace(paths=(small_wordnet,))
    monkeypatch.setattr("sgbt.threats.wordnet.get", lambda name, *, data_home: located)
    return read_wordnet(small_wordnet)


def test_senses_and_opposites(wordnet: WordNet) -> None:
    assert wordnet.senses["n"]["film"] == (1000, 1001, 1002)
    assert wordnet.members["a"][1001] == ("bad", "spoiled"), "markers such as (p) are not part of a word"
    assert wordnet.opposites["a"] == (("bad", "good"), ("good", "bad"))
    assert wordnet.parts_of_speech("good") == ("a", "r")
    assert wordnet.parts_of_speech("unheard") == ()


def test_base_forms(wordnet: WordNet) -> None:
    assert wordnet.bases("movies", "n") == ("movie",)
    assert wordnet.bases("loved", "v") == ("love",)
    assert wordnet.bases("hating", "v") == ("hate",)
    assert wordnet.bases("better", "a") == ("good",), "irregular forms come from the exception list"
    assert wordnet.bases("larger", "a") == ("large",)
    assert wordnet.bases("unheard", "n") == ()


def test_synonyms_by_part_of_speech(wordnet: WordNet) -> None:
    assert wordnet_synonyms("film", "n") == ("movie", "cinema"), "best sense first, single words only"
    assert wordnet_synonyms("films", "n", wordnet=wordnet) == ("movie", "cinema")
    assert wordnet_synonyms("loved", "v") == ("adore", "jazz")
    assert wordnet_synonyms("film", "v") == ()
    with pytest.raises(LexiconError, match="one of n, v, a, r, got 'noun'"):
        wordnet_synonyms("film", "noun")


def test_a_table_of_synonyms(wordnet: WordNet) -> None:
    table = SubstitutionTable.wordnet(["films", "good", "bad", "unheard", "Film"])
    assert dict(table.entries) == {"films": ("movie", "cinema"), "good": ("well",), "bad": ("spoiled",)}
    everything = SubstitutionTable.wordnet()
    assert everything.substitutes("movie") == ("film",)
    assert "moving_picture" not in everything
    assert "moving_picture" not in everything.substitutes("film")


def test_the_table_of_all_words_is_kept_and_made_anew_where_the_files_have_changed(
    wordnet: WordNet, small_wordnet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = SubstitutionTable.wordnet()
    monkeypatch.setattr("sgbt.threats.wordnet.read_wordnet", lambda folder: pytest.fail("it reads the files again"))
    kept = SubstitutionTable.wordnet()
    assert list(kept.entries.items()) == list(made.entries.items())
    assert kept.name == made.name
    monkeypatch.setattr("sgbt.threats.wordnet.read_wordnet", lambda folder: wordnet)
    (file,) = (user_cache() / "wordnet").iterdir()
    file.write_text(file.read_text().replace("film", "filn"))
    assert SubstitutionTable.wordnet() == made, "a damaged file is made anew"
    (small_wordnet / "noun.exc").write_text("moviez movie\n")
    assert SubstitutionTable.wordnet() == made
    assert len(list((user_cache() / "wordnet").iterdir())) == 2


def test_single_words_are_those_among_all_synonyms(wordnet: WordNet) -> None:
    for word in (*wordnet.lemmas(), "films", "loved", "better", "unheard"):
        for pos in wordnet.senses:
            every = wordnet.ranked_synonyms(word, pos)
            assert wordnet.ranked_synonyms(word, pos, single_words=True) == [p for p in every if "_" not in p[1]]


def test_bad_folders_get_one_clear_sentence(small_wordnet: Path, tmp_path: Path) -> None:
    with pytest.raises(LexiconError, match="WordNet's database files, got no such file"):
        read_wordnet(tmp_path / "absent")
    (small_wordnet / "data.verb").write_text("not a database line\n")
    with pytest.raises(LexiconError, match=r"got a line it cannot read in .*; sgbt data get wordnet"):
        read_wordnet(small_wordnet)


@pytest.mark.network
def test_known_facts_of_the_real_database(real_wordnet: tuple[Path, WordNet]) -> None:
    _, wordnet = real_wordnet
    assert sum(map(len, wordnet.members.values())) == 117_659
    assert {"movie", "picture", "flick"} <= set(wordnet_synonyms("film", "n", wordnet=wordnet))
    assert {"awful", "dreadful"} <= set(wordnet_synonyms("terrible", "a", wordnet=wordnet))
    assert ("good", "bad") in wordnet.opposites["a"]
    assert wordnet.bases("children", "n") == ("child",)


@pytest.mark.network
@pytest.mark.filterwarnings("ignore:The multilingual functions")
def test_agrees_with_nltk(real_wordnet: tuple[Path, WordNet], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, wordnet = real_wordnet
    nltk = pytest.importorskip("nltk")
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    copy = tmp_path / "nltk_data" / "corpora" / "wordnet"
    shutil.copytree(folder, copy)
    for place in (copy.parent.parent, copy.parent, copy):
        place.chmod(0o755)
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path / "nltk_data")])
    try:
        reader = WordNetCorpusReader(str(copy), None)
    except PermissionError as problem:
        pytest.skip(f"NLTK refuses this folder: {problem}")
    sample = list(wordnet.lemmas())[::997]
    words = [*sample, "films", "loved", "better", "men", "wolves", "was", "running", "happier", "leaves", "axes", "got"]
    for word in words:
        for pos in "nvar":
            assert list(wordnet.bases(word, pos)) == list(dict.fromkeys(reader._morphy(word, pos)))
            theirs = reader.synsets(word, pos)
            ours = [sense for base in wordnet.bases(word, pos) for sense in wordnet.senses[pos][base]]
            assert ours == [synset.offset() for synset in theirs]
            for synset in theirs:
                lemmas = tuple(dict.fromkeys(lemma.name().lower() for lemma in synset.lemmas()))
                assert wordnet.members[pos][synset.offset()] == lemmas
                for lemma in synset.lemmas():
                    for opposite in lemma.antonyms():
                        assert (lemma.name().lower(), opposite.name().lower()) in wordnet.opposites[pos]


def test_sister_terms_share_a_part_of_speech_and_hypernyms(wordnet: WordNet) -> None:
    table = SubstitutionTable.wordnet_hypernyms()
    assert set(table.substitutes("film")) == {"movie", "cinema", "goodness"}, "single words below the same hypernym"
    assert set(table.substitutes("adore")) == {"love", "jazz", "hate", "detest"}
    assert set(table.substitutes("love")) == {"adore", "jazz", "detest"}, "opposites are left out"
    assert table.substitutes("big") == ("large",), "an adjective without a cluster has its own sense alone"
    assert set(SubstitutionTable.wordnet_hypernyms(["films"]).substitutes("films")) == {"movie", "cinema", "goodness"}
    few = SubstitutionTable.wordnet_hypernyms(largest=2)
    assert few.substitutes("film") == ("movie", "cinema"), "of a large group only synonyms, best sense first"
    assert "sister terms" in table.name
    with pytest.raises(LexiconError, match="at least 2 words"):
        SubstitutionTable.wordnet_hypernyms(largest=1)


def test_satellites_of_one_head_are_sisters_and_the_head_of_other_satellites_is_none(small_wordnet: Path) -> None:
    """A head points to its satellites as they point to it."""
    lines = (
        "00001000 00 a 01 hot 0 001 & 00002000 a 0000 | gloss\n"
        "00002000 00 s 01 torrid 0 001 & 00001000 a 0000 | gloss\n"
        "00003000 00 s 01 scorching 0 001 & 00001000 a 0000 | gloss\n"
    )
    (small_wordnet / "data.adj").write_text(lines)
    found = read_wordnet(small_wordnet).descriptions["a"]
    assert found == {1000: ("00", {1000}), 2000: ("00", {1000}), 3000: ("00", {1000})}


def test_sister_terms_of_wordnet_itself(real_wordnet: tuple[Path, WordNet], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sgbt.threats.wordnet.load_wordnet", lambda *, data_home: real_wordnet[1])
    table = SubstitutionTable.wordnet_hypernyms()
    assert len(table) > 50_000
    assert {"promptly", "rapidly"} <= set(table.substitutes("quickly"))
    assert "atrocious" in table.substitutes("terrible")
    assert "bad" not in table.substitutes("good")
    assert table.hash == SubstitutionTable.wordnet_hypernyms().hash
    for word in ("terrible", "quickly", "sofa", "stroll"):
        for other in table.substitutes(word):
            assert word in table.substitutes(other), "sisters of each other"


def test_an_absent_dictionary_of_sememes_names_the_other_table(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match="wordnet_hypernyms"):
        SubstitutionTable.sememes(data_home=tmp_path)
