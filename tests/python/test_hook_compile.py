# SPDX-License-Identifier: Apache-2.0
"""The hook's log of imports, compilations and their causes, with real JAX."""

from __future__ import annotations

import json
import textwrap
import unittest

from hook_support import HookTestCase

BEGIN = """
    import functools, os, sys
    import numpy as np
    import jax, jax.numpy as jnp
"""

# Each function is compiled twice, for one reason. The names are the expected causes.
CAUSES = """
    def compiled_twice(function):
        function.__name__ = function.__qualname__ = "f_" + sys._getframe(1).f_code.co_name
        return jax.jit(function)

    def shape():
        f = compiled_twice(lambda batch: batch["x"] + 1)
        f({"x": jnp.ones(3)}), f({"x": jnp.ones(4)})

    def dtype():
        f = compiled_twice(lambda x: x + 1)
        f(jnp.ones(3)), f(jnp.ones(3, jnp.int32))

    def python_scalar():
        f = compiled_twice(lambda x, scale: x * scale)
        f(jnp.ones(3), 2.0), f(jnp.ones(3), jnp.float32(2.0))

    def structure():
        f = compiled_twice(lambda tree: sum(tree.values()))
        f({"a": jnp.ones(3)}), f({"a": jnp.ones(3), "b": jnp.ones(3)})

    def static():
        def power(x, n):
            return x**n
        power.__name__ = power.__qualname__ = "f_static"
        f = jax.jit(power, static_argnums=1)
        f(jnp.ones(3), 2), f(jnp.ones(3), 3)

    def static_object():
        class Config:
            pass
        def apply(x, config):
            return x + 1
        apply.__name__ = apply.__qualname__ = "f_static_object"
        f = jax.jit(apply, static_argnames="config")
        f(jnp.ones(3), config=Config()), f(jnp.ones(3), config=Config())

    def donation():
        def apply(x, y):
            return x["a"] + 1
        apply.__name__ = apply.__qualname__ = "f_donation"
        for donated in ((), 0):
            jax.jit(apply, donate_argnums=donated)({"a": jnp.ones(3)}, {"a": jnp.ones(3)})

    def sharding():
        f = compiled_twice(lambda x: x + 1)
        devices = jax.devices()
        f(jax.device_put(jnp.ones(4), devices[0])), f(jax.device_put(jnp.ones(4), devices[1]))

    def sharding_of_all_leaves():
        f = compiled_twice(lambda params, x: params["a"] + params["b"][0] + x["a"])
        for device in jax.devices():
            x = {"a": jnp.ones(4), "b": jnp.ones(4)}
            params = jax.device_put({"a": jnp.ones(4), "b": [jnp.ones(5)]}, device)
            f(jax.tree.map(lambda leaf: leaf[:4], params), x)

    def closure():
        for scale in (2.0, 3.0):
            def apply(x):
                return x * scale
            apply.__name__ = apply.__qualname__ = "f_closure"
            jax.jit(apply)(jnp.ones(3))

    def new_function():
        for _ in range(2):
            def apply(x):
                return x * 2
            apply.__name__ = apply.__qualname__ = "f_new_function"
            jax.jit(apply)(jnp.ones(3))

    def configuration():
        f = compiled_twice(lambda x: x @ x)
        f(jnp.ones((3, 3)))
        with jax.default_matmul_precision("float32"):
            f(jnp.ones((3, 3)))

    def cache_cleared():
        f = compiled_twice(lambda x: x - 1)
        f(jnp.ones(3))
        jax.clear_caches()
        f(jnp.ones(3))

    def ahead_of_time():
        f = compiled_twice(lambda x: x - 2)
        f.lower(jnp.ones(3)).compile(), f.lower(jnp.ones(5)).compile()

    for each in sys.argv[1:]:
        globals()[each]()
    print("done")
"""


