"""Files on Ray: the work of two local workers against one, in one run, for predict, certify and attack.

Run: python benchmarks/ray_files.py FOLDER [--texts N] [--out FILE]. FOLDER is a model that sgbt trained on IMDB; the
texts are IMDB's test reviews, repeated where N is more, in a JSONL file of sixteen shards. Attacks (greedy) are on so
few of them as --attacked says. Each kind of work is done with one worker and with two, one after the other, in clusters
that are started for it; the time is from the first part begun to the last one ended, so that starting Ray and loading
the model (which are once per worker) count where a worker does them.

A machine that does other work has no two free cores, so the rows have processor time as well. `efficiency` is that of
the processor: the processor time of all parts by one worker, over that by two. `makespan` is the time that two workers
would take if each part took its processor time: one worker's processor time over twice the time of the busier of two,
with parts as they were distributed. `wall` is by the clock.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from _rows import write_rows

import sgbt
from sgbt.data.shards import Shard, shards_of
from sgbt.data.table_files import FileLayout
from sgbt.evaluate.labelling import Labelling
from sgbt.evaluate.shard_parts import Parts, make_on_ray
from sgbt.evaluate.shard_work import Asked, Attacking, Certifying, ShardWork
from sgbt.models import load_classifier

SHARDS = 16


@dataclass(frozen=True, eq=False)
class Timed:
    """Work that notes beside each part which process made it, when, and what processor time it took."""

    work: ShardWork

    @property
    def about(self) -> list[Any]:
        """Everything of it that decides what the rows are."""
        return self.work.about

    def ending(self, form: str) -> str:
        """How the name of a file of rows ends."""
        return self.work.ending(form)

    def write(self, shard: Shard, layout: FileLayout, part: Path) -> Counter[str]:
        """Write the rows of a shard."""
        begun, spent = time.time(), time.process_time()
        found = self.work.write(shard, layout, part)
        note = {"process": os.getpid(), "begun": begun, "ended": time.time(), "cpu": time.process_time() - spent}
        part.with_suffix(".time").write_text(json.dumps(note))
        return found


def main() -> None:
    """Do each kind of work twice, and write the rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--texts", type=int, default=25_000)
    parser.add_argument("--attacked", type=int, default=320)
    parser.add_argument("--out", type=Path, default=Path("results/speed/ray.jsonl"))
    options = parser.parse_args()
    classifier = load_classifier(options.folder)
    asked, table = Asked(classifier, classifier.table), classifier.table
    works: dict[str, tuple[ShardWork, int]] = {
        "predict": (Labelling(classifier), options.texts),
        "certify": (Certifying(asked), options.texts),
        "attack": (Attacking(asked, {"greedy": table}), options.attacked),
    }
    texts = sgbt.load_dataset("imdb").test.texts
    with tempfile.TemporaryDirectory() as name:
        rows = [measured(kind, work, texts, count, Path(name)) for kind, (work, count) in works.items()]
    write_rows(options.out, [{**row, "model": classifier.identity[:12]} for row in rows])


def measured(kind: str, work: ShardWork, texts: Any, count: int, folder: Path) -> dict[str, Any]:
    """One row: the same work by one worker and by two."""
    file = folder / f"{kind}.jsonl"
    chosen = [texts[number % len(texts)] for number in range(count)]
    file.write_text("".join(json.dumps({"text": text}) + "\n" for text in chosen))
    shards = shards_of(file, FileLayout(), size=-(-file.stat().st_size // SHARDS))
    spent, walls, busiest = {}, {}, 0.0
    for workers in (1, 2):
        parts = Parts(folder / f"{kind}-{workers}", shards, FileLayout(), Timed(work))
        make_on_ray(parts, Counter[str]().update, workers=workers)
        notes = [json.loads(path.read_text()) for path in parts.folder.glob("*.time")]
        assert len(notes) == len(shards)
        spent[workers] = sum(note["cpu"] for note in notes)
        walls[workers] = max(note["ended"] for note in notes) - min(note["begun"] for note in notes)
        by_process: Counter[int] = Counter()
        for note in notes:
            by_process[note["process"]] += note["cpu"]
        busiest = max(by_process.values())
    return {
        "kind": kind,
        "texts": count,
        "shards": len(shards),
        "cpu_ms": 1000 * spent[1] / count,
        "cpu_ms_of_two": 1000 * spent[2] / count,
        "efficiency": spent[1] / spent[2],
        "makespan": spent[1] / (2 * busiest),
        "wall": walls[1] / (2 * walls[2]),
        "load": os.getloadavg()[0],
    }


if __name__ == "__main__":
    main()
