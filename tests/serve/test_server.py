"""`sgbt serve` as a person runs it: the address, the token, a port that is taken, and the end."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sgbt.cli.app import app
from sgbt.core.errors import ServeError
from sgbt.serve.server import address_of, bound, check_token, is_loopback

LONG = "0123456789abcdef"


@pytest.mark.parametrize(("host", "own"), [("127.0.0.1", True), ("localhost", True), ("::1", True), ("0.0.0.0", False)])
def test_which_addresses_only_this_machine_can_reach(host: str, own: bool) -> None:
    assert is_loopback(host) is own


def test_a_token_is_needed_where_others_can_reach_the_server() -> None:
    check_token("127.0.0.1", None)
    check_token("0.0.0.0", LONG)
    with pytest.raises(ServeError, match="a token, since others can reach"):
        check_token("0.0.0.0", None)
    for short in (LONG[:-1], "", "häßliche Zeichenkette"):
        with pytest.raises(ServeError, match="16 or more printable ASCII"):
            check_token("127.0.0.1", short)


def test_a_port_that_is_taken_and_a_name_that_is_unknown_are_one_sentence() -> None:
    with bound("127.0.0.1", 0) as taken:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", address_of(taken))
        with pytest.raises(ServeError, match="address already in use"):
            bound("127.0.0.1", taken.getsockname()[1])
    with pytest.raises(ServeError, match="an address to listen at"):
        bound("no.such.host.invalid", 8000)
    with pytest.raises(ServeError, match="a port from 0 to 65535"):
        bound("127.0.0.1", 70000)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("nowhere", "--port", "0"), "the folder of a trained model"),
        (("nowhere", "--host", "0.0.0.0"), "SGBT_TOKEN"),
        (("nowhere", "--trust-proxy", "*"), "the address of a proxy"),
        (("nowhere", "--trust-proxy", "localhost"), "the address of a proxy"),
    ],
)
def test_what_cannot_be_served_is_one_sentence(options: tuple[str, ...], said: str) -> None:
    with pytest.raises(ServeError, match=re.escape(said)):
        CliRunner().invoke(app, ["serve", *options], catch_exceptions=False)


@pytest.mark.parametrize("option", ["--workers", "--per-minute"])
def test_a_server_of_no_process_and_no_request_is_refused(option: str) -> None:
    refused = CliRunner().invoke(app, ["serve", "nowhere", option, "0"])
    assert refused.exit_code == 2
    assert option in refused.output


@pytest.mark.parametrize("by_option", [True, False])
def test_a_token_that_ps_shows_is_advised_against(by_option: bool) -> None:
    options = ("--token", LONG) if by_option else ()
    shown = CliRunner().invoke(app, ["serve", "nowhere", "--port", "0", *options], env={"SGBT_TOKEN": LONG}).output
    assert ("SGBT_TOKEN" in shown) == by_option
    assert LONG not in shown


def test_it_serves_until_it_is_interrupted_and_leaves_no_process_behind(runs: list[Path]) -> None:
    command = [sys.executable, "-c", "from sgbt.cli import main; main()", "serve", str(runs[0]), "--port", "0"]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "COLUMNS": "200"}
    with subprocess.Popen(
        [*command, "--workers", "1"], stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True
    ) as server:
        try:
            assert server.stdout is not None
            shown = ""
            for line in server.stdout:
                shown += line
                if "ctrl-C" in line:
                    break
            address = re.search(r"http://127\.0\.0\.1:(\d+)/", shown)
            assert address is not None, shown
            with urllib.request.urlopen(address[0] + "models", timeout=60) as told:
                assert told.status == 200
            os.killpg(server.pid, signal.SIGINT)  # as a terminal sends it, to every process of the command
            assert server.wait(timeout=60) == 0
        finally:
            server.kill()
    for _ in range(100):  # Python's own tracker of shared resources follows a moment later
        try:
            os.killpg(server.pid, 0)
        except ProcessLookupError:
            break
        time.sleep(0.1)
    else:
        pytest.fail("a process of the server is still there")
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", int(address[1]))) != 0
