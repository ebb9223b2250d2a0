"""What a user of s3fs, pandas and polars does in a bucket. Prints what was seen as JSON."""

from __future__ import annotations

import json
import os

import pandas as pd
import polars as pl
import s3fs

BUCKET = os.environ["BUCKET"]
CONNECTION = {
    "key": os.environ["AWS_ACCESS_KEY_ID"],
    "secret": os.environ["AWS_SECRET_ACCESS_KEY"],
    "client_kwargs": {"endpoint_url": os.environ["AWS_ENDPOINT_URL"], "region_name": "us-east-1"},
}
fs = s3fs.S3FileSystem(**CONNECTION)
seen: dict[str, object] = {}

frame = pd.DataFrame({"id": range(1_000), "city": ["Zürich", "Ulm"] * 500})
frame.to_parquet(f"s3://{BUCKET}/main/pandas/part=1/a.parquet", storage_options=CONNECTION)
frame.to_csv(f"s3://{BUCKET}/main/pandas/a b+c.csv", index=False, storage_options=CONNECTION)
back = pd.read_parquet(f"s3://{BUCKET}/main/pandas/part=1/a.parquet", storage_options=CONNECTION)
seen["pandas"] = back.equals(frame)
seen["csv"] = len(pd.read_csv(f"s3://{BUCKET}/main/pandas/a b+c.csv", storage_options=CONNECTION))
with fs.open(f"{BUCKET}/main/polars/b.parquet", "wb") as file:
    pl.DataFrame({"id": [1, 2, 3]}).write_parquet(file)
with fs.open(f"{BUCKET}/main/polars/b.parquet", "rb") as file:
    seen["polars"] = pl.read_parquet(file)["id"].to_list()

large = os.urandom(12 << 20)
with fs.open(f"{BUCKET}/main/large", "wb", block_size=5 << 20) as file:
    file.write(large)
with fs.open(f"{BUCKET}/main/large", "rb") as file:
    file.seek(6 << 20)
    seen["range"] = file.read(100) == large[6 << 20 : (6 << 20) + 100]
seen["large"] = fs.cat_file(f"{BUCKET}/main/large") == large

fs.pipe_file(f"{BUCKET}/main/dir/one", b"1")
fs.mkdir(f"{BUCKET}/main/empty")
fs.cp_file(f"{BUCKET}/main/dir/one", f"{BUCKET}/main/dir/two")
fs.mv(f"{BUCKET}/main/dir/one", f"{BUCKET}/main/dir/three")
fs.invalidate_cache()
seen["ls"] = sorted(path.removeprefix(f"{BUCKET}/") for path in fs.ls(f"{BUCKET}/main/dir", detail=False))
seen["refs"] = sorted(path.removeprefix(f"{BUCKET}/") for path in fs.ls(BUCKET, detail=False))
seen["find"] = sorted(path.removeprefix(f"{BUCKET}/main/") for path in fs.find(f"{BUCKET}/main"))
seen["glob"] = [path.removeprefix(f"{BUCKET}/main/") for path in fs.glob(f"{BUCKET}/main/**/*.parquet")]
seen["exists"] = [fs.exists(f"{BUCKET}/main/{path}") for path in ("dir/two", "dir", "dir/one")]
fs.rm(f"{BUCKET}/main/dir", recursive=True)
fs.invalidate_cache()
seen["removed"] = not fs.exists(f"{BUCKET}/main/dir/two")
print(json.dumps(seen))
