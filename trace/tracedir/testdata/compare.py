"""Compares trace directories, as DuckDB, pyarrow and polars read them, with the
rows that are in them (JSON): DIR ROWS.json DIR ROWS.json … Prints one line per
reader and table."""

import datetime
import glob
import json
import math
import sys

import duckdb
import polars
import pyarrow.parquet

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def plain(value):
    """A value as the JSON has it."""
    if isinstance(value, datetime.datetime):
        return (value - EPOCH) // datetime.timedelta(microseconds=1)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, float):
        assert math.isfinite(value)
    return value


def pairs_to_map(value):
    """Maps come as pairs from pyarrow, as key-value structs from polars."""
    if value and isinstance(value[0], dict):
        return {p["key"]: p["value"] for p in value}
    return dict(value)


def read_duckdb(files):
    rel = duckdb.connect().execute("SET TimeZone='UTC'").execute(
        "SELECT * FROM read_parquet(?)", [files])
    names = [d[0] for d in rel.description]
    return [dict(zip(names, row)) for row in rel.fetchall()]


def read_pyarrow(files):
    return [row for f in files for row in pyarrow.parquet.ParquetFile(f).read().to_pylist()]


def read_polars(files):
    return polars.read_parquet(files).to_dicts()


def compare(root, expected):
    with open(expected) as f:
        tables = json.load(f)
    for table, want in tables.items():
        files = sorted(glob.glob(f"{root}/{table}/*.parquet"))
        assert files, table
        for reader in (read_duckdb, read_pyarrow, read_polars):
            got = reader(files)
            assert len(got) == len(want), (reader.__name__, table, len(got), len(want))
            for i, (g, w) in enumerate(zip(got, want)):
                assert g.keys() <= w.keys(), (table, g.keys() - w.keys())
                for column, value in w.items():
                    have = g.get(column)  # a file of an older schema lacks columns
                    if isinstance(value, dict) and isinstance(have, list):
                        have = pairs_to_map(have)
                    have = plain(have)
                    if isinstance(have, float) and type(value) is int:
                        value = float(value)  # JSON of a whole number
                    assert have == value and type(have) is type(value), (
                        reader.__name__, table, i, column, have, value)
            print(reader.__name__, table, len(got), "rows equal")


for root, expected in zip(sys.argv[1::2], sys.argv[2::2], strict=True):
    compare(root, expected)
