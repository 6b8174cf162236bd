-- Which GPUs compute slower than those that run the same program, in more than one job?
-- Like is compared with like: a rank's computation per steady step (its lower median) with the
-- lower median of the ranks of the same job and program. Slow: 2 % more, or worse. A GPU is known
-- by its uuid where the rank's recording is in the lake under the same job, else by rank.
WITH gpus AS (
  SELECT p.job, p.host, p.rank, d.ordinal, min(d.uuid) AS uuid
  FROM device d
  JOIN process p ON p.run_id = d.run_id AND p.process_id = d.process_id
  WHERE d.uuid IS NOT NULL
  GROUP BY p.job, p.host, p.rank, d.ordinal
), ordered AS (
  SELECT run_id, rank_id, gemm_ns + other_ns AS own_ns,
    row_number() OVER (PARTITION BY run_id, rank_id ORDER BY gemm_ns + other_ns, step) AS place,
    count(*) OVER (PARTITION BY run_id, rank_id) AS steps
  FROM rank_step WHERE steady = 1
), own AS (
  SELECT k.run_id, k.host, k.program, o.own_ns,
    coalesce(g.uuid, 'rank ' || CAST(k.rank AS STRING) || ' device ' || CAST(k.ordinal AS STRING))
      AS gpu,
    row_number() OVER (PARTITION BY k.run_id, k.program ORDER BY o.own_ns, k.rank_id) AS place,
    count(*) OVER (PARTITION BY k.run_id, k.program) AS ranks
  FROM ordered o
  JOIN rank k ON k.run_id = o.run_id AND k.rank_id = o.rank_id
  LEFT JOIN gpus g ON g.job = k.job AND g.host = k.host AND g.rank = k.rank
    AND g.ordinal = k.ordinal
  WHERE 2 * o.place IN (o.steps, o.steps + 1)
), middle AS (
  SELECT run_id, program, own_ns FROM own WHERE 2 * place IN (ranks, ranks + 1) AND own_ns > 0
), compared AS (
  SELECT o.host, o.gpu, o.run_id,
    CAST(floor(CAST(o.own_ns - m.own_ns AS DOUBLE) * 1000 / m.own_ns) AS BIGINT) AS over_permille
  FROM own o
  JOIN middle m ON m.run_id = o.run_id
    AND (m.program = o.program OR (m.program IS NULL AND o.program IS NULL))
)
SELECT host, gpu, count(DISTINCT run_id) AS jobs,
  count(DISTINCT CASE WHEN over_permille >= 20 THEN run_id END) AS slow_jobs,
  max(over_permille) AS worst_permille, min(over_permille) AS least_permille
FROM compared
GROUP BY host, gpu
HAVING max(over_permille) >= 20
ORDER BY slow_jobs DESC, worst_permille DESC, host NULLS LAST, gpu
