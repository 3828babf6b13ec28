"""JSON and TOML that others wrote: either a plain value that every part of the program can work with, or one sentence.

What the standard readers let through or stumble over is refused here for everybody: a key twice, numbers that are not
finite or beyond 64 bits, half a surrogate pair, nesting beyond `DEEPEST`, another encoding than UTF-8, too many bytes.
Lines of rows are read by the thousand, so checks that most documents cannot fail are made only where a sign calls for
them: the C scanner does the reading.
"""

from __future__ import annotations

import codecs
import json
import math
import tomllib
from pathlib import Path
from typing import Any

from sgbt.core.errors import SgbtError

DEEPEST = 100
"""Lists and objects within each other."""

MOST_BYTES = 1 << 30
"""Of a document that is read as a whole."""

_LARGEST, _SHORT = 2**63 - 1, 18
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}


class _Fault(ValueError):  # noqa: N818 - it never leaves this file
    """What is wrong with a document, in the words of `got`."""


def parse_json(
    content: str | bytes,
    *,
    kind: type[SgbtError],
    where: str,
    expected: str = "JSON",
    remedy: str = "",
    finite: bool = True,
    pairs: bool = True,
) -> Any:
    """The value of a JSON text, or an error of the given kind that says what is wrong with it.

    `finite=False` reads NaN and infinities too, which rows of measurements have; `pairs=False` lets halves of surrogate
    pairs be, which texts from elsewhere in Python can have.
    """
    try:
        text = _text_of(content, "surrogatepass" if not pairs else "strict") if isinstance(content, bytes) else content
        value = (_FINITE if finite else _ANY).decode(text)
        if text.count("[") + text.count("{") > DEEPEST:
            _refuse_depth(value)
        if pairs and ("\\ud" in text or "\\uD" in text):  # nothing else can write one
            _refuse_halves(value)
        return value
    except _Fault as fault:
        raise kind(expected=expected, got=str(fault), where=where, remedy=remedy) from fault
    except RecursionError as problem:
        raise kind(expected=expected, got=_TOO_DEEP, where=where, remedy=remedy) from problem
    except json.JSONDecodeError as problem:
        got = _not_json(problem) if problem.doc.strip() else "an empty file"
        raise kind(expected=expected, got=got, where=where, remedy=remedy) from problem


def json_object(content: str | bytes, *, kind: type[SgbtError], where: str, **settings: Any) -> dict[str, Any]:
    """As `parse_json`, of a text that is one object."""
    return _object(parse_json(content, kind=kind, where=where, **settings), kind=kind, where=where, **settings)


def read_json(path: Path, *, kind: type[SgbtError], expected: str = "a JSON file", **settings: Any) -> Any:
    """As `parse_json`, of a file; one that cannot be read is refused in the same way."""
    content = read_bounded(path, kind=kind, expected=expected)
    return parse_json(content, kind=kind, where=str(path), expected=expected, **settings)


def read_json_object(
    path: Path, *, kind: type[SgbtError], expected: str = "a JSON file", **settings: Any
) -> dict[str, Any]:
    """As `read_json`, of a file that is one object."""
    found = read_json(path, kind=kind, expected=expected, **settings)
    return _object(found, kind=kind, where=str(path), expected=expected, **settings)


def parse_toml(text: str, *, kind: type[SgbtError], where: str, expected: str = "a TOML file") -> dict[str, Any]:
    """The tables of a TOML text, or an error of the given kind that says what is wrong with it."""
    try:
        tables = tomllib.loads(text, parse_float=_finite)
        _refuse_depth(tables)
        _refuse_large(tables)
        return tables
    except RecursionError as problem:
        raise kind(expected=expected, got=_TOO_DEEP, where=where) from problem
    except tomllib.TOMLDecodeError as problem:
        raise kind(expected=expected, got=_shortened(str(problem)), where=where) from problem
    except ValueError as problem:  # of ours, or Python's own refusal of a number with thousands of digits
        got = str(problem) if isinstance(problem, _Fault) else _TOO_LARGE
        raise kind(expected=expected, got=got, where=where) from problem


