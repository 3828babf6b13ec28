"""The web page and its programming interface: one text examined, attacked and compared, or a file certified."""

from sgbt.serve.app import create_app
from sgbt.serve.jobs import Pool
from sgbt.serve.limits import Limits
from sgbt.serve.server import serve

__all__ = ["Limits", "Pool", "create_app", "serve"]
