"""What a user of DuckDB with its extension `httpfs` does in a bucket. Prints what was seen as JSON."""

from __future__ import annotations

import json
import os
from pathlib import Path
from urllib.parse import urlsplit

import duckdb
import duckdb_extension_httpfs

(extension,) = Path(duckdb_extension_httpfs.__file__).parent.rglob("*.duckdb_extension")
bucket, secret = os.environ["BUCKET"], os.environ["AWS_SECRET_ACCESS_KEY"]
db = duckdb.connect()
db.load_extension(str(extension))
db.execute(
    f"create secret (type s3, key_id '{os.environ['AWS_ACCESS_KEY_ID']}', secret '{secret}', region 'us-east-1', "
    f"endpoint '{urlsplit(os.environ['AWS_ENDPOINT_URL']).netloc}', url_style 'path', use_ssl false)"
)
root = f"s3://{bucket}/main"
db.execute(f"copy (select range as id, range % 3 as part from range(100000)) to '{root}/duck/one.parquet'")
db.execute(
    f"copy (select range as id, range % 3 as part from range(9)) to '{root}/hive' (format parquet, partition_by part)"
)
db.execute(f"copy (select 1 as id, 'a b' as text) to '{root}/duck/a b.csv'")
seen = {
    "sum": db.sql(f"select sum(id) from '{root}/duck/one.parquet'").fetchall(),
    "range": db.sql(f"select id from '{root}/duck/one.parquet' where id = 77777").fetchall(),
    "glob": db.sql(
        f"select part, count(*) from read_parquet('{root}/hive/*/*.parquet') group by part order by part"
    ).fetchall(),
    "csv": db.sql(f"select * from read_csv('{root}/duck/a b.csv')").fetchall(),
}
print(json.dumps(seen, default=int))
