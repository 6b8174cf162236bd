-- Which findings would win most GPU time over everything that was recorded?
-- What was recorded: where a job runs all day and a window of it was recorded, take it as a share.
WITH steps AS (
  SELECT run_id, count(*) AS steps FROM step GROUP BY run_id
  UNION ALL
  SELECT run_id, count(*) AS steps FROM rank_step GROUP BY run_id
), counted AS (
  SELECT run_id, max(steps) AS steps FROM steps GROUP BY run_id
)
SELECT f.id, count(DISTINCT f.run_id) AS runs, count(DISTINCT f.job) AS jobs,
  CAST(sum(coalesce(f.saves_high_ns_per_run, f.saves_high_ns_per_step * coalesce(c.steps, 1), 0))
    AS BIGINT) AS saves_high_ns,
  CAST(sum(coalesce(f.saves_low_ns_per_run, f.saves_low_ns_per_step * coalesce(c.steps, 1), 0))
    AS BIGINT) AS saves_low_ns,
  min(f.title) AS title
FROM finding f
LEFT JOIN counted c ON c.run_id = f.run_id
GROUP BY f.id
ORDER BY saves_high_ns DESC, f.id
