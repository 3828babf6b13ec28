"""The one reader of JSON and TOML: a plain value, or one sentence."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgbt.core.documents import DEEPEST, json_object, parse_json, parse_toml, read_bounded, read_json, read_toml
from sgbt.core.errors import DataError, LexiconError, SgbtError

REFUSED = {
    "nesting": ("[" * 100_000, "deep"),
    "nesting that Python can read": ("[" * 500 + "]" * 500, "deep"),
    "nesting of objects": ('{"a":' * 500 + "1" + "}" * 500, "deep"),
    "6,000 digits": ("9" * 6_000, "6,000 digits"),
    "a number beyond 64 bits": (str(2**63), "64 bits"),
    "a number far below zero": (str(-(2**63) - 1), "64 bits"),
    "a number that is infinite": ("[1e999]", "1e999"),
    "less than any number": ("[-1e999]", "not finite"),
    "not a number": ("NaN", "NaN"),
    "infinity": ('{"a": -Infinity}', "-Infinity"),
    "a key twice": ('{"film": 1, "movie": 2, "film": 3}', "'film' twice"),
    "a key twice deep within": ('[[{"a": {"b": 1, "b": 1}}]]', "'b' twice"),
    "half of a pair": ('"a\\ud800b"', "\\ud800"),
    "the other half": ('{"\\uDC00": 1}', "\\udc00"),
    "no UTF-8": (b'"\xff"', "0xff"),
    "half of a pair in bytes": (b'"\xed\xa0\x80"', "0xed"),
    "UTF-16": ('{"a": 1}'.encode("utf-16"), "UTF-16"),
    "UTF-32": ('{"a": 1}'.encode("utf-32"), "UTF-32"),
    "nothing": ("", "an empty file"),
    "blanks": (b" \n", "an empty file"),
    "half of it": ('{"a": ', "at column 7"),
    "two": ("1\n2", "extra data at line 2, column 1"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_json_that_is_refused(case: str) -> None:
    content, said = REFUSED[case]
    with pytest.raises(DataError) as caught:
        parse_json(content, kind=DataError, where="here.json", expected="a value", remedy="mend it")
    told = str(caught.value)
    assert told.startswith("expected a value, got ")
    assert "in here.json; mend it" in told
    assert said in told
    assert len(told) < 400


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf[1]",
        str(2**63 - 1),
        str(-(2**63)),
        "1e308",
        "0.1",
        '"\\ud83d\\ude00 \\u00e9"',
        '"\\\\ud800"',
        "[" * DEEPEST + "]" * DEEPEST,
    ],
)
def test_json_that_is_read_as_ever(content: str | bytes) -> None:
    text = content.decode("utf-8-sig") if isinstance(content, bytes) else content
    assert parse_json(content, kind=DataError, where="") == json.loads(text)


def test_rows_may_have_what_is_not_finite_and_halves() -> None:
    assert parse_json("[-Infinity, 1e999]", kind=DataError, where="", finite=False) == [-math.inf, math.inf]
    assert parse_json(b'"\xed\xa0\x80"', kind=DataError, where="", pairs=False) == "\ud800"
    assert parse_json('"\\ud800"', kind=DataError, where="", pairs=False) == "\ud800"


@pytest.mark.parametrize("value", [[], "text", 5, True, None])
def test_an_object_is_an_object(value: object) -> None:
    with pytest.raises(LexiconError, match="expected a table"):
        json_object(json.dumps(value), kind=LexiconError, where="", expected="a table")


TOML = {
    "nesting": ("a = " + "[" * 100_000, "deep"),
    "nesting that Python can read": ("a = " + "[" * 150 + "]" * 150, "deep"),
    "nesting of keys": (".".join("a" * 500) + " = 1", "deep"),
    "6,000 digits": ("a = " + "9" * 6_000, "64 bits"),
    "a number beyond 64 bits": (f"[a]\nb = [{2**63}]", "64 bits"),
    "a number that is infinite": ("a = 1e999", "1e999"),
    "infinity": ("a = inf", "inf"),
    "not a number": ("a = [{b = nan}]", "nan"),
    "a key twice": ("a = 1\na = 2", "overwrite"),
    "half of a pair": ('a = "\\ud800"', "line 1"),
    "half of it": ("a = ", "Invalid value"),
}


@pytest.mark.parametrize("case", TOML)
def test_toml_that_is_refused(case: str) -> None:
    content, said = TOML[case]
    with pytest.raises(DataError) as caught:
        parse_toml(content, kind=DataError, where="here.toml")
    assert said in str(caught.value)
    assert "here.toml" in str(caught.value)


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "a"
    for content, said in ((b"\xff\xfea\x00", "UTF-16"), (b"a = '\xe4'", "0xe4")):
        path.write_bytes(content)
        for read in (read_json, read_toml):
            with pytest.raises(DataError, match=said):
                read(path, kind=DataError)
    path.write_bytes(b'\xef\xbb\xbfa = """x\r\ny"""\r\n')
    assert read_toml(path, kind=DataError) == {"a": "x\ny"}
    with pytest.raises(DataError, match="no such file"):
        read_json(tmp_path / "b", kind=DataError)
    with pytest.raises(DataError, match="is a directory"):
        read_toml(tmp_path, kind=DataError)


def test_a_file_that_never_ends() -> None:
    with pytest.raises(DataError, match="at most 1,000 bytes, got more"):
        read_bounded(Path("/dev/zero"), kind=DataError, expected="a file", most=1000)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters()), inner),
    max_leaves=20,
)


def plain(value: object) -> bool:
    """What the reader promises of a value."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, bool) or value is None:
        return True
    if isinstance(value, int):
        return -(2**63) <= value < 2**63
    if isinstance(value, str):
        return not any(0xD800 <= ord(sign) < 0xE000 for sign in value)
    if isinstance(value, dict):
        return all(plain(key) and plain(item) for key, item in value.items())
    return isinstance(value, list) and all(map(plain, value))


@given(JSON, st.booleans())
def test_any_value_is_read_back_or_refused_for_a_reason(value: object, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    content = text.encode("utf-8", "surrogatepass")
    if plain(value):
        assert parse_json(content, kind=DataError, where="") == value
    else:
        with pytest.raises(DataError):
            parse_json(content, kind=DataError, where="")


@given(st.binary(max_size=60) | st.text('{}[]":,0123456789.eE+-\\ud8NaInfity tr\n', max_size=60).map(str.encode))
def test_any_bytes_are_a_plain_value_or_one_sentence(content: bytes) -> None:
    try:
        value = parse_json(content, kind=DataError, where="")
    except SgbtError:
        return
    assert plain(value)


@given(st.text('{}[]"=.,0123456789eE+-\\udainf\n #', max_size=60))
def test_any_toml_is_tables_or_one_sentence(text: str) -> None:
    try:
        tables = parse_toml(text, kind=DataError, where="")
    except SgbtError:
        return
    assert isinstance(tables, dict)


def test_rows_are_read_about_as_fast_as_by_the_standard_reader() -> None:
    row = {"index": 5, "text": "a film of words " * 60, "label": 1, "margin": 0.25, "swaps": [[3, "a", "b"]] * 5}
    lines = [json.dumps(row).encode()] * 4000

    def seconds(read) -> float:  # type: ignore[no-untyped-def]
        began = time.perf_counter()
        for line in lines:
            read(line)
        return time.perf_counter() - began

    def checked(line: bytes) -> object:
        return parse_json(line, kind=DataError, where="")

    ratio = min(seconds(checked) / seconds(json.loads) for _ in range(5))
    assert ratio < 3
