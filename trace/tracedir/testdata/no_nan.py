"""Scans every DOUBLE column of a trace directory for NaN and infinities. The
count is asked for in two ways: as a filter, which DuckDB may answer from the
bounds in the footer, and without the optimizer."""

import glob
import sys

import duckdb

db = duckdb.connect()
columns = 0
for table in ("requests", "features", "bodies", "capture", "telemetry"):
    files = glob.glob(f"{sys.argv[1]}/{table}/*.parquet")
    if not files:
        continue
    kinds = db.execute("DESCRIBE SELECT * FROM read_parquet(?)", [files]).fetchall()
    for name, kind in [k[:2] for k in kinds]:
        assert "FLOAT" not in kind, (table, name, kind)
        if "DOUBLE" not in kind:
            continue
        assert kind == "DOUBLE", (table, name, kind)
        columns += 1
        for optimizer in (True, False):
            db.execute("PRAGMA enable_optimizer" if optimizer else "PRAGMA disable_optimizer")
            bad = db.execute(
                f'SELECT count(*) FROM read_parquet(?) WHERE isnan("{name}") OR isinf("{name}")', [files]).fetchone()[0]
            direct = db.execute(
                f'SELECT count(*) FILTER (WHERE isnan("{name}") OR isinf("{name}")), count("{name}") FROM read_parquet(?)',
                [files]).fetchone()
            assert bad == 0 and direct[0] == 0, (table, name, optimizer, bad, direct)
            assert direct[1] > 0, (table, name, "has no values, so it proves nothing")
print("DOUBLE columns:", columns)
