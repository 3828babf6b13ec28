from __future__ import annotations

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from sgbt.core.errors import DataError
from sgbt.data import Tokenizer
from sgbt.data.tokenizer import ENGLISH

TOKENIZER = Tokenizer()

ODD = "İıßẞſΣσςǅŉﬁ’‘ʼ'`´.,-_#…\u0301\u0307\u200b\u200d\u00a0\u2028\x00\x1c\ud83d\ude00\ud800🙂👩‍👩‍👧中ñéÉÅ0123½²٣nNtTsS"
texts = st.one_of(
    st.text(max_size=60),
    st.text(st.sampled_from(ODD + "abcABC n't's 1,000.5\n\t"), max_size=40),
    st.lists(st.sampled_from(["don't", "It's", "WE'LL", "3.5", "1,000th", "...", "U.S.", "x-ray", "ΑΣ", "İ"])).map(
        " ".join
    ),
)


def plain(letter: str) -> str:
    """What one character reads as: lower case where that is one character, and a straight apostrophe."""
    low = letter.lower()
    return "'" if low in "’‘ʼ" else low if len(low) == 1 else letter


@given(texts)
@example("ΑΣ.B")
@example("İstanbul ’tis STRASSE")
def test_positions_are_those_of_the_words(text: str) -> None:
    tokens = TOKENIZER.tokenize(text)
    assert tokens.words == tuple(
        "".join(map(plain, text[start:end])) for start, end in zip(tokens.starts, tokens.ends, strict=True)
    )
    assert all(tokens.words)


@given(texts)
def test_words_stand_in_order_and_only_white_space_is_left_out(text: str) -> None:
    tokens = TOKENIZER.tokenize(text)
    position = 0
    for start, end in zip(tokens.starts, tokens.ends, strict=True):
        assert position <= start < end
        assert not text[position:start].strip()
        position = end
    assert not text[position:].strip()


@given(texts)
def test_both_ways_of_tokenising_agree_and_are_deterministic(text: str) -> None:
    words = TOKENIZER.words(text)
    assert TOKENIZER.tokenize(text).words == words == Tokenizer().words(text)
    assert len(TOKENIZER.tokenize(text)) == len(words)


substitutes = st.one_of(
    st.sampled_from(["film", "1", "2.5", "n't", "'s", "s", "t", ".", "...", "straße", "ﬁn", "n", "x_y", "ς", "🙂"]),
    st.text(min_size=1, max_size=6),
)


@given(texts, st.data())
def test_what_is_written_back_reads_as_exactly_the_wanted_words(text: str, data: st.DataObject) -> None:
    tokens = TOKENIZER.tokenize(text)
    assume(len(tokens))
    places = st.integers(0, len(tokens) - 1)
    swaps = data.draw(st.dictionaries(places, substitutes.filter(TOKENIZER.is_word), max_size=4))
    wanted = tuple(swaps.get(place, word) for place, word in enumerate(tokens.words))
    assert TOKENIZER.words(tokens.replace(swaps)) == wanted


@given(texts, st.data())
def test_the_default_pattern_writes_words_in_place_and_all_else_as_it_stood(text: str, data: st.DataObject) -> None:
    """However odd its neighbours, a swap costs at most two spaces: white space and casing elsewhere stay."""
    tokens = TOKENIZER.tokenize(text)
    assume(len(tokens))
    place, word = data.draw(st.integers(0, len(tokens) - 1)), data.draw(substitutes.filter(TOKENIZER.is_word))
    written = tokens.replace({place: word})
    before, after = text[: tokens.starts[place]], text[tokens.ends[place] :]
    assert written.startswith(before)
    assert written.endswith(after)
    inside = written[len(before) : len(written) - len(after)]
    assert TOKENIZER.words(inside) == (word,)


@pytest.mark.parametrize(
    "pattern", [r"\S+", r"[^ ]+", r"\w+|[^\w\s]", r"[a-z]+(?:'[a-z]+)?|\d", r"re(?=\w)|ing\b|\w+?(?=ing\b)|\w"]
)
@given(text=st.one_of(texts, st.text(st.sampled_from("reingx R ' 1"))), data=st.data())
def test_a_pattern_of_ones_own_writes_all_that_its_words_allow(pattern: str, text: str, data: st.DataObject) -> None:
    """Where every word of the text is one by itself, everything; elsewhere, nothing that reads otherwise."""
    tokenizer = Tokenizer(pattern)
    tokenizer.require_spaces_separate()
    tokens = tokenizer.tokenize(text)
    assume(len(tokens))
    words = st.one_of(st.sampled_from(["re", "ing", "x", "e", "1", "fine"]), substitutes).filter(tokenizer.is_word)
    swaps = data.draw(st.dictionaries(st.integers(0, len(tokens) - 1), words, max_size=4))
    written = tokens.written(swaps)
    if written is None:
        assert not all(map(tokenizer.is_word, tokens.words))
        with pytest.raises(DataError, match="stay single words"):
            tokens.replace(swaps)
    else:
        assert tokenizer.words(written) == tuple(swaps.get(place, word) for place, word in enumerate(tokens.words))
        assert tokens.replace(swaps) == written


@given(texts)
def test_replacing_nothing_changes_nothing(text: str) -> None:
    assert TOKENIZER.tokenize(text).replace({}) == text


