-- Why are devices idle, and in which jobs? Gaps of a microsecond and more.
SELECT g.job, g.cause, count(DISTINCT g.run_id) AS runs, count(*) AS gaps,
  CAST(sum(g.end_ns - g.start_ns) AS BIGINT) AS idle_ns
FROM gap g
GROUP BY g.job, g.cause
ORDER BY idle_ns DESC, g.job, g.cause NULLS LAST
