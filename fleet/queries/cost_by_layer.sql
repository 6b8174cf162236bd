-- What does each layer of each model cost in device time? Of recordings, not of merged jobs.
WITH scopes AS (
  SELECT r.program AS model, s.layer_group AS layer, s.phase,
    CAST(sum(s.self_ns) AS BIGINT) AS device_ns, count(DISTINCT s.run_id) AS runs
  FROM scope_time s
  JOIN run r ON r.run_id = s.run_id
  GROUP BY r.program, s.layer_group, s.phase
), models AS (
  SELECT model, CAST(sum(device_ns) AS BIGINT) AS model_ns FROM scopes GROUP BY model
)
SELECT s.model, s.layer, s.phase, s.runs, s.device_ns,
  CAST(floor(CAST(s.device_ns AS DOUBLE) * 1000 / m.model_ns) AS BIGINT) AS permille_of_model
FROM scopes s
JOIN models m ON (m.model = s.model OR (m.model IS NULL AND s.model IS NULL))
WHERE m.model_ns > 0
ORDER BY s.device_ns DESC, s.model NULLS LAST, s.layer NULLS LAST, s.phase NULLS LAST
