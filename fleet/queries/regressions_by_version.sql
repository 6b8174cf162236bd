-- Which version of jaxlib or TensorFlow made steps of the same model on the same GPUs longer?
-- Per run the lower median of its steady steps; per version the lower median of its runs, against
-- the version that was first seen before it. A handful of runs a side is evidence, one is a hint.
WITH steps AS (
  SELECT run_id, end_ns - start_ns AS step_ns,
    row_number() OVER (PARTITION BY run_id ORDER BY end_ns - start_ns, device_id, step) AS place,
    count(*) OVER (PARTITION BY run_id) AS steps
  FROM step WHERE steady = 1 AND end_ns IS NOT NULL
), runs AS (
  SELECT r.program, r.gpu, r.devices, r.start_unix_ns, s.step_ns, r.run_id,
    coalesce('jaxlib ' || r.jaxlib_version, 'tensorflow ' || r.tensorflow_version) AS version
  FROM steps s
  JOIN run r ON r.run_id = s.run_id
  WHERE 2 * s.place IN (s.steps, s.steps + 1)
), ordered AS (
  SELECT runs.*,
    row_number() OVER (PARTITION BY program, gpu, devices, version ORDER BY step_ns, run_id) AS place,
    count(*) OVER (PARTITION BY program, gpu, devices, version) AS runs,
    min(start_unix_ns) OVER (PARTITION BY program, gpu, devices, version) AS first_unix_ns
  FROM runs WHERE version IS NOT NULL
), versions AS (
  SELECT program, gpu, devices, version, runs, step_ns,
    lag(step_ns) OVER (PARTITION BY program, gpu, devices ORDER BY first_unix_ns, version) AS before_ns
  FROM ordered WHERE 2 * place IN (runs, runs + 1)
)
SELECT program, gpu, devices, version, runs, step_ns, before_ns,
  CAST(floor(CAST(step_ns - before_ns AS DOUBLE) * 1000 / before_ns) AS BIGINT) AS longer_permille
FROM versions
ORDER BY longer_permille DESC NULLS LAST, program NULLS LAST, gpu NULLS LAST, devices, version
