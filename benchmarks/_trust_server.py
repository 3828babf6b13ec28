"""Reproductions of what one client could do to the server, and of hostile files; see trust_before_after.py."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from _trust_common import Done, Seen, gone, item, model_of_words, plain, run_of_reviews, sgbt, write_reviews

JSON = {"Content-Type": "application/json"}
ASKED = json.dumps({"text": "a great film"}).encode()


@contextlib.contextmanager
def serving(run: Path) -> Iterator[tuple[int, int]]:
    """`sgbt serve` of a run: its port and its process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "sgbt", "serve", str(run), "--port", str(port), "--workers", "1"]
    quiet = subprocess.DEVNULL
    server = subprocess.Popen(command, stdout=quiet, stderr=quiet, start_new_session=True)
    try:
        for _ in range(240):
            with contextlib.suppress(OSError):
                if answer(port, "/models")[0] == 200:
                    break
            time.sleep(0.5)
        yield port, server.pid
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def answer(port: int, path: str, body: bytes | None = None, seconds: float = 20, **headers: str) -> tuple[int, str]:
    """Status and body of one request."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=seconds)
    with contextlib.closing(connection):
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request("GET" if body is None else "POST", path, body, named)
        got = connection.getresponse()
        return got.status, got.read().decode(errors="replace")


def shown(status: int, text: str) -> str:
    return f"{status} {plain(text)[:110]}"


@item("C", "140 connections that say nothing, then a request")
def half_open() -> Seen:
    with serving(run_of_reviews()) as (port, _), contextlib.ExitStack() as stack:
        for _ in range(140):
            with contextlib.suppress(OSError):
                stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=5))
        time.sleep(1)
        try:
            status, text = answer(port, "/models")
        except (OSError, http.client.HTTPException) as error:
            return True, f"no answer: {plain(str(error)) or type(error).__name__}"
        return status != 200, shown(status, text)


@item("C", "two abandoned files of 400 long texts, then /predict")
def abandoned() -> Seen:
    import torch

    from sgbt.models import BiLSTM, BiLSTMConfig, TextClassifier, WordEmbedding, save_classifier

    small = model_of_words(dict.fromkeys("abcdefgh", 0.1), None)
    torch.manual_seed(0)
    model = BiLSTM(WordEmbedding(torch.randn(10, 50)), BiLSTMConfig(hidden=100)).eval()
    import sgbt as library

    others = library.SubstitutionTable({word: tuple("abcdefgh".replace(word, "")) for word in "abcdefgh"})
    slow = TextClassifier(model, small.vocabulary, ("no", "yes"), others)
    save_classifier(slow, Path("slow"))
    rows = "text\n" + "\n".join(" ".join("abcdefgh"[(row + at) % 8] for at in range(200)) for row in range(400))
    with serving(Path("slow")) as (port, _):
        for _ in range(2):
            with socket.create_connection(("127.0.0.1", port)) as client:
                head = f"POST /certify/csv HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: text/csv\r\n"
                client.sendall(f"{head}Content-Length: {len(rows)}\r\n\r\n{rows}".encode())
                time.sleep(2)
        began = time.monotonic()
        try:
            status, _ = answer(port, "/predict", b'{"text": "a b"}', 60, Content_Type="application/json")
        except OSError:
            return True, "no answer within 60 s"
        waited = time.monotonic() - began
        return status != 200 or waited > 10, f"{status} after {waited:.1f} s"


def children(process: int) -> list[int]:
    """The processes below one, by /proc."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if int((folder / "stat").read_text().rpartition(")")[2].split()[1]) == process:
                found += [int(folder.name), *children(int(folder.name))]
    return found


@item("C", "the folder becomes another model's, and the worker is started again")
def swapped_model() -> Seen:
    run = run_of_reviews()
    shutil.move("run", "served")
    write_reviews()
    flipped = Path("reviews.csv").read_text().replace(",good", ",x").replace(",bad", ",good").replace(",x", ",bad")
    Path("reviews.csv").write_text(flipped)
    options = ["--model", "linear", "--objective", "certified", "--substitutions", "synonyms.json", "--epochs", "3"]
    sgbt("train", "reviews.csv", *options, "--out", "run")
    with serving(Path("served")) as (port, process):
        before = json.loads(answer(port, "/predict", ASKED, 20, **JSON)[1])
        shutil.rmtree("served")
        shutil.copytree(run, "served")
        for worker in children(process):
            if b"resource_tracker" not in Path(f"/proc/{worker}/cmdline").read_bytes():
                os.kill(worker, signal.SIGKILL)
        time.sleep(2)
        for _ in range(3):
            status, text = answer(port, "/predict", ASKED, 60, **JSON)
        if status != 200:
            return False, shown(status, text)
        label = json.loads(text)["label"]
        return label != before["label"], f"{before['label']} before, {label} from the other model"


@item("C", "Origin: http://[")
def broken_origin() -> Seen:
    with serving(run_of_reviews()) as (port, _):
        status, text = answer(port, "/predict", ASKED, 20, **JSON, Origin="http://[")
        return status >= 500, shown(status, text)


@item("C", "400 requests at once with a made-up X-Forwarded-For each; 60 are granted to one client")
def forwarded() -> Seen:
    with serving(run_of_reviews()) as (port, _):
        got = [
            answer(port, "/predict", ASKED, 20, **JSON, X_Forwarded_For=f"10.0.{number // 200}.{number % 200}")[0]
            for number in range(400)
        ]
        return got.count(429) == 0, f"{got.count(200)} answered, {got.count(429)} refused"


