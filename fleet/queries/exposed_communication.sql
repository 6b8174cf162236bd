-- How much of a step is communication beside which nothing computes, by hosts, devices and GPU?
WITH parts AS (
  SELECT p.run_id, CAST(sum(p.wall_ns) AS BIGINT) AS wall_ns,
    CAST(sum(CASE WHEN p.part = 'exposed_collective' THEN p.wall_ns ELSE 0 END) AS BIGINT)
      AS exposed_ns
  FROM step_part p
  JOIN step s ON s.run_id = p.run_id AND s.device_id = p.device_id AND s.step = p.step
  WHERE s.steady = 1
  GROUP BY p.run_id
)
SELECT r.hosts, r.devices, r.gpu, count(*) AS runs,
  CAST(sum(p.exposed_ns) AS BIGINT) AS exposed_ns, CAST(sum(p.wall_ns) AS BIGINT) AS step_ns,
  CAST(floor(CAST(sum(p.exposed_ns) AS DOUBLE) * 1000 / sum(p.wall_ns)) AS BIGINT)
    AS exposed_permille
FROM parts p
JOIN run r ON r.run_id = p.run_id
WHERE p.wall_ns > 0
GROUP BY r.hosts, r.devices, r.gpu
ORDER BY exposed_permille DESC, r.hosts, r.devices, r.gpu NULLS LAST
