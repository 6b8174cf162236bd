-- Which hosts have clocks that could not be aligned, are known badly, or drift?
-- Badly: an error over 100 us. Drift: over 50 ppm, which NTP corrects.
SELECT host, count(DISTINCT run_id) AS jobs, count(*) AS ranks,
  CAST(sum(CASE WHEN clock_error_ns IS NULL THEN 1 ELSE 0 END) AS BIGINT) AS not_aligned,
  max(clock_error_ns) AS worst_error_ns, max(abs(clock_drift_ppb)) AS worst_drift_ppb,
  max(abs(clock_offset_ns)) AS worst_offset_ns
FROM rank
GROUP BY host
HAVING sum(CASE WHEN clock_error_ns IS NULL THEN 1 ELSE 0 END) > 0
  OR max(clock_error_ns) > 100000 OR max(abs(clock_drift_ppb)) > 50000
ORDER BY not_aligned DESC, worst_error_ns DESC NULLS LAST, host NULLS LAST
