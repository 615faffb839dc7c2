"""Counts the rows of one model with each engine's own filter."""

import glob
import sys

import duckdb
import polars
import pyarrow.dataset

files = glob.glob(f"{sys.argv[1]}/requests/*.parquet")
model = "model-2"
db = duckdb.connect().execute(
    "SELECT count(*) FROM read_parquet(?) WHERE request_model = ?", [files, model]).fetchone()[0]
arrow = pyarrow.dataset.dataset(files).count_rows(
    filter=pyarrow.dataset.field("request_model") == model)
pl = polars.scan_parquet(files).filter(polars.col("request_model") == model).select(polars.len()).collect().item()
print("duckdb", db, "pyarrow", arrow, "polars", pl)
