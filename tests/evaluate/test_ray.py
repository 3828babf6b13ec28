"""The Ray executor on a real cluster of two nodes: local results, and a killed worker loses nothing."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests import small
from tests.evaluate.grids import TINY, rows_of, tiny

from sgbt.attacks import attack
from sgbt.certify import certify
from sgbt.core.errors import EvaluationError
from sgbt.data.shards import Shard, shards_of
from sgbt.data.table_files import FileLayout
from sgbt.data.tables import Table
from sgbt.evaluate import Grid, bench
from sgbt.evaluate.labelling import Columns, Labelling
from sgbt.evaluate.schedule import BenchListener
from sgbt.evaluate.shard_parts import Parts, make_here, make_on_ray
from sgbt.evaluate.shard_work import Asked, Attacking, Certifying
from sgbt.evaluate.unit import Unit
from sgbt.models import TextClassifier
from sgbt.threats import Threat

ray = pytest.importorskip("ray")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Two nodes of one core each; the address to reach them by."""
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SGBT_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
        patch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        for patience in ("RAY_raylet_start_wait_time_s", "RAY_agent_register_timeout_ms"):  # on a busy machine
            patch.setenv(patience, "300000" if patience.endswith("ms") else "300")
        node = {"num_cpus": 1, "object_store_memory": 100 << 20, "include_dashboard": False}
        nodes = Cluster(initialize_head=True, head_node_args=node)
        try:
            nodes.add_node(num_cpus=1, object_store_memory=100 << 20)
            nodes.wait_for_nodes()
            yield nodes.address
        finally:
            ray.shutdown()
            nodes.shutdown()


def short_grid() -> Grid:
    return tiny(TINY.replace('[[methods]]\nobjective = "sgbt"\n', "").replace('method = "sgbt"', 'method = "standard"'))


class Killer(BenchListener):
    """Kills the worker process of the first unit that is begun on the cluster."""

    def __init__(self) -> None:
        self.killed = 0

    def started(self, unit: Unit) -> None:
        deadline = time.monotonic() + 60
        while not self.killed and time.monotonic() < deadline:
            for worker in _workers_on("_perform"):
                os.kill(worker, signal.SIGKILL)
                self.killed += 1
                break
            else:
                time.sleep(0.02)


def test_a_cluster_of_two_nodes_gives_the_local_results_though_a_worker_is_killed(cluster: str, tmp_path: Path) -> None:
    from sgbt.evaluate.ray_cluster import RayExecutor

    local = bench(short_grid(), tmp_path / "local", workers=1)
    killer, used = Killer(), []

    class Watched(RayExecutor):
        def submit(self, unit: Unit) -> None:
            super().submit(unit)
            used.append(unit.kind)
            assert ray.cluster_resources()["CPU"] == 2

    far = bench(short_grid(), tmp_path / "ray", executor=lambda store: Watched(store, address=cluster), listener=killer)
    assert killer.killed == 1
    assert far.failed == local.failed == {}
    assert len(used) == 5
    assert rows_of(tmp_path / "ray") == rows_of(tmp_path / "local")
    names = ("metrics", "outcomes", "config", "substitutions")
    for here, there in zip(local.records, far.records, strict=True):
        assert [_timeless(getattr(here, name)) for name in names] == [_timeless(getattr(there, name)) for name in names]


class DyingOnce(Labelling):
    """Ends its own process, as a machine that fails does, the first time that it is asked on a worker."""

    def of(self, rows: Table) -> Columns:
        mark = Path(rows.source).with_name("died")
        if rows.source.endswith("b.jsonl") and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().of(rows)


def test_shards_on_a_cluster_are_the_local_rows_though_a_worker_is_killed(cluster: str, tmp_path: Path) -> None:
    folder, counts = tmp_path / "texts", Counter[str]()
    folder.mkdir()
    for name in "abc":
        (folder / f"{name}.jsonl").write_text("".join(f'{{"text": "the {name} film {n}"}}\n' for n in range(40)))
    classifier = TextClassifier(small.model_of("cnn"), small.VOCABULARY, ("no", "yes"), small.TABLE, 64)
    shards = shards_of(folder, FileLayout(), size=400)
    assert len(shards) > 3
    parts = Parts(tmp_path / "here", shards, FileLayout(), Labelling(classifier, classifier.table))
    make_here(parts, counts.update)
    far = Parts(tmp_path / "far", shards, FileLayout(), DyingOnce(classifier, classifier.table))
    make_on_ray(far, Counter[str]().update, address=cluster)
    assert (folder / "died").exists()
    for place in range(len(shards)):
        assert far.part(place).read_bytes() == parts.part(place).read_bytes()
        assert far.counted(place) == parts.counted(place)
    assert counts["certified"] + counts["abstained"] + counts["nothing-to-replace"] == 120
    far.part(1).unlink()
    again = Counter[str]()
    make_on_ray(far, again.update, address=cluster)  # only the part that is missing
    assert again == parts.counted(1)


