-- Which ranks did jobs of the last seven days wait for, why, and how much did that cost?
-- Reads merged jobs (xlatrace merge), and of them the ranks that the job's answer names. cost_ns:
-- what the job paid for those ranks, times its steps; where several are named, they share it.
WITH recent AS (
  SELECT run_id, job_cause, job_cost_ns_per_step, job_waited_for FROM run
  WHERE merged_ranks > 0 AND job_waited_for IS NOT NULL
    AND CAST(dt AS DATE) > (SELECT max(CAST(dt AS DATE)) FROM run) - INTERVAL 7 DAY
), steps AS (
  SELECT run_id, rank_id, count(*) AS steps FROM rank_step GROUP BY run_id, rank_id
)
SELECT j.job_cause AS cause, k.job, k.host, k.rank, k.ordinal,
  CAST(sum(j.job_cost_ns_per_step * s.steps) AS BIGINT) AS cost_ns,
  CAST(max(j.job_cost_ns_per_step) AS BIGINT) AS worst_ns_per_step
FROM recent j
JOIN rank k ON k.run_id = j.run_id
  AND concat(',', j.job_waited_for, ',')
    LIKE concat('%,', CAST(k.rank AS STRING), '.', CAST(k.ordinal AS STRING), ',%')
JOIN steps s ON s.run_id = k.run_id AND s.rank_id = k.rank_id
GROUP BY j.job_cause, k.job, k.host, k.rank, k.ordinal
ORDER BY cost_ns DESC, k.job, k.rank, k.ordinal
LIMIT 50
