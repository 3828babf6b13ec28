"""serve: the application on a socket, until somebody interrupts it."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from ipaddress import ip_network
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgbt.core.errors import ServeError
from sgbt.serve.guard import LOOPBACK
from sgbt.serve.jobs import Pool
from sgbt.serve.limits import Limits

if TYPE_CHECKING:
    import uvicorn

SHORTEST_TOKEN = 16


def serve(
    runs: Sequence[Path],
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    token: str | None = None,
    limits: Limits | None = None,
    proxy: str | None = None,
    behind: tuple[str, float] | None = None,
    ready: Callable[[str, Pool], None] = lambda address, pool: None,
) -> None:
    """Serve one trained model, or two to compare; `ready` is called with the address once it answers.
    `proxy`: `configured`; `behind`: `Pool`."""
    import uvicorn

    from sgbt.serve.app import create_app

    limits = limits or Limits()
    check_token(host, token)
    check_proxy(proxy)
    with bound(host, port) as listening, Pool(runs, limits=limits, behind=behind) as pool:
        app = create_app(pool, token=token, names=(*LOOPBACK, host) if is_loopback(host) else None)
        ready(address_of(listening), pool)
        uvicorn.Server(configured(app, limits, proxy=proxy)).run(sockets=[listening])


def configured(app: Any, limits: Limits, *, proxy: str | None = None) -> uvicorn.Config:
    """How the application is served. Only a `proxy` at that address is believed on whom it asks for.

    Behind a proxy, all connections are its own, so it is for the proxy to say how many of them one client may have.
    """
    import uvicorn

    from sgbt.serve.connections import Connections, protocol_of

    return uvicorn.Config(
        app,
        http=protocol_of(Connections(limits, apart=proxy is None)),
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=3,
        proxy_headers=proxy is not None,
        forwarded_allow_ips=proxy or "",
    )


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    return host in LOOPBACK or host.startswith("127.")


def check_token(host: str, token: str | None) -> None:
    """Refuse to be reachable from elsewhere without a secret, or with one that can be guessed."""
    advice = 'set a long one, such as: export SGBT_TOKEN="$(openssl rand -hex 16)"'
    if token is None and not is_loopback(host):
        raise ServeError(
            expected="a token, since others can reach this address", got="none", where=f"--host {host}", remedy=advice
        )
    if token is not None and (len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable()):
        raise ServeError(
            expected=f"a token of {SHORTEST_TOKEN} or more printable ASCII characters",
            got=f"one of {len(token)}",
            where="SGBT_TOKEN or --token",
            remedy=advice,
        )


def check_proxy(proxy: str | None) -> None:
    """Refuse to believe whoever is not named by an address."""
    try:
        if proxy is not None:
            ip_network(proxy, strict=False)
    except ValueError:
        raise ServeError(
            expected="the address of a proxy, or a network", got=repr(proxy)[:80], where="--trust-proxy"
        ) from None


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens at the address, or one sentence on why that cannot be."""
    if not 0 <= port < 65536:
        raise ServeError(expected="a port from 0 to 65535", got=str(port), where="--port")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(address)
            listening.listen()  # a client that has the address may connect at once
        except OSError:
            listening.close()
            raise
    except OSError as problem:
        raise ServeError(
            expected="an address to listen at",
            got=(problem.strerror or str(problem)).lower(),
            where=f"{host}, port {port}",
            remedy="choose another --port, or --port 0 for any that is free",
        ) from problem
    return listening


def address_of(listening: socket.socket) -> str:
    """The address as a browser wants it."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"
