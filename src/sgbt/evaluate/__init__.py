"""One honest protocol: metrics with their denominators, run records, and the benchmark that makes them.

A `Grid` says what is compared. Its work is cut into units that are named by what determines their result, so that a
benchmark can be killed at any moment and gone on with, on one machine or many. Rows are the truth: records, tables and
reports follow from them.
"""

from sgbt.evaluate.bench import Outcome, bench
from sgbt.evaluate.gather import gather
from sgbt.evaluate.grid import Cell, Grid
from sgbt.evaluate.grid_file import SHIPPED, load_grid
from sgbt.evaluate.metrics import AttackFigures, Mean, certified_figures
from sgbt.evaluate.record import RunRecord, read_records, write_records
from sgbt.evaluate.significance import Paired, compare
from sgbt.evaluate.store import Store

__all__ = [
    "SHIPPED",
    "AttackFigures",
    "Cell",
    "Grid",
    "Mean",
    "Outcome",
    "Paired",
    "RunRecord",
    "Store",
    "bench",
    "certified_figures",
    "compare",
    "gather",
    "load_grid",
    "read_records",
    "write_records",
]
