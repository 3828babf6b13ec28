"""What was read once is remembered, and never believed of another content."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.resources.things import CONTENT, put

from sgbt.core.files import user_cache
from sgbt.resources import CATALOGUE, acquire, check, locate

Offer = Callable[..., None]


class TestMemory:
    """What was read once is not read again, unless it changed."""

    @pytest.fixture(autouse=True)
    def _settled_at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(acquire, "SETTLED_SECONDS", -1e9)

    @staticmethod
    def remembered(path: Path) -> None:
        assert locate("thing") is not None
        assert len(list((user_cache() / "fingerprints").iterdir())) == 1

    def test_an_unchanged_file_is_read_once(self, offer: Offer, monkeypatch: pytest.MonkeyPatch) -> None:
        offer()
        self.remembered(put(user_cache() / "data"))

        def read(paths: tuple[Path, ...]) -> str:
            raise AssertionError("read again")

        layout = replace(CATALOGUE["thing"].layouts[0], fingerprint=read)
        monkeypatch.setitem(CATALOGUE, "thing", replace(CATALOGUE["thing"], layouts=(layout,)))
        assert locate("thing") is not None

    def test_a_changed_byte_is_seen(self, offer: Offer) -> None:
        offer()
        path = put(user_cache() / "data")
        self.remembered(path)
        path.write_bytes(b"x" + CONTENT[1:])
        assert locate("thing") is None

    def test_a_changed_byte_is_seen_although_the_time_was_set_back(self, offer: Offer) -> None:
        offer()
        path = put(user_cache() / "data")
        self.remembered(path)
        times = path.stat()
        path.write_bytes(b"x" + CONTENT[1:])
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        assert locate("thing") is None

    def test_a_file_that_changed_a_moment_ago_is_not_trusted(
        self, offer: Offer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        offer()
        monkeypatch.setattr(acquire, "SETTLED_SECONDS", 3600.0)
        path = put(user_cache() / "data")
        assert locate("thing") is not None
        assert not (user_cache() / "fingerprints").exists()
        monkeypatch.setattr(acquire, "stamp_of", str)  # a clock that stands still
        path.write_bytes(b"x" + CONTENT[1:])
        assert locate("thing") is None

    @pytest.mark.parametrize("garbage", [b"", b"garbage", b"\xff\xfe", b"0" * 63])
    def test_garbage_in_the_memory_is_no_verdict(self, offer: Offer, garbage: bytes) -> None:
        offer()
        self.remembered(put(user_cache() / "data"))
        for memory in (user_cache() / "fingerprints").iterdir():
            memory.write_bytes(garbage)
        assert locate("thing") is not None

    def test_a_memory_of_another_published_content_is_no_verdict(self, offer: Offer) -> None:
        offer(known=False)
        path = put(user_cache() / "data", b"version 1")
        offer()
        assert locate("thing") is None
        path.write_bytes(CONTENT)
        assert locate("thing") is not None

    def test_an_unwritable_memory_costs_time_and_nothing_else(self, offer: Offer) -> None:
        offer()
        put(user_cache() / "data")
        (user_cache() / "fingerprints").write_bytes(b"in the way")
        assert locate("thing") is not None


class TestCheck:
    def test_a_flipped_byte_is_detected(self, offer: Offer) -> None:
        offer()
        path = put(user_cache() / "data")
        assert [copy.genuine for copy in check("thing")] == [True]
        path.write_bytes(CONTENT[:100] + bytes([CONTENT[100] ^ 1]) + CONTENT[101:])
        assert [copy.genuine for copy in check("thing")] == [False]

    def test_every_copy_is_checked(self, offer: Offer, tmp_path: Path) -> None:
        offer()
        good, bad = put(user_cache() / "data"), put(tmp_path / "home", b"bad")
        copies = check("thing", data_home=tmp_path / "home")
        assert [(copy.place, copy.genuine) for copy in copies] == [(bad, False), (good, True)]

    def test_nothing_published_to_compare_with(self, offer: Offer) -> None:
        offer(known=False)
        put(user_cache() / "data")
        assert [copy.genuine for copy in check("thing")] == [None]

    def test_nothing_there(self, offer: Offer) -> None:
        offer()
        assert check("thing") == []
