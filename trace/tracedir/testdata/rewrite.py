"""Rewrites the requests of a trace with DuckDB, in place."""

import glob
import os
import sys

import duckdb

for path in glob.glob(f"{sys.argv[1]}/requests/*.parquet"):
    duckdb.connect().execute(
        f"COPY (SELECT * FROM read_parquet('{path}')) TO '{path}.new' (FORMAT parquet)")
    os.replace(path + ".new", path)
