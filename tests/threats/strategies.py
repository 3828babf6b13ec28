from __future__ import annotations

from hypothesis import strategies as st

from sgbt.threats import SubstitutionTable

WORDS = ["film", "movie", "good", "fine", "bad", "n't", "'s", "3.5", "naïve", "well", "!"]


@st.composite
def tables(draw: st.DrawFn) -> SubstitutionTable:
    entries = draw(st.dictionaries(st.sampled_from(WORDS), st.lists(st.sampled_from(WORDS), unique=True, max_size=6)))
    return SubstitutionTable({word: tuple(x for x in found if x != word) for word, found in entries.items()}, "drawn")
