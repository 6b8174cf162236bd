-- Which programs are compiled again and again, and how long does that take?
-- Main modules of one name and process with more than one content; compile_ns: what the recordings
-- show of compilation in that job.
WITH variants AS (
  SELECT run_id, job, process_id, name, count(*) AS modules,
    count(DISTINCT fingerprint) AS variants
  FROM module
  WHERE role = 'main' AND name IS NOT NULL
  GROUP BY run_id, job, process_id, name
), programs AS (
  SELECT job, name, count(DISTINCT run_id) AS runs, CAST(sum(modules) AS BIGINT) AS modules,
    max(variants) AS most_variants
  FROM variants GROUP BY job, name
), compiled AS (
  SELECT job, CAST(sum(end_ns - start_ns) AS BIGINT) AS compile_ns FROM compile
  WHERE end_ns IS NOT NULL GROUP BY job
)
SELECT p.job, p.name AS program, p.runs, p.modules, p.most_variants, c.compile_ns
FROM programs p
LEFT JOIN compiled c ON c.job = p.job
ORDER BY p.most_variants DESC, c.compile_ns DESC NULLS LAST, p.job, p.name
