from __future__ import annotations

import os
from pathlib import Path

import pytest

from sgbt.core.errors import ResourceError
from sgbt.resources import get
from sgbt.threats import WordNet, read_wordnet

SHARED = Path(__file__).parents[2].parent / "shared" / "data"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test has a user cache folder of its own."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("SGBT_CACHE", str(folder))
    return folder


@pytest.fixture(scope="session")
def data_home() -> Path:
    """A folder with the published lists; tests that need it skip where there is none."""
    home = Path(os.environ.get("SGBT_DATA") or SHARED)
    if not (home / "lexicon").is_dir():
        pytest.skip("no data home with a lexicon folder (set SGBT_DATA)")
    return home


@pytest.fixture(scope="session")
def real_wordnet() -> tuple[Path, WordNet]:
    """WordNet 3.0 itself, fetched once into the user's own cache folder."""
    try:
        folder = get("wordnet").paths[0]
    except ResourceError as problem:
        pytest.skip(str(problem))
    return folder, read_wordnet(folder)


SENSES = {
    "n": [["film", "movie", "moving_picture"], ["film", "photographic_film"], ["cinema", "film"], ["goodness"]],
    "v": [["love", "adore"], ["hate", "detest"], ["love", "jazz"]],
    "a": [["good"], ["bad", "spoiled"], ["big", "large"]],
    "r": [["well", "good"]],
}
OPPOSITES = {"v": [("love", "hate")], "a": [("good", "bad")]}
EXCEPTIONS = {"a": ["better good well", "worse bad"], "v": ["got get"]}
NAMES = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}


@pytest.fixture
def small_wordnet(tmp_path: Path) -> Path:
    """A database of a dozen words in the layout of WordNet's own files."""
    folder = tmp_path / "wordnet"
    folder.mkdir()
    licence = "  1 This software and database is being provided to you, the LICENSEE\n"
    for pos, name in NAMES.items():
        senses = {1000 + place: lemmas for place, lemmas in enumerate(SENSES[pos])}
        lines, listed = [], {}
        for sense, lemmas in senses.items():
            written = " ".join(f"{lemma}{'(p)' if lemma == 'bad' else ''} 0" for lemma in lemmas)
            pointers = [f"@ 00009999 {pos} 0000"]
            for pair in OPPOSITES.get(pos, ()):
                for one, other in (pair, pair[::-1]):
                    if lemmas[0] == one:
                        target = next(number for number, others in senses.items() if others[0] == other)
                        pointers.append(f"! {target:08d} {pos} 0101")
            relations = f"{len(pointers):03d} {' '.join(pointers)}"
            lines.append(f"{sense:08d} 00 {pos} {len(lemmas):02x} {written} {relations} | a gloss | of two parts\n")
            for lemma in lemmas:
                listed.setdefault(lemma, []).append(sense)
        index = [
            f"{lemma} {pos} {len(where)} 1 @ {len(where)} 0 {' '.join(f'{sense:08d}' for sense in where)}  \n"
            for lemma, where in sorted(listed.items())
        ]
        (folder / f"data.{name}").write_text(licence + "".join(lines))
        (folder / f"index.{name}").write_text(licence + "".join(index))
        (folder / f"{name}.exc").write_text("".join(f"{line}\n" for line in EXCEPTIONS.get(pos, [])))
    return folder