@dataclass(frozen=True, eq=False)
class Dying:
    """Ends its own process the first time that a worker is at the second part, when that has some rows."""

    work: Certifying | Attacking

    @property
    def about(self) -> list[Any]:
        return self.work.about

    def ending(self, form: str) -> str:
        return self.work.ending(form)

    def write(self, shard: Shard, layout: FileLayout, part: Path) -> Counter[str]:
        mark = part.parent.with_name(f"died-{part.parent.name}")
        if not part.name.startswith("part-00001") or mark.exists():
            return self.work.write(shard, layout, part)
        self.work.write(shard, layout, part)
        lines = part.read_bytes().splitlines(keepends=True)
        part.write_bytes(b"".join(lines[:4]) + lines[4][:9])  # as a kill within the fifth row leaves it
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("not reached")


@pytest.mark.parametrize("kind", ["certify", "attack", "certify a threat"])
def test_rows_on_a_cluster_are_those_of_one_call_though_a_worker_is_killed(
    cluster: str, tmp_path: Path, kind: str
) -> None:
    texts = [f"the good film {name} {n}" for name in ("bad", "fine", "poor") for n in range(20)]
    file = tmp_path / "texts.jsonl"
    file.write_text("".join(json.dumps({"text": text, "label": "yes"}) + "\n" for text in texts))
    classifier = TextClassifier(small.model_of("cnn"), small.VOCABULARY, ("no", "yes"), small.TABLE, 64)
    threat = Threat.duplications(at_most=1) if kind == "certify a threat" else None
    asked = Asked(classifier, None if threat else small.TABLE, threat)
    work = Attacking(asked, {"pwws": small.TABLE}) if kind == "attack" else Certifying(asked)
    shards = shards_of(file, FileLayout(), size=700)
    assert len(shards) > 2
    parts, far = Parts(tmp_path / "here", shards, FileLayout(), work), tmp_path / "far"
    counts, found = Counter[str](), Counter[str]()
    make_here(parts, counts.update)
    make_on_ray(Parts(far, shards, FileLayout(), Dying(work)), found.update, address=cluster)
    assert (tmp_path / "died-far").exists()
    assert found == counts
    assert counts.total() == 60
    rows = [json.loads(line) for place in range(len(shards)) for line in parts.part(place).open()]
    there = [json.loads(line) for path in sorted(far.glob("*.jsonl")) for line in path.open()]
    assert list(map(_steady, there)) == list(map(_steady, rows))
    whole = tmp_path / "whole.jsonl"
    if kind == "attack":
        attack(classifier, texts, small.TABLE, method="pwws", labels=[1] * 60, out=whole)
    else:
        certify(classifier, texts, threat=threat, labels=[1] * 60, out=whole)
    decided = ("verdict", "status", "label", "predicted", "radius", "text_hash", "perturbed")  # margins may round
    expected = [_steady(json.loads(line)) for line in whole.open()]
    for name in decided:
        assert [row.get(name) for row in map(_steady, rows)] == [row.get(name) for row in expected]


def _steady(row: dict[str, Any]) -> dict[str, Any]:
    """A row without its place and what a clock measured."""
    inner = row.get("result", row)
    return {name: each for name, each in inner.items() if name not in ("index", "milliseconds", "seconds", "spent")}


def test_no_cluster_is_one_sentence(tmp_path: Path) -> None:
    from sgbt.evaluate.ray_cluster import RayExecutor

    with pytest.raises(EvaluationError, match="expected a Ray cluster"):
        bench(tiny(), tmp_path, executor=lambda store: RayExecutor(store, address="127.0.0.1:1"))


def _timeless(value: object) -> object:
    """The value without what is measured by a clock."""
    if isinstance(value, dict):
        return {name: _timeless(each) for name, each in value.items() if "seconds" not in name}
    return value


def _workers_on(task: str) -> list[int]:
    """Processes of this machine that a Ray node uses for a task of that name, and whose node this test began."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            name = (folder / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if name.startswith(f"ray::{task}") and _descends(int(folder.name), os.getpid()):
            found.append(int(folder.name))
    return found


def _descends(process: int, ancestor: int) -> bool:
    while process > 1:
        if process == ancestor:
            return True
        try:
            process = int(Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            return False
    return False