@item("C", "a body that is no JSON, and one of another type")
def no_json() -> Seen:
    with serving(run_of_reviews()) as (port, _):
        status, text = answer(port, "/predict", b'{"text": ', 20, **JSON)
        other, said = answer(port, "/predict", b"a great film", 20, Content_Type="text/plain")
        right = status in (400, 422) and "expected" in text and other == 415
        return not right, f"{shown(status, text)[:90]}; text/plain: {shown(other, said)[:40]}"


@item("C", "sgbt serve --help recommends SGBT_TOKEN, for ps shows --token")
def token_in_ps() -> Seen:
    done = sgbt("serve", "--help")
    return "ps does not show" not in " ".join(done.output.split()), "it does" if "ps" in done.output.split() else "no"


@item("C", "/health and /metrics")
def monitoring() -> Seen:
    with serving(run_of_reviews()) as (port, _):
        found = [answer(port, path)[0] for path in ("/health", "/metrics")]
        return found != [200, 200], f"{found[0]}, {found[1]}"


@item("C", "a CSV header of 40,000 columns")
def wide_header() -> Seen:
    run = run_of_reviews()
    Path("wide.csv").write_text(",".join(f"column {number}" for number in range(40_000)) + "\n")
    done = sgbt("certify", run, "--data", "wide.csv")
    fault = done.killed or done.seconds > 20 or len(done.output) > 4000
    return fault, f"{done.seconds:.0f} s, {len(done.output):,} letters printed, exit {done.code}"


@item("C", "an output that is a symbolic link")
def linked_output() -> Seen:
    Path("real.jsonl").touch()
    Path("card.md").symlink_to("real.jsonl")
    try:
        from sgbt.core.files import atomic_write
    except ImportError:
        from sgbt.files import atomic_write
    with atomic_write(Path("card.md")) as stream:
        stream.write(b"new")
    kept = Path("card.md").is_symlink()
    return not kept, "the link stays" if kept else "the link became a file"


@item("C", "an output that is a device")
def device_output() -> Seen:
    import stat

    try:
        from sgbt.core.files import atomic_write
    except ImportError:
        from sgbt.files import atomic_write
    node = Path("null")
    os.mknod(node, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    try:
        with atomic_write(node) as stream:
            stream.write(b"new")
    except Exception as error:
        return gone(error)
    kept = stat.S_ISCHR(node.stat().st_mode)
    return not kept, "written through" if kept else "the device became a file"


def hostile(*arguments: object, **options: Any) -> Seen:
    """A command that has to end in a sentence."""
    done: Done = sgbt(*arguments, **options)
    return done.traceback or done.killed or done.code == 0 or "sgbt:" not in done.output, done.sentence


@item("C", "a lone surrogate in JSON lines")
def surrogate() -> Seen:
    Path("texts.jsonl").write_text(
        '{"text": "a \\ud800 film", "label": "good"}\n{"text": "a film", "label": "bad"}\n' * 40
    )
    return hostile("train", "texts.jsonl", "--model", "linear", "--objective", "standard", "--out", "run")


@item("C", "--seed 10**22")
def huge_seed() -> Seen:
    write_reviews()
    return hostile(
        "train", "reviews.csv", "--model", "linear", "--objective", "standard", "--seed", 10**22, "--out", "run"
    )


@item("C", "an integer of 6,000 digits in a table")
def huge_integer() -> Seen:
    run = run_of_reviews()
    Path("table.json").write_text('{"film": ' + "9" * 6000 + "}")
    return hostile("certify", run, "--substitutions", "table.json")


@item("C", "TOML nested 100,000 deep")
def deep_toml() -> Seen:
    write_reviews()
    Path("deep.toml").write_text("a = " + "[" * 100_000 + "]" * 100_000)
    return hostile("train", "reviews.csv", "--config", "deep.toml", "--out", "run")


@item("C", "max_length: -5 in config.json")
def negative_length() -> Seen:
    run = run_of_reviews()
    config = json.loads((run / "config.json").read_text())
    (run / "config.json").write_text(json.dumps(config | {"max_length": -5}))
    return hostile("certify", run)


@item("C", '"data": 5 in the folder of a run')
def number_as_data() -> Seen:
    run = run_of_reviews()
    for path in run.rglob("*.json"):
        found = json.loads(path.read_text())
        for held in (found, found.get("training") if isinstance(found, dict) else None):
            if isinstance(held, dict) and "data" in held:
                held["data"] = 5
        path.write_text(json.dumps(found))
    return hostile("certify", run)


@item("C", "--threads 1000000000")
def many_threads() -> Seen:
    run = run_of_reviews()
    return hostile("certify", run, "--threads", 10**9)


@item("C", "control characters in a text that is explained")
def control_characters() -> Seen:
    run = run_of_reviews()
    done = sgbt("explain", run, "a great \x1b]0;owned\x07 film \x1b[31m of 1901")
    raw = "\x1b]0;owned" in done.output or "\x07" in done.output
    return raw, "they reach the terminal" if raw else "they are written out or left out"


@item("C", "sememes where the dictionary cannot be had")
def sememes() -> Seen:
    run = run_of_reviews()
    done = sgbt("certify", run, "--substitutions", "sememes", SGBT_DATA="", seconds=100)
    other = "wordnet_hypernyms" in done.output
    return not other, f"refused, and {'names a table made here in its place' if other else 'names no other table'}"