@given(st.text(max_size=20))
def test_a_word_is_what_reads_as_itself(word: str) -> None:
    assert TOKENIZER.is_word(word) == (TOKENIZER.words(word) == (word,))


@given(texts)
def test_every_word_found_is_a_word_by_itself(text: str) -> None:
    """Any word that a text yields, standing alone, reads as itself: so that it can be looked up and put elsewhere."""
    assert all(TOKENIZER.is_word(word) for word in TOKENIZER.words(text))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ""),
        (" \n\t ", ""),
        ("A fine film.", "a fine film ."),
        ("don't", "do n't"),
        ("DON'T", "do n't"),
        ("don’t", "do n't"),
        ("can't won't isn't", "ca n't wo n't is n't"),
        ("cannot", "cannot"),
        ("it's we'll I'm they're I've he'd", "it 's we 'll i 'm they 're i 've he 'd"),
        ("It’s", "it 's"),
        ("rock 'n' roll", "rock ' n ' roll"),
        ("'sup", "' sup"),
        ("7 1,000 3.5 1,000,000.25", "7 1,000 3.5 1,000,000.25"),
        ("7/10", "7 / 10"),
        ("1980s 2nd", "1980s 2nd"),
        ("5.", "5 ."),
        ("$9.99", "$ 9.99"),
        ("well-made", "well - made"),
        ("wait... what?!", "wait ... what ? !"),
        ("(good)", "( good )"),
        ("U.S.", "u . s ."),
        ("Straße", "straße"),
        ("café cafe\u0301", "café cafe \u0301"),
        ("a\x00b", "a \x00 b"),
        ("good\ud83dbad", "good \ud83d bad"),
        ("🙂🙂", "🙂 🙂"),
        ("İstanbul", "İstanbul"),
        ("ΟΔΟΣ οδος", "οδοσ οδος"),
    ],
)
def test_english(text: str, words: str) -> None:
    assert TOKENIZER.words(text) == tuple(words.split(" ") if words else ())


class TestCasing:
    @pytest.mark.parametrize(
        ("text", "swaps", "written"),
        [
            ("A fine FILM, indeed!", {1: "good", 2: "movie"}, "A good MOVIE, indeed!"),
            ("Fine film", {0: "good"}, "Good film"),
            ("I saw it", {0: "we"}, "We saw it"),
            ("iPhone", {0: "phone"}, "phone"),
            ("I didn't", {1: "could"}, "I couldn't"),
            ("I DIDN’T", {1: "could"}, "I COULDN’T"),
            ("GREAT", {0: "groß"}, "groß"),
            ("A  spaced\n\tfilm", {1: "long"}, "A  long\n\tfilm"),
            ("3.5x", {2: "7"}, "3. 7"),
            ("a very good film .x", {2: "fine", 5: "."}, "a very fine film . ."),
        ],
    )
    def test_it_is_kept_and_so_is_everything_else(self, text: str, swaps: dict[int, str], written: str) -> None:
        assert TOKENIZER.tokenize(text).replace(swaps) == written


class TestRefusals:
    @pytest.mark.parametrize("word", ["two words", "Upper", "", "don't", "well-made", " x"])
    def test_what_is_not_one_word_cannot_be_put_in(self, word: str) -> None:
        assert not TOKENIZER.is_word(word)
        with pytest.raises(DataError, match=r"expected substitutes that stay single words .*, got fine -> "):
            TOKENIZER.tokenize("a fine film").replace({1: word})

    @pytest.mark.parametrize("place", [3, -1])
    def test_a_place_beyond_the_text(self, place: int) -> None:
        with pytest.raises(DataError, match=rf"expected positions from 0 to 2, got {place}"):
            TOKENIZER.tokenize("a fine film").replace({place: "good"})

    def test_a_pattern_that_is_none(self) -> None:
        with pytest.raises(DataError, match=r"expected a regular expression that finds tokens, got '\('"):
            Tokenizer("(")

    def test_a_pattern_with_groups(self) -> None:
        with pytest.raises(
            DataError, match=r"without capturing groups, got 1 of them .*; write \(\?:\.\.\.\) for each"
        ):
            Tokenizer(r"(\w+)")

    def test_a_pattern_that_finds_nothing_everywhere(self) -> None:
        with pytest.raises(DataError, match="expected a token pattern that never matches the empty text"):
            Tokenizer(r"\w*")


def test_a_pattern_of_ones_own() -> None:
    tokens = Tokenizer(r"[^\s]+").tokenize("Don't stop.")
    assert tokens.words == ("don't", "stop.")
    assert tokens.replace({1: "go!"}) == "Don't go!"


def test_tokenizers_are_values() -> None:
    assert Tokenizer() == Tokenizer(ENGLISH)
    assert hash(Tokenizer()) == hash(Tokenizer(ENGLISH))
    assert Tokenizer(r"\w+") != Tokenizer()


@pytest.mark.parametrize(
    "text", ["a" * 200_000, "1" * 200_000 + "a", "1,1" * 70_000 + "a", "n'" * 100_000, "." * 200_000]
)
def test_a_strange_long_text_takes_no_strange_time(text: str) -> None:
    """Quadratic matching of these would take minutes; each takes milliseconds."""
    assert sum(map(len, TOKENIZER.words(text))) == len(text)
