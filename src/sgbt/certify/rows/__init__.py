"""Files of certificates: written, read, summed up, compared with attacks, and proven again."""

from sgbt.certify.rows.file import CERTIFICATES, SYNC_SECONDS, read_rows

__all__ = ["CERTIFICATES", "SYNC_SECONDS", "read_rows"]
