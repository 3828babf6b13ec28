from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.resources.things import CONTENT, PATH, Given, put, thing

from sgbt.core.errors import NotVerifiedWarning, ResourceError, SgbtError
from sgbt.core.files import user_cache
from sgbt.resources import (
    CATALOGUE,
    Attempt,
    Provider,
    Resource,
    UnavailableError,
    get,
    locate,
    resource_named,
)
from sgbt.resources.acquire import data_homes, writable_home
from sgbt.resources.sources import HomeFile, SourceFailure

Offer = Callable[..., None]


def files_below(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


class TestOrder:
    def test_the_first_that_has_it_supplies_it_and_the_rest_are_not_asked(self, offer: Offer) -> None:
        broken, good, spare = Given(failure="it is Sunday"), Given(), Given()
        offer(broken, good, spare)
        located = get("thing")
        assert located.attempts == (
            Attempt(f"data home {user_cache() / 'data'}", "not there"),
            Attempt("first", "it is Sunday"),
            Attempt("second", "supplied it"),
        )
        assert (located.provider, located.layout, located.verified) == ("second", "plain", True)
        assert located.paths[0].read_bytes() == CONTENT
        assert (broken.asked, good.asked, spare.asked) == (1, 1, 0)

    def test_what_is_here_is_not_fetched_again(self, offer: Offer) -> None:
        source = Given()
        offer(source)
        first, second = get("thing"), get("thing")
        assert source.asked == 1
        assert second.paths == first.paths
        assert second.provider.startswith("data home")

    def test_the_data_home_comes_first(self, offer: Offer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        source = Given()
        offer(source)
        monkeypatch.setenv("SGBT_DATA", str(tmp_path / "home"))
        put(user_cache() / "data")
        mine = put(tmp_path / "home")
        chosen = put(tmp_path / "chosen")
        assert get("thing").paths == (mine,)
        assert get("thing", data_home=tmp_path / "chosen").paths == (chosen,)
        assert source.asked == 0

    def test_the_user_cache_is_looked_into_after_the_data_home(self, offer: Offer, tmp_path: Path) -> None:
        offer()
        cached = put(user_cache() / "data")
        assert get("thing", data_home=tmp_path / "empty").paths == (cached,)

    def test_a_data_home_is_written_to_when_it_may_be(self, offer: Offer, tmp_path: Path) -> None:
        offer(Given())
        assert get("thing", data_home=tmp_path / "new").paths == (tmp_path / "new" / PATH,)

    def test_nobody_has_it(self, offer: Offer) -> None:
        offer(Given(failure="it is Sunday"), Given(failure="it is late"))
        with pytest.raises(UnavailableError) as caught:
            get("thing")
        assert [attempt.outcome for attempt in caught.value.attempts] == ["not there", "it is Sunday", "it is late"]
        assert str(caught.value) == (
            "expected the resource thing, got nothing from any provider "
            f"(data home {user_cache() / 'data'}: not there; first: it is Sunday; second: it is late); "
            "make it yourself."
        )

    def test_locate_never_fetches(self, offer: Offer) -> None:
        source = Given()
        offer(source)
        assert locate("thing") is None
        assert source.asked == 0


class TestReadOnlyHome:
    def test_it_is_never_written_to(self, offer: Offer, tmp_path: Path) -> None:
        offer(Given())
        home = tmp_path / "collection"
        (home / "other").mkdir(parents=True)
        home.chmod(0o555)
        before = home.stat().st_mtime_ns
        located = get("thing", data_home=home)
        assert located.paths == (user_cache() / "data" / PATH,)
        assert sorted(path.name for path in home.iterdir()) == ["other"]
        assert home.stat().st_mtime_ns == before
        home.chmod(0o755)

    def test_a_wrong_copy_there_is_passed_over_and_left_alone(self, offer: Offer, tmp_path: Path) -> None:
        offer(Given())
        wrong = put(tmp_path / "collection", b"something else")
        (tmp_path / "collection").chmod(0o555)
        located = get("thing", data_home=tmp_path / "collection")
        assert located.paths == (user_cache() / "data" / PATH,)
        assert located.attempts[0].outcome == (f"{PATH} is there, but its content is not the published one (checksum)")
        assert wrong.read_bytes() == b"something else"
        (tmp_path / "collection").chmod(0o755)

    def test_a_wrong_copy_in_a_home_that_may_be_written_is_left_alone_too(self, offer: Offer, tmp_path: Path) -> None:
        offer(Given())
        own = put(tmp_path / "home", b"my own version")
        located = get("thing", data_home=tmp_path / "home")
        assert located.paths[0].is_relative_to(user_cache())
        assert located.paths[0].read_bytes() == CONTENT
        assert own.read_bytes() == b"my own version"

    def test_the_rule(self, tmp_path: Path) -> None:
        (tmp_path / "closed").mkdir(mode=0o555)
        (tmp_path / "open").mkdir()
        closed, new, open_ = tmp_path / "closed", tmp_path / "new", tmp_path / "open"
        assert writable_home((closed, open_)) == open_
        assert writable_home((new, open_)) == new
        assert writable_home((closed,)) == closed

    def test_homes(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        cache = user_cache() / "data"
        assert data_homes() == (cache,)
        monkeypatch.setenv("SGBT_DATA", "~/texts")
        monkeypatch.setenv("HOME", str(tmp_path))
        assert data_homes() == (tmp_path / "texts", cache)
        assert data_homes(tmp_path / "mine") == (tmp_path / "mine", cache)
        monkeypatch.setenv("SGBT_DATA", "")
        assert data_homes() == (cache,)


class TestWrongContent:
    def test_it_falls_through_and_is_named(self, offer: Offer) -> None:
        offer(Given(b"not the thing"), Given())
        located = get("thing")
        assert located.attempts[1] == Attempt("first", "its content is not the published one (checksum)")
        assert located.provider == "second"
        assert located.paths[0].read_bytes() == CONTENT

    def test_it_is_named_in_the_error_and_leaves_nothing(self, offer: Offer) -> None:
        offer(Given(b"not the thing"))
        with pytest.raises(UnavailableError, match=r"first: its content is not the published one \(checksum\)"):
            get("thing")
        assert files_below(user_cache() / "data") == {".lock-thing"}

    def test_a_damaged_copy_in_the_cache_is_mended(self, offer: Offer) -> None:
        offer(Given())
        put(user_cache() / "data", CONTENT[:-1])
        assert get("thing").paths[0].read_bytes() == CONTENT

    def test_without_a_published_checksum_it_is_taken_and_said_to_be_unverified(self, offer: Offer) -> None:
        offer(Given(b"anything"), known=False)
        for _ in range(2):  # each time it is used
            with pytest.warns(NotVerifiedWarning, match=r"^thing \(.*thing\.txt\) is not verified: ") as told:
                assert get("thing").verified is False
            assert len(told) == 1

    def test_what_is_verified_is_not_warned_of(self, offer: Offer, recwarn: pytest.WarningsRecorder) -> None:
        offer(Given())
        assert get("thing").verified is True
        assert not recwarn.list

    @pytest.mark.parametrize(
        "problem",
        [
            ValueError("not JSON"),
            KeyError("t"),
            TypeError("a list"),
            EOFError("short"),
            OSError("bad gzip"),
            IndexError(),
        ],
    )
    def test_a_build_that_cannot_read_its_archive_falls_through(
        self, monkeypatch: pytest.MonkeyPatch, problem: Exception
    ) -> None:
        def build(archives: tuple[Path, ...], folder: Path) -> None:
            raise problem

        base = thing(Given())
        broken = Provider("broken", "plain", (Given(),), build)
        both = Resource("thing", "", "", base.layouts, (broken, *base.providers))
        monkeypatch.setitem(CATALOGUE, "thing", both)
        located = get("thing")
        assert located.provider == "first"
        assert "cannot be read" in located.attempts[1].outcome


class TestNames:
    def test_a_typo_gets_a_suggestion(self) -> None:
        with pytest.raises(ResourceError, match=r"got 'imbd' in the resource name; did you mean imdb\?$"):
            get("imbd")

    def test_a_strange_name_gets_the_list(self) -> None:
        with pytest.raises(ResourceError, match=r"expected one of imdb, .*; see: sgbt data list\.$"):
            resource_named("qqqqqqqq")


class TestDisk:
    def test_a_full_disk_is_one_sentence_and_asks_nobody_else(
        self, offer: Offer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        spare = Given()

        class Full(Given):
            def fetch(self, errand: object) -> Path:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        offer(Full(), spare)
        with pytest.raises(SgbtError) as caught:
            get("thing")
        assert str(caught.value).startswith(
            f"expected to write, got no space left on device in {user_cache() / 'data'}; free some space"
        )
        assert spare.asked == 0
        assert files_below(user_cache() / "data") == {".lock-thing"}

    def test_a_file_where_the_home_should_be_is_one_sentence(self, offer: Offer, tmp_path: Path) -> None:
        offer(Given())
        (tmp_path / "home").write_bytes(b"")
        with pytest.raises(SgbtError, match=r"expected to write, got file exists in .*/home;"):
            get("thing", data_home=tmp_path / "home")

    def test_an_interruption_leaves_nothing(self, offer: Offer) -> None:
        class Interrupted(Given):
            def fetch(self, errand: object) -> Path:
                raise KeyboardInterrupt

        offer(Interrupted())
        with pytest.raises(KeyboardInterrupt):
            get("thing")
        assert files_below(user_cache() / "data") == {".lock-thing"}


def test_an_archive_in_the_data_home_is_read_where_it_is(offer: Offer, tmp_path: Path) -> None:
    offer(HomeFile("thing.tar"), Given(failure="unreachable"))
    with pytest.raises(UnavailableError, match=r"first: no thing\.tar there"):
        get("thing", data_home=tmp_path)
    (tmp_path / "thing.tar").write_bytes(CONTENT)
    assert get("thing", data_home=tmp_path).provider == "first"
    assert (tmp_path / "thing.tar").read_bytes() == CONTENT


def test_a_source_failure_is_an_outcome_and_not_an_error() -> None:
    assert not issubclass(SourceFailure, SgbtError)
