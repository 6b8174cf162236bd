-- Which ranks did jobs of the last seven days wait for, why, and how much did that cost?
-- Reads merged jobs (xlatrace merge). cost_ns: what the rank needs more than its like, times steps.
WITH recent AS (
  SELECT run_id, job_cause FROM run
  WHERE merged_ranks > 0
    AND CAST(dt AS DATE) > (SELECT max(CAST(dt AS DATE)) FROM run) - INTERVAL 7 DAY
), steps AS (
  SELECT run_id, rank_id, count(*) AS steps FROM rank_step GROUP BY run_id, rank_id
)
SELECT j.job_cause AS cause, k.job, k.host, k.rank, k.ordinal,
  CAST(sum(k.excess_ns_per_step * s.steps) AS BIGINT) AS cost_ns,
  CAST(max(k.excess_ns_per_step) AS BIGINT) AS worst_ns_per_step
FROM recent j
JOIN rank k ON k.run_id = j.run_id
JOIN steps s ON s.run_id = k.run_id AND s.rank_id = k.rank_id
WHERE j.job_cause NOT IN ('none', 'no_data') AND k.excess_ns_per_step > 0
GROUP BY j.job_cause, k.job, k.host, k.rank, k.ordinal
ORDER BY cost_ns DESC, k.job, k.rank, k.ordinal
LIMIT 50
