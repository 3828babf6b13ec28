"""Files of certificates: written, read, summed up, compared with attacks, and proven again."""

from sgbt.certify.rows.file import CERTIFICATES, KINDS, kind_in, read_rows

__all__ = ["CERTIFICATES", "KINDS", "kind_in", "read_rows"]
