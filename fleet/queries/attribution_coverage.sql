-- How much device time carries an HLO instruction, by where the recordings came from?
WITH labels AS (
  SELECT r.source, r.tool_version, o.run_id, o.self_ns,
    CASE WHEN o.instruction IS NULL THEN 'none' ELSE o.confidence END AS confidence
  FROM op_time o
  JOIN run r ON r.run_id = o.run_id
)
SELECT source, tool_version, count(DISTINCT run_id) AS runs,
  CAST(sum(self_ns) AS BIGINT) AS device_ns,
  CAST(sum(CASE WHEN confidence = 'exact' THEN self_ns ELSE 0 END) AS BIGINT) AS exact_ns,
  CAST(sum(CASE WHEN confidence = 'inferred' THEN self_ns ELSE 0 END) AS BIGINT) AS inferred_ns,
  CAST(sum(CASE WHEN confidence = 'none' THEN self_ns ELSE 0 END) AS BIGINT) AS none_ns
FROM labels
GROUP BY source, tool_version
ORDER BY device_ns DESC, source NULLS LAST, tool_version NULLS LAST
