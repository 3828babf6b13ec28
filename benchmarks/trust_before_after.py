"""Reproductions of what a hostile review of sgbt at eb3b172 found: what each did then, and what it does now.

    python benchmarks/trust_before_after.py [--before COMMIT] [--only NAME ...] [--out results/trust/before-after.jsonl]

Each runs in a process and a folder of its own, against the source of that commit and against the present one, and ends
by itself or after a time limit. With --only, rows of the others stay. docs/notebook/trust.md is made from the rows.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 300


def reproduce(name: str) -> None:
    """Run one reproduction here, with the sgbt that is imported."""
    import _trust_proofs  # noqa: F401  (fills the registry)
    import _trust_server  # noqa: F401
    from _trust_common import ITEMS

    fault, seen = ITEMS[name][2]()
    print(json.dumps({"fault": bool(fault), "seen": seen}))


def outcome(name: str, source: Path) -> dict[str, object]:
    """One reproduction, in a process and a folder of its own, with the sgbt below `source`."""
    with tempfile.TemporaryDirectory() as folder:
        paths = os.pathsep.join((str(source), str(ROOT / "benchmarks")))
        command = [sys.executable, str(Path(__file__).resolve()), "--reproduce", name]
        child = subprocess.Popen(
            command,
            cwd=folder,
            env=os.environ | {"PYTHONPATH": paths, "XDG_CACHE_HOME": folder, "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            output, errors = child.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
            return {"fault": True, "seen": f"did not end within {SECONDS} s"}
        if child.returncode:
            last = (errors.strip().splitlines() or ["nothing"])[-1]
            return {"fault": True, "seen": f"exit {child.returncode}: {last[:150]}"}
        return dict(json.loads(output.splitlines()[-1]))


def main() -> None:
    """Print and keep a line for each item: before, and now."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", default="eb3b172")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--reproduce", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.reproduce:
        reproduce(given.reproduce)
        return
    sys.path.insert(0, str(ROOT / "benchmarks"))
    import _trust_proofs  # noqa: F401
    import _trust_server  # noqa: F401
    from _rows import made_by
    from _trust_common import ITEMS

    from sgbt.core.files import atomic_write

    rows = []
    with tempfile.TemporaryDirectory() as folder:
        packed = subprocess.run(
            ["git", "-C", str(ROOT), "archive", given.before, "src"], capture_output=True, check=True
        )
        subprocess.run(["tar", "-x", "-C", folder], input=packed.stdout, check=True)
        for name, (number, tried, _) in ITEMS.items():
            if given.only and name not in given.only:
                continue
            before, now = outcome(name, Path(folder) / "src"), outcome(name, ROOT / "src")
            rows.append({"item": number, "name": name, "tried": tried, "before": before, "now": now})
            for when, found in (("before", before), ("now", now)):
                print(f"{number} {name} {when}: {'FAULT' if found['fault'] else 'right'}: {found['seen']}", flush=True)
    if given.out:
        made = {row["name"]: {**row, **made_by()} for row in rows}
        if given.only and given.out.is_file():
            earlier = map(json.loads, given.out.read_text().splitlines())
            made = {row["name"]: row for row in earlier} | made
        with atomic_write(given.out) as stream:
            stream.write("".join(json.dumps(made[name]) + "\n" for name in ITEMS if name in made).encode())


if __name__ == "__main__":
    main()