def read_toml(path: Path, *, kind: type[SgbtError], expected: str = "a TOML file") -> dict[str, Any]:
    """As `parse_toml`, of a file; one that cannot be read is refused in the same way."""
    content = read_bounded(path, kind=kind, expected=expected)
    try:
        text = _text_of(content).replace("\r\n", "\n")
    except _Fault as fault:
        raise kind(expected=expected, got=str(fault), where=str(path)) from fault
    return parse_toml(text, kind=kind, where=str(path), expected=expected)


def is_there(path: Path) -> bool:
    """Whether something bears that name; where one may not even ask, reading it will say why."""
    try:
        path.lstat()
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return True


def read_bounded(path: Path, *, kind: type[SgbtError], expected: str, most: int = MOST_BYTES) -> bytes:
    """The bytes of a file, at most so many; one that cannot be read, or never ends, is refused."""
    try:
        with path.open("rb") as stream:
            content = stream.read(most + 1)
    except OSError as problem:
        raise kind(expected=expected, got=(problem.strerror or str(problem)).lower(), where=str(path)) from problem
    if len(content) > most:
        raise kind(expected=f"{expected} of at most {most:,} bytes", got="more", where=str(path))
    return content


def _text_of(content: bytes, errors: str = "strict") -> str:
    for mark, name in _BYTE_ORDER_MARKS.items():
        if content.startswith(mark):
            raise _Fault(f"text in {name}, not UTF-8")
    try:
        return content.removeprefix(codecs.BOM_UTF8).decode("utf-8", errors)
    except UnicodeDecodeError as problem:
        line = content.count(b"\n", 0, problem.start) + 1
        raise _Fault(f"the byte 0x{content[problem.start]:02x} in line {line}, which is not UTF-8") from problem


def _object(
    value: Any, *, kind: type[SgbtError], where: str, expected: str = "JSON", **settings: Any
) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise kind(expected=expected, got=kind_of(value), where=where, remedy=settings.get("remedy", ""))
    return value


def kind_of(value: object) -> str:
    """What a value of JSON is, in a few words."""
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


_NESTING = frozenset({dict, list})
_TOO_DEEP = f"lists or objects within each other more than {DEEPEST} deep"
_TOO_LARGE = "a whole number beyond 64 bits"


def _whole(digits: str) -> int:
    if len(digits) <= _SHORT:
        return int(digits)
    if len(digits) > _SHORT + 2 or not -_LARGEST - 1 <= int(digits) <= _LARGEST:
        raise _Fault(f"{_TOO_LARGE} ({len(digits.lstrip('-')):,} digits)")
    return int(digits)


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise _Fault(f"the number {_shortened(number)}, which is not finite")
    return value


def _no_constant(name: str) -> float:
    raise _Fault(f"{name}, which is no number of JSON")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise _Fault(f"the key {_shortened(twice)!r} twice")
    return found


_FINITE = json.JSONDecoder(
    object_pairs_hook=_distinct, parse_int=_whole, parse_float=_finite, parse_constant=_no_constant
)
_ANY = json.JSONDecoder(object_pairs_hook=_distinct, parse_int=_whole)


def _refuse_depth(value: Any) -> None:
    level = [value] if type(value) in _NESTING else []
    for _ in range(DEEPEST):
        level = [each for item in level for each in _children(item) if type(each) in _NESTING]
        if not level:
            return
    raise _Fault(_TOO_DEEP)


def _children(item: Any) -> Any:
    return item.values() if type(item) is dict else item if type(item) is list else ()


def _refuse_halves(value: Any) -> None:
    """JSON can write half of a surrogate pair as an escape; no text has one, and nothing can be done with it."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as problem:
        half = problem.object[problem.start]
        raise _Fault(f"half of a surrogate pair (\\u{ord(half):04x}), which is no text") from problem


def _refuse_large(value: Any) -> None:
    for item in _children(value):
        if isinstance(item, int) and not -_LARGEST - 1 <= item <= _LARGEST:
            raise _Fault(_TOO_LARGE)
        _refuse_large(item)


def _not_json(problem: json.JSONDecodeError) -> str:
    line = f"line {problem.lineno}, " if problem.lineno > 1 else ""
    return f"text that is not JSON ({problem.msg.lower()} at {line}column {problem.colno})"


def _shortened(text: str, most: int = 120) -> str:
    return text if len(text) <= most else text[:most] + "..."