class Compilations(HookTestCase):
    framework = "jax"

    def entries(self, script: str, *arguments: str, **environment: str) -> list[dict]:
        result = self.run_script(textwrap.dedent(BEGIN) + textwrap.dedent(script), *arguments, **environment)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        (path,) = self.recording.glob("*/compile.jsonl")
        return [json.loads(line) for line in path.read_text().splitlines()]

    def of(self, entries: list[dict], name: str, stage: str = "compile") -> list[dict]:
        """Lines of a function; a compilation's first line has its facts."""
        return [e for e in entries if e["stage"] == stage and e["name"] == name]

    def causes(self, *names: str, **environment: str) -> dict[str, list]:
        entries = self.entries(CAUSES, *names, **environment)
        again: dict[str, list] = {}
        for entry in entries:
            if entry["stage"] == "compile" and "again" in entry:
                again.setdefault(entry["name"], []).append(entry)
        return again

    def test_each_cause_is_recorded_with_its_argument(self):
        names = [
            "shape",
            "dtype",
            "python_scalar",
            "structure",
            "static",
            "static_object",
            "donation",
            "sharding",
            "closure",
            "new_function",
            "configuration",
            "cache_cleared",
        ]
        found = self.causes(*names, XLA_FLAGS="--xla_force_host_platform_device_count=2")
        for name in names:
            with self.subTest(name):
                first, second = found["f_" + name]
                self.assertIsNone(first["again"])
                self.assertEqual(second["again"][0], name)
        arguments = {
            "shape": "batch['x']",
            "dtype": "x",
            "python_scalar": "scale",
            "structure": "tree['b']",
            "static": "n",
            "static_object": "config",
            "donation": "x",
            "sharding": "x",
            "closure": "scale",
        }
        for name, argument in arguments.items():
            self.assertEqual(found["f_" + name][1]["details"][0]["name"], argument)
        shape = found["f_shape"][1]["details"][0]
        self.assertEqual((shape["before"], shape["after"]), ("float32[3]", "float32[4]"))
        static = found["f_static"][1]["details"][0]
        self.assertEqual((static["before"], static["after"]), ("2", "3"))

    def test_same_difference_of_all_leaves_names_their_argument(self):
        found = self.causes("sharding_of_all_leaves", XLA_FLAGS="--xla_force_host_platform_device_count=2")
        _, second = found["f_sharding_of_all_leaves"]
        self.assertEqual([(d["kind"], d["name"]) for d in second["details"][:1]], [("sharding", "params")])
        self.assertEqual(second["again"], ["sharding"])

    def test_compilation_ahead_of_time_has_its_cause(self):
        first, second = self.causes("ahead_of_time")["f_ahead_of_time"]
        self.assertEqual(second["again"], ["shape"])
        self.assertIsNone(first["again"])

    def test_stages_follow_each_other_with_the_line_of_the_call(self):
        entries = self.entries(
            """
            def add_one(x):
                return x + 1
            f = jax.jit(add_one)
            x = jnp.ones(3)
            f(x)
            """
        )
        script = str(self.place / "script.py")
        trace, lower, compiled = (self.of(entries, "add_one", stage) for stage in ("trace", "lower", "compile"))
        for begun, ended in (trace, lower, compiled):
            self.assertNotIn("end", begun)
            self.assertEqual(begun["id"], ended["id"])
            begun.update(start=ended["start"], end=ended["end"])
        stages = [trace[0], lower[0], compiled[0]]
        self.assertEqual({(e["file"], e["line"]) for e in stages}, {(script, 10)})
        self.assertEqual(len({e["id"] for e in stages}), 1)
        ends = [(e["start"], e["end"]) for e in stages]
        self.assertEqual(ends, sorted(ends))
        begun = self.of(entries, "add_one")[0]
        self.assertEqual(begun["function"], {"file": script, "line": 6, "library": False})

    def test_imports_are_timed_with_their_line(self):
        (self.place / "slow_module.py").write_text("import time\ntime.sleep(0.3)\n")
        entries = self.entries("import slow_module\n")
        (slow,) = [e for e in entries if e["stage"] == "import" and e["name"] == "slow_module"]
        self.assertGreaterEqual(slow["end"] - slow["start"], 300_000_000)
        self.assertEqual(slow["line"], 5)
        names = [e["name"] for e in entries if e["stage"] == "import"]
        self.assertEqual((names.count("numpy"), names.count("jax")), (1, 1))

    def test_constants_and_unrolled_loops_are_facts_of_the_program(self):
        entries = self.entries(
            """
            table = np.arange(100_000, dtype=np.float32)
            @jax.jit
            def f(x):
                for _ in range(300):
                    x = jnp.sin(x)
                return x + table
            f(jnp.ones(100_000))
            """
        )
        details = {d["kind"]: d for d in self.of(entries, "f")[0]["details"]}
        self.assertEqual(details["constant"]["value"], 400_000)
        self.assertEqual(details["constant"]["name"], "table")
        self.assertEqual(details["constant"]["line"], 11)
        self.assertEqual(details["repeated_line"]["line"], 10)
        self.assertGreaterEqual(details["repeated_line"]["value"], 250)

    def test_hits_and_misses_of_the_persistent_cache_are_recorded(self):
        script = """
            jax.config.update("jax_compilation_cache_dir", sys.argv[1])
            jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
            jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
            f = jax.jit(lambda x: jnp.sin(x) + 1)
            f(np.ones(3))
            jax.clear_caches()
            f(np.ones(3))
            """
        entries = self.entries(script, str(self.place / "cache"))
        kinds = [
            detail["kind"]
            for entry in self.of(entries, "<lambda>")
            for detail in entry.get("details", ())
            if detail["kind"].startswith("cache_") and "end" in entry
        ]
        self.assertEqual(kinds, ["cache_miss", "cache_hit"])
        self.assertEqual(len(self.of(entries, "<lambda>", "cache")), 1)

    def test_killed_process_leaves_the_compilation_it_was_in(self):
        script = """
            from jax import monitoring
            def kill(event, value, **names):
                if "backend_compile" in event and names["fun_name"] == "jit(f)":
                    os.kill(os.getpid(), 9)
            from jax._src import monitoring as private
            if not hasattr(private, "register_scalar_listener"):
                os._exit(77)
            private.register_scalar_listener(kill)
            def f(x):
                return x + 1
            jax.jit(f)(np.ones(3))
            """
        result = self.run_script(textwrap.dedent(BEGIN) + textwrap.dedent(script))
        if result.returncode == 77:
            self.skipTest("this JAX reports a stage at its end only")
        self.assertEqual(result.returncode, -9)
        (path,) = self.recording.glob("*/compile.jsonl")
        last = json.loads(path.read_text().splitlines()[-1])
        self.assertEqual((last["stage"], last["name"]), ("compile", "f"))
        self.assertNotIn("end", last)


if __name__ == "__main__":
    unittest.main()
