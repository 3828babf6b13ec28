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
Host = Annotated[str, typer.Option(help="Address to listen at; others than this machine need a token.")]
Token = Annotated[
    str | None,
    typer.Option(
        envvar="SGBT_TOKEN",
        help="Secret that every request must carry; better set in the environment, where ps does not show it.",
        show_envvar=True,
    ),
]
TrustProxy = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="Address of a proxy whose X-Forwarded-For is trusted; by default none."),
]
PerMinute = Annotated[int, typer.Option(min=1, max=opt.LARGEST, help="Requests that one client may make in a minute.")]
Guard = Annotated[
    Path | None, typer.Option(help="Folder of a small proven model that answers before another; see --behind.")
]
Behind = Annotated[
    str | None,
    typer.Option(help="Model that answers where --guard has no proof: module:function, or http://127.0.0.1:PORT/PATH."),
]
Sure = Annotated[float, typer.Option(min=0, max=1, help="Least probability at which the answer of --guard is taken.")]


def serve_(
    context: typer.Context,
    run: Annotated[Path | None, typer.Argument(help="Folder of a trained model; see sgbt train.")] = None,
    other: Annotated[Path | None, typer.Argument(help="A second one, to compare side by side.")] = None,
    host: Host = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen at; 0 is any that is free.")] = 8000,
    token: Token = None,
    trust_proxy: TrustProxy = None,
    workers: opt.Workers = 2,
    per_minute: PerMinute = 240,
    guard: Guard = None,
    behind: Behind = None,
    sure: Sure = 0.9,
) -> None:
    """Open a page on which texts are examined, attacked and compared, and files are certified.

    With --guard and --behind, /guarded labels texts: by proof, or by the model behind.
    """
    runs = [each for each in (guard, run, other) if each is not None]
    if (guard is None) != (behind is None) or not runs or (guard is not None and run is not None):
        raise ServeError(
            expected="the folder of a model, or --guard FOLDER with --behind",
            got=f"{len(runs)} folders{' and --behind' if behind else ''}",
            where="sgbt serve",
        )
    if find_spec("fastapi") is None or find_spec("uvicorn") is None:
        raise ServeError(
            expected="fastapi and uvicorn, which serve the page",
            got="an environment without them",
            remedy="pip install 'sgbt[serve]'",
        )
    from sgbt.serve import Limits, Pool, serve

    def ready(address: str, pool: Pool) -> None:
        for model in pool.models:
            line = f"{model['name']}: {model['kind']}, trained by {model['objective']} on {model['dataset']}"
            console.print(line, soft_wrap=True)
        secret = "#token=TOKEN" if token else ""
        console.print(f"the page:  {address}{secret}")
        console.print(f"the programming interface:  {address}docs")
        console.print("ctrl-C ends it")

    source = context.get_parameter_source("token")
    if source is not None and source.name == "COMMANDLINE":
        console.print("advice: whoever can run ps sees --token; set SGBT_TOKEN instead")
    console.print("loading ...")
    limits = Limits(workers=workers, per_minute=per_minute, burst=max(per_minute // 4, 1))
    answering = None if behind is None else (behind, sure)
    try:
        serve(runs, host=host, port=port, token=token, limits=limits, proxy=trust_proxy, behind=answering, ready=ready)
    except KeyboardInterrupt:  # the way to end it
        console.print("ended")
