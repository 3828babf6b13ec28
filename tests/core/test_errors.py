from __future__ import annotations

import pytest

from sgbt.core import errors
from sgbt.core.errors import BoundError, DataError, SgbtError


def test_an_error_says_expected_got_where_and_what_to_do() -> None:
    problem = DataError(expected="a label", got="none", where="line 3 of a.csv", remedy="fill it in")
    assert str(problem) == "expected a label, got none in line 3 of a.csv; fill it in."
    assert (problem.expected, problem.got, problem.where, problem.remedy) == (
        "a label",
        "none",
        "line 3 of a.csv",
        "fill it in",
    )


def test_place_and_remedy_may_be_left_out() -> None:
    assert str(SgbtError(expected="a share", got="2")) == "expected a share, got 2."


def test_a_question_ends_with_its_own_mark() -> None:
    assert str(SgbtError(expected="imdb", got="imbd", remedy="did you mean imdb?")).endswith("did you mean imdb?")


@pytest.mark.parametrize("kind", ["DataError", "ResourceError", "LexiconError", "EmbeddingError", "BoundError"])
def test_every_kind_is_caught_as_one(kind: str) -> None:
    with pytest.raises(SgbtError, match="expected x, got y"):
        raise getattr(errors, kind)(expected="x", got="y")


def test_a_meaningless_bound_is_a_value_error_too() -> None:
    assert issubclass(BoundError, ValueError)


def test_a_warning_is_not_an_error() -> None:
    assert issubclass(errors.SgbtWarning, UserWarning)
    assert not issubclass(errors.SgbtWarning, SgbtError)
