"""Scripts of the Redis store, each of which the server runs as one atomic step.

A partition is a hash (key to value) and a sorted set of its keys, all with score 0, so that the set is ordered by
bytes. A script gets both names for each partition, then its arguments. Every script that writes changes both, so they
always have the same keys. A script that is refused because the memory is full is refused before its first write.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final

from graveler_core.kv.paging import PAGE_BYTES


@dataclass(frozen=True, slots=True)
class Script:
    """Program in Lua that the server runs."""

    text: str
    writes: bool = True

    @property
    def digest(self) -> str:
        """Name under which the server remembers the script."""
        return hashlib.sha1(self.text.encode(), usedforsecurity=False).hexdigest()


ABSENT: Final = b"absent"
PRESENT: Final = b"present"
UNCHANGED: Final = b"unchanged"

_HOLDS: Final = """
local function holds(hash, key, condition, value)
  local found = redis.call('HGET', hash, key)
  if condition == 'absent' then return not found end
  if condition == 'present' then return found and true end
  return found == value
end
"""
SET: Final = Script("""
for i = 1, #ARGV, 3 do
  local partition = 2 * tonumber(ARGV[i])
  redis.call('HSET', KEYS[partition + 1], ARGV[i + 1], ARGV[i + 2])
  redis.call('ZADD', KEYS[partition + 2], 0, ARGV[i + 1])
end
return 1
""")
"""Write rows. Arguments: number of the partition from 0, key, value, for each row."""
SET_IF: Final = Script(
    _HOLDS
    + """
if not holds(KEYS[1], ARGV[1], ARGV[3], ARGV[4]) then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('ZADD', KEYS[2], 0, ARGV[1])
return 1
"""
)
"""Write a row if a condition holds. Arguments: key, value, condition, expected value. The result is 1 if it did."""
WRITE_AND_SWAP: Final = Script(
    _HOLDS
    + """
if not holds(KEYS[2 * tonumber(ARGV[3]) + 1], ARGV[4], ARGV[1], ARGV[2]) then return 0 end
for i = 3, #ARGV, 3 do
  local partition = 2 * tonumber(ARGV[i])
  redis.call('HSET', KEYS[partition + 1], ARGV[i + 1], ARGV[i + 2])
  redis.call('ZADD', KEYS[partition + 2], 0, ARGV[i + 1])
end
return 1
"""
)
"""Write rows if a condition on the first of them holds. Arguments: condition, expected value, then number of the
partition from 0, key, value, for each row. The result is 1 if it did.
"""
DELETE: Final = Script(
    _HOLDS
    + """
for i = 2, #ARGV, 4 do
  if not holds(KEYS[2 * tonumber(ARGV[i]) + 1], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]) then return 0 end
end
for i = 2, 4 * tonumber(ARGV[1]) + 1, 4 do
  local partition = 2 * tonumber(ARGV[i])
  redis.call('HDEL', KEYS[partition + 1], ARGV[i + 1])
  redis.call('ZREM', KEYS[partition + 2], ARGV[i + 1])
end
return 1
"""
)
"""Delete rows if all conditions hold. Arguments: number of rows to delete, then number of the partition from 0, key,
condition, expected value, for each of them and for each other row. The result is 1 if they were deleted.
"""
DROP: Final = Script("""
local rows = redis.call('HLEN', KEYS[1])
redis.call('UNLINK', KEYS[1], KEYS[2])
return rows
""")
"""Delete a partition, whose memory the server frees in another thread. The result is the number of rows."""
GET: Final = Script(
    """
local values = {}
for i = 1, #ARGV, 2 do
  values[#values + 1] = redis.call('HGET', KEYS[2 * tonumber(ARGV[i]) + 1], ARGV[i + 1])
end
return values
""",
    writes=False,
)
"""Read rows. Arguments: number of the partition from 0, key, for each row. The result has a value or nil for each."""
PAGE: Final = Script(
    f"""
local keys = redis.call('ZRANGEBYLEX', KEYS[2], ARGV[1], ARGV[2], 'LIMIT', 0, ARGV[3])
local values, size = {{}}, 0
for i, key in ipairs(keys) do
  values[i] = redis.call('HGET', KEYS[1], key)
  size = size + #values[i]
  if size >= {PAGE_BYTES} then
    for rest = #keys, i + 1, -1 do keys[rest] = nil end
    return {{0, keys, values}}
  end
end
return {{#keys < tonumber(ARGV[3]) and 1 or 0, keys, values}}
""",
    writes=False,
)
"""Read a page. Arguments: lower and upper bound as `ZRANGEBYLEX` has them, and the maximum number of rows. The result
is 1 if the page reaches the end, the keys, and their values.
"""
SPLIT: Final = Script(
    """
local rows, points, before = redis.call('ZCARD', KEYS[2]), {}, 0
for piece = 1, ARGV[1] - 1 do
  local row = math.floor(rows * piece / ARGV[1])
  if row > before then
    points[#points + 1] = redis.call('ZRANGE', KEYS[2], row, row)[1]
    before = row
  end
end
return points
""",
    writes=False,
)
"""Find split points. The argument is the number of key ranges."""
