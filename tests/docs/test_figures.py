"""Numbers and tables of the pages come from rows: markers are filled, every page is current, and none is overlooked."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pages.__main__ import current, write
from pages.figures import FIGURES
from pages.markers import filled, outside
from tests.conftest import ROOT

from sgbt.core.errors import SgbtError

TOY = {
    "share": lambda of="all": {"all": "88.3", "half": "44.2"}[of],
    "lines": lambda: [["a", "1"], ["b", "2"]],
    "block": lambda: "```text\nhello\n```",
}
NOT_OF_ROWS = {
    "README.md": ["below the quoted 84.8 %"],
    "docs/results.md": ["below the quoted 84.8 %", "Wilson's 95 %"],
    "docs/notebook/certified-imdb.md": ["less than the 84.8 %"],
    "docs/notebook/table-1.md": ["The paper reports 80 %"],
    **{
        f"docs/notebook/{name}.md": []
        for name in ("curvature", "words-alone", "linear-models", "substitution-sets", "costs")
    },
}
"""Figures that are quoted, or no measurement."""


def test_every_page_is_current() -> None:
    pages = current()
    assert [name for name, (old, new) in pages.items() if old != new] == [], "run make pages"
    assert sum(old.count("<!-- rows: ") for old, _ in pages.values()) > 150
    named = {name for old, _ in pages.values() for name in re.findall(r"<!-- rows: (\w+)", old)}
    own = {name for name, function in FIGURES.items() if function.__module__.startswith("pages.figures.")}
    assert own - named == set(), "figures that no page shows"


@pytest.mark.parametrize("name", sorted(NOT_OF_ROWS))
def test_a_percentage_or_ratio_without_a_marker_is_noticed(name: str) -> None:
    text = outside((ROOT / name).read_text(encoding="utf-8"))
    text = " ".join(re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE).split())
    found = [
        text[max(0, each.start() - 40) : each.end()] for each in re.finditer(r"\d[\d.,]* ?(?:%|x\b|points?\b)", text)
    ]
    assert [each for each in found if not each.endswith(tuple(NOT_OF_ROWS[name]))] == [], (
        "use a marker (CONTRIBUTING.md)"
    )
    assert len(found) == len(NOT_OF_ROWS[name]), "allowed here, and gone from the page"


def test_markers_within_a_line_and_around_blocks() -> None:
    page = (
        "It is <!-- rows: share -->?<!-- end --> %, or <!-- rows: share half --><!-- end --> %.\n\n"
        "<!-- rows: lines -->\n| name | n |\n|---|---|\n| old | 0 |\n<!-- end -->\n\n"
        "<!-- rows: block -->\n<!-- end -->\n"
    )
    once = filled(page, TOY)
    assert outside(once) == "It is ... %, or ... %.\n\n...\n\n...\n"
    assert "-->88.3<!--" in once
    assert "-->44.2<!--" in once
    assert "-->\n\n| name | n |\n|---|---|\n| a | 1 |\n| b | 2 |\n\n<!--" in once
    assert "-->\n\n```text\nhello\n```\n\n<!--" in once
    assert filled(once, TOY) == once


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("x <!-- rows: shaer -->1<!-- end -->", "did you mean share"),
        ("x <!-- rows: share other -->1<!-- end -->", r"share other \(KeyError"),
        ("x <!-- rows: share all of it -->1<!-- end -->", "TypeError"),
        ("x <!-- rows: share 'all -->1<!-- end -->", "ValueError: No closing quotation"),
        ("x <!-- rows: share -->1", "its own <!-- end -->"),
        ("x 1<!-- end -->", "without the other one"),
        ("x <!-- rows: share --><!-- rows: share -->1<!-- end --><!-- end -->", "one marker cannot hold another"),
        ("<!-- rows: share -->1<!-- end --> percent", "break the line elsewhere"),
        ("- <!-- rows: share -->1<!-- end --> percent", "break the line elsewhere"),
        ("x <!-- rows: lines -->1<!-- end -->", "alone on its line"),
        ("<!-- rows: lines -->\n\n| only one |\n|---|\n\n<!-- end -->", "of 2 columns, got one of 1"),
        ("<!-- rows: lines -->\n<!-- end -->", "of 2 columns, got one of 0"),
    ],
)
def test_a_wrong_marker_is_one_sentence_with_its_line(page: str, said: str) -> None:
    with pytest.raises(SgbtError, match=said) as caught:
        filled(f"# Title\n\n{page}\n", TOY, "docs/a.md")
    assert "docs/a.md, line 3" in str(caught.value)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("more table1-imdb/cnn/ibp table1-imdb/cnn/certified-ties certified", "rewrite it"),
        ("certified table1-small/ibp", "expected one method table1-small/ibp, got imdb/cnn/ibp"),
        ("certified imdb-all/grams/nothing", "got none"),
        (
            "certified no-such-folder/ibp",
            "a file of run records, got nothing there in the page, line 1, from .*no-such-folder",
        ),
    ],
)
def test_rows_that_contradict_a_sentence_or_are_not_there(call: str, said: str) -> None:
    with pytest.raises(SgbtError, match=said):
        filled(f"x <!-- rows: {call} -->1<!-- end -->", FIGURES)


def test_all_pages_are_written_or_none(tmp_path: Path) -> None:
    readme, other = tmp_path / "README.md", tmp_path / "docs" / "a.md"
    other.parent.mkdir()
    marked = "x <!-- rows: certified imdb-all/grams/certified-maps -->?<!-- end -->"
    readme.write_text(marked)
    other.write_text("x <!-- rows: unheard_of -->1<!-- end -->")
    with pytest.raises(SgbtError, match=r"docs/a\.md"):
        write(tmp_path)
    assert readme.read_text() == marked
    other.write_text("nothing marked")
    assert write(tmp_path) == ["README.md", "docs/sgbt.1"]
    assert readme.read_text() == marked.replace("?", "88.3")
    assert write(tmp_path) == []
