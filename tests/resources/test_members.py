from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
import zipfile
from pathlib import Path

import pytest
from tests.resources.things import Given

from sgbt.resources import CATALOGUE, check, get
from sgbt.resources.acquire import is_genuine
from sgbt.resources.imdb import build_from_official
from sgbt.resources.resource import Layout
from sgbt.resources.sources import (
    SourceFailure,
    copy_member,
    copy_members_below,
    fingerprint_of_files,
    fingerprint_of_wordnet,
    member,
    sha256_of_content,
)

TEXT = bytes(range(256)) * 200


def zipped(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name, content in members.items():
            bundle.writestr(name, content)
    return path


def tarred(path: Path, **members: bytes) -> Path:
    with tarfile.open(path, "w:gz") as tarball:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tarball.addfile(entry, io.BytesIO(content))
    return path


@pytest.mark.parametrize("pack", [zipped, tarred])
class TestMember:
    def test_it_is_read(self, tmp_path: Path, pack: type) -> None:
        archive = pack(tmp_path / "a", x=TEXT, y=b"no")
        with member(archive, "x") as stream:
            assert stream.read() == TEXT
        copy_member(archive, "x", tmp_path / "deep" / "x")
        assert (tmp_path / "deep" / "x").read_bytes() == TEXT

    def test_a_missing_one_is_a_failure_of_the_source(self, tmp_path: Path, pack: type) -> None:
        with (
            pytest.raises(SourceFailure, match="a has no readable member z"),
            member(pack(tmp_path / "a", x=TEXT), "z"),
        ):
            pass


def test_an_archive_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "page.tgz").write_bytes(b"<html>please log in</html>")
    with pytest.raises(SourceFailure, match=r"page\.tgz has no readable member x"), member(tmp_path / "page.tgz", "x"):
        pass


def test_only_plain_files_directly_below_the_prefix_are_taken(tmp_path: Path) -> None:
    archive = tmp_path / "a.zip"
    with zipfile.ZipFile(archive, "w") as bundle:
        for name in ("w/", "w/data", "w/deep/data", "v/data", "w/../../evil"):
            bundle.writestr(name, name)
    copy_members_below(archive, "w/", tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["data"]
    assert not (tmp_path.parent / "evil").exists()


def test_packing_does_not_matter_to_a_fingerprint(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(TEXT)
    with gzip.open(tmp_path / "a.gz", "wb", compresslevel=1) as stream:
        stream.write(TEXT)
    assert sha256_of_content(tmp_path / "a") == sha256_of_content(tmp_path / "a.gz") == hashlib.sha256(TEXT).hexdigest()
    assert fingerprint_of_files((tmp_path / "a",)) == fingerprint_of_files((tmp_path / "a.gz",))


def test_names_and_order_matter_to_a_fingerprint(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).write_bytes(b"same" if name != "c" else b"other")
    a, b, c = (tmp_path / name for name in "abc")
    assert len({fingerprint_of_files(paths) for paths in ((a,), (b,), (a, b), (a, c), (c, a), (tmp_path,))}) == 6


def test_other_files_beside_wordnet_do_not_matter(tmp_path: Path) -> None:
    names = [f"{kind}.{part}" for kind in ("data", "index") for part in ("adj", "adv", "noun", "verb")]
    for name in [*names, *(f"{part}.exc" for part in ("adj", "adv", "noun", "verb"))]:
        (tmp_path / name).write_text(name)
    before = fingerprint_of_wordnet((tmp_path,))
    (tmp_path / "README").write_text("hello")
    assert fingerprint_of_wordnet((tmp_path,)) == before
    (tmp_path / "data.noun").write_text("changed")
    assert fingerprint_of_wordnet((tmp_path,)) != before


def flipped(content: bytes, place: int) -> bytes:
    return content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :]


def test_a_damaged_gzip_file_is_never_genuine_and_never_a_traceback(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    with gzip.open(path, "wb") as stream:
        stream.write(TEXT)
    whole = path.read_bytes()
    layout = Layout("plain", ("a.gz",), fingerprint_of_files, frozenset({fingerprint_of_files((path,))}))
    assert is_genuine(layout, (path,), afresh=True)
    compressed = [
        place for place in range(len(whole)) if not 3 < place < 10
    ]  # the header's time and system say nothing
    for place in compressed[:: max(1, len(whole) // 100)]:
        path.write_bytes(flipped(whole, place))
        assert not is_genuine(layout, (path,), afresh=True), place
    for length in range(0, len(whole), max(1, len(whole) // 20)):
        path.write_bytes(whole[:length])
        assert not is_genuine(layout, (path,), afresh=True), length


@pytest.mark.parametrize("content", [b"[1, 2]\n", b'"text"\n', b"7\n", b'{"label": 0}\n', b"not json\n", b"\xff\n"])
def test_strange_rows_are_not_imdb(private_cache: Path, content: bytes) -> None:
    folder = private_cache / "data" / "imdb"
    folder.mkdir(parents=True)
    for split in ("train", "test"):
        with gzip.open(folder / f"{split}.jsonl.gz", "wb") as stream:
            stream.write(content)
    assert [copy.genuine for copy in check("imdb")] == [False]


def test_a_damaged_tarball_of_the_official_reviews_is_a_failure_of_the_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noise = hashlib.shake_256(b"noise").digest(100_000).hex().encode()
    whole = tarred(tmp_path / "a.tgz", **{"aclImdb/train/neg/0_1.txt": noise}).read_bytes()
    base = CATALOGUE["imdb"]
    assert build_from_official is base.providers[0].build
    outcomes = set()
    for place in range(20, len(whole), len(whole) // 40):
        data = tmp_path / "home"
        data.mkdir(exist_ok=True)
        (data / "aclImdb_v1.tar.gz").write_bytes(flipped(whole, place))
        monkeypatch.setitem(CATALOGUE, "imdb", type(base)("imdb", "", "", base.layouts, base.providers[:1]))
        with pytest.raises(Exception, match="expected the resource imdb") as caught:
            get("imdb", data_home=data)
        outcomes.add(caught.value.attempts[-1].outcome.split("(")[0])
    assert all(outcome.startswith(("aclImdb_v1.tar.gz ", "1 train reviews", "0 train reviews")) for outcome in outcomes)


def test_a_page_in_place_of_a_zip_falls_through(monkeypatch: pytest.MonkeyPatch) -> None:
    base = CATALOGUE["wordnet"]
    provider = type(base.providers[0])("page", "wordnet-database", (Given(b"<html>"),), base.providers[0].build)
    monkeypatch.setitem(CATALOGUE, "wordnet", type(base)("wordnet", "", "", base.layouts, (provider,)))
    with pytest.raises(Exception, match=r"page: given cannot be read \(File is not a zip file\)"):
        get("wordnet")
