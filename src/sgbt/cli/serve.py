"""`sgbt serve`: the web page of one trained model, or of two side by side."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from sgbt.cli import options as opt
from sgbt.cli.screen import Screen
from sgbt.core.errors import ServeError

console = Screen()


def serve_(
    context: typer.Context,
    run: opt.Run,
    other: Annotated[Path | None, typer.Argument(help="A second one, to compare side by side.")] = None,
    host: Annotated[str, typer.Option(help="Address to listen at; others than this machine need a token.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(help="Port to listen at; 0 is any that is free.")] = 8000,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="SGBT_TOKEN",
            help="Secret that every request must carry; better set in the environment, where ps does not show it.",
            show_envvar=True,
        ),
    ] = None,
    trust_proxy: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="Address of a proxy whose X-Forwarded-For is believed; otherwise nobody's."
        ),
    ] = None,
    workers: opt.Workers = 2,
    per_minute: Annotated[
        int, typer.Option(min=1, max=opt.LARGEST, help="Requests that one client may make in a minute.")
    ] = 240,
) -> None:
    """Open a page on which texts are examined, attacked and compared, and files are certified."""
    if find_spec("fastapi") is None or find_spec("uvicorn") is None:
        raise ServeError(
            expected="fastapi and uvicorn, which serve the page",
            got="an environment without them",
            remedy="pip install 'sgbt[serve]'",
        )
    from sgbt.serve import Limits, Pool, serve

    def ready(address: str, pool: Pool) -> None:
        for model in pool.models:
            told = f"{model['name']}: {model['kind']}, trained by {model['objective']} on {model['dataset']}"
            console.print(told, soft_wrap=True)
        secret = "#token=TOKEN" if token else ""
        console.print(f"the page:  {address}{secret}")
        console.print(f"the programming interface:  {address}docs")
        console.print("ctrl-C ends it")

    source = context.get_parameter_source("token")
    if source is not None and source.name == "COMMANDLINE":
        console.print("advice: whoever can run ps sees --token; set SGBT_TOKEN instead")
    console.print("loading ...")
    limits = Limits(workers=workers, per_minute=per_minute, burst=max(per_minute // 4, 1))
    runs = [run] if other is None else [run, other]
    try:
        serve(runs, host=host, port=port, token=token, limits=limits, proxy=trust_proxy, ready=ready)
    except KeyboardInterrupt:  # the way to end it
        console.print("ended")
