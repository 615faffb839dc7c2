"""Reads Parquet files with DuckDB, pyarrow and polars, and says whether all three
see the same values: NULLs, lists, maps, timestamps, 64-bit integers. Prints a
line for each file."""

import sys

import duckdb
import polars
import pyarrow.parquet

connection = duckdb.connect()
connection.execute("SET TimeZone='UTC'")
for file in sys.argv[1:]:
    mine = polars.read_parquet(file)
    arrow = polars.from_arrow(pyarrow.parquet.ParquetFile(file).read())
    duck = polars.from_arrow(connection.execute("SELECT * FROM read_parquet(?)", [file]).to_arrow_table())
    for name, other in (("pyarrow", arrow), ("duckdb", duck)):
        assert other.columns == mine.columns, (file, name)
        for column in mine.columns:
            a, b = mine[column], other[column]
            assert a.equals(b.cast(a.dtype), null_equal=True), (file, name, column)
    print(file, len(mine), "rows equal")
