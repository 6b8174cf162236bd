# SPDX-License-Identifier: Apache-2.0
"""Host causes from the use of JAX: one value per call, and a compilation every few steps."""

from cause import Cause


def float_loss(rng):
    """`float` of each of many values: each call dispatches small programs and waits for them."""
    body = rng.choice((
        """
    total = 0.0
    for number in range(<WORK>):  #@hot
        total += float(losses[number % losses.shape[0]])  #@hot
    return total
""", """
    report = {}
    for number in range(<WORK>):  #@hot
        report[number] = float(jnp.abs(losses[number % losses.shape[0]]))  #@hot
    return max(report.values())
""", """
    return sum(float(losses[number % losses.shape[0]] * 2.0) for number in range(<WORK>))  #@hot
"""))
    return Cause(kinds=("sync", "dispatch", "host"), before=False, work=60, place="hot",
                 functions=f"def <fn>(losses):{body}", call="<v_rate> += <entry>(losses) * 1e-9")


def recompilation(rng):
    """The number of rows changes, so that the training step is compiled again."""
    rows = rng.choice(("max(BATCH - step // <WORK>, 2)", "BATCH + step // <WORK>"))
    return Cause(
        kinds=("recompilation", "compile"), model="shapes", work=3, inverse=True, place="step_call",
        other_places=("fn_step",), wrapped=False, in_module=False,
        functions=f"""
def <fn_rows>(step):
    return {rows}
""",
        setup="""
        <v_inputs> = np.random.default_rng(4).normal(size=(BATCH + STEPS, WIDTH)).astype(np.float32)
        <v_seen>, fresh, usual = set(), [], []
        """,
        call="""
        rows = <fn_rows>(step)
        began = time.perf_counter()
        params, loss, losses = <fn_step>(params, <v_inputs>[:rows], <v_inputs>[:rows], extra)  #@step_call
        jax.block_until_ready(loss)
        (usual if rows in <v_seen> else fresh).append(time.perf_counter() - began)
        <v_seen>.add(rows)
        """,
        cost="sum(fresh[1:]) - len(fresh[1:]) * (sorted(usual)[len(usual) // 2] if usual else 0.0)")
