"""What a user of Spark does with `s3a://`. Prints what was seen as JSON."""

from __future__ import annotations

import json
import os

from pyspark.sql import SparkSession

root = f"s3a://{os.environ['BUCKET']}/main"
spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "2")
    .config("spark.driver.extraClassPath", os.environ["JARS"])
    .config(map=json.loads(os.environ["SETTINGS"]))
    .getOrCreate()
)
frame = spark.range(1_000).selectExpr("id", "id % 3 as part")
frame.write.partitionBy("part").parquet(f"{root}/t")
found = spark.read.parquet(f"{root}/t")
seen: dict[str, object] = {
    "rows": found.count(),
    "sum": found.selectExpr("sum(id)").first()[0],
    "of a partition": found.where("part = 0").count(),
}
frame.write.mode("append").partitionBy("part").parquet(f"{root}/t")
seen["after an append"] = spark.read.parquet(f"{root}/t").count()
frame.write.parquet(f"{root}/u")
seen["from the commit"] = spark.read.parquet(f"{root}/u").count()
frame.limit(10).write.mode("overwrite").parquet(f"{root}/u")
seen["after an overwrite"] = spark.read.parquet(f"{root}/u").count()

java = spark._jvm.org.apache.hadoop.fs
path = java.Path(f"{root}/u")
fs = path.getFileSystem(spark._jsc.hadoopConfiguration())
seen["names"] = [
    each.getPath().getName() for each in fs.listStatus(path) if not each.getPath().getName().startswith("part-")
]
fs.mkdirs(java.Path(f"{root}/empty"))
fs.rename(path, java.Path(f"{root}/v"))
fs.delete(java.Path(f"{root}/v"), True)
seen["removed"] = not fs.exists(java.Path(f"{root}/v"))
print(json.dumps(seen))
spark.stop()
