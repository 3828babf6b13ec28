"""Files that outgrow a machine: work on their shards, here or on a Ray cluster, and what it came to, printed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sgbt.cli.reading import Reading
from sgbt.cli.screen import Screen, counting
from sgbt.core.errors import DataError

if TYPE_CHECKING:
    from sgbt.evaluate.shard_work import ShardWork

SHARDS = "Files that outgrow a machine (--ray)"
Ray = Annotated[
    bool,
    typer.Option(
        "--ray",
        rich_help_panel=SHARDS,
        help="Work on shards of the file, or folder of files, on a Ray cluster; see --address. --out is then a folder "
        "for their parts.",
    ),
]


def asked_of(ray: bool, reading: Reading, **others: Any) -> bool:
    """Whether a file is worked on in shards; `others` are options that are about whole datasets alone."""
    if not ray and not (reading.data and Path(reading.data).expanduser().is_dir()):
        return False
    given = next((name for name, value in others.items() if value is not None), None)
    if given is not None or not reading.data or not reading.is_file:
        got = "none" if given is None and not reading.data else f"--{given}" if given else reading.data
        raise DataError(expected="a file or a folder of files in --data, all of it", got=got, where="--ray")
    return True


def in_parts(
    work: ShardWork,
    source: str,
    reading: Reading,
    out: Path | None,
    tell: Callable[[Counter[str]], None],
    *,
    form: str | None = None,
    ray: bool = False,
    address: str | None = None,
    workers: int | None = None,
) -> None:
    """A folder or a large file in, a folder of parts out; `tell` gets what is counted in each part."""
    from sgbt.data.shards import shards_of
    from sgbt.evaluate.shard_parts import Parts, make_here, make_on_ray

    if out is None or source == "-":
        got = "standard input" if source == "-" else "none"
        raise DataError(expected="a file or folder, and a folder for the parts of its rows", got=got, where="--out")
    parts = Parts(out, shards_of(Path(source).expanduser(), reading.layout, form), reading.layout, work)
    for place in range(len(parts.shards)):
        tell(parts.counted(place) or Counter())
    if ray:
        make_on_ray(parts, tell, address=address, workers=workers)
    else:
        make_here(parts, tell)


def shown_in_parts(
    work: ShardWork, reading: Reading, out: Path | None, console: Screen, title: str, **cluster: Any
) -> None:
    """The same, with a bar, and a line with what was counted."""
    found: Counter[str] = Counter()
    with counting() as bars:
        task = bars.add_task(title, total=None)

        def tell(counts: Counter[str]) -> None:
            found.update(counts)
            bars.update(task, advance=counts.total())

        in_parts(work, reading.data, reading, out, tell, **cluster)
    counts = ", ".join(f"{name} {count:,}" for name, count in sorted(found.items()))
    console.print(f"{found.total():,} rows: {counts}", soft_wrap=True, markup=False)
    console.print(f"rows in {out}", soft_wrap=True, markup=False)
