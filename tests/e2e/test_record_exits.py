# SPDX-License-Identifier: Apache-2.0
"""`xlatrace record` never changes the effect of the command; it leaves a run or reports the reason."""

import os
import re
import signal
import subprocess
import time
import unittest

import support
import tiers

WORK = """
import jax, jax.numpy as jnp
@jax.jit
def f(x):
    with jax.named_scope("work"):
        return jnp.tanh(x @ x).sum()
def work(n=4):
    for _ in range(n):
        f(jnp.ones((64, 64))).block_until_ready()
"""

# name -> (script, exit code, does it leave a run). None: allowed either way.
EXITS = {
    "normal": (WORK + "work(); print('done')", 0, True),
    "sys_exit": (WORK + "import sys; work(); sys.exit(3)", 3, True),
    "sys_exit_text": (WORK + "import sys; work(); sys.exit('sorry')", 1, True),
    "exception": (WORK + "work(); raise RuntimeError('mine')", 1, True),
    "os_exit": (WORK + "import os; work(); os._exit(4)", 4, True),
    "os_exit_in_thread": (
        WORK + "import os, threading; work(); "
        "t = threading.Thread(target=lambda: os._exit(6)); t.start(); t.join(60)",
        6,
        True,
    ),
    "sigterm": (
        WORK + "import os, signal; work(); os.kill(os.getpid(), signal.SIGTERM); "
        "signal.pause()",
        143,
        True,
    ),
    "sigint": (
        WORK + "import os, signal; work(); os.kill(os.getpid(), signal.SIGINT); "
        "import time; time.sleep(600)",
        130,
        True,
    ),
    "own_sigterm_handler": (
        WORK + "import os, signal, sys\n"
        "signal.signal(signal.SIGTERM, lambda *a: (print('mine'), sys.exit(9)))\n"
        "work(); os.kill(os.getpid(), signal.SIGTERM); signal.pause()",
        9,
        True,
    ),
    "sigkill": (WORK + "import os; work(); os.kill(os.getpid(), 9)", 137, None),
    "abort": (WORK + "import os; work(); os.abort()", 134, None),
    "own_atexit": (
        WORK + "import atexit; atexit.register(lambda: print('last words')); work()",
        0,
        True,
    ),
    "own_profiler": (
        WORK + "import tempfile, os; d = tempfile.mkdtemp(dir='.'); work()\n"
        "with jax.profiler.trace(d): work()\n"
        "n = [f for _, _, fs in os.walk(d) for f in fs if f.endswith('.xplane.pb')]\n"
        "print(len(n))",
        0,
        True,
    ),
    "own_profiler_first": (
        WORK + "import tempfile, os; d = tempfile.mkdtemp(dir='.')\n"
        "jax.profiler.start_trace(d); work(); jax.profiler.stop_trace()\n"
        "n = [f for _, _, fs in os.walk(d) for f in fs if f.endswith('.xplane.pb')]\n"
        "print(len(n))",
        0,
        None,
    ),
    "stop_without_start": (
        WORK + "work()\ntry:\n    jax.profiler.stop_trace()\n    print('stopped')\n"
        "except Exception as e:\n    print(type(e).__name__, e)",
        0,
        True,
    ),
    "nested_process": (
        WORK + "import subprocess, sys; work()\n"
        "subprocess.run([sys.executable, '-c', 'print(1)'], check=True)",
        0,
        True,
    ),
    "only_the_child_trains": (
        "import subprocess, sys\n"
        "r = subprocess.run([sys.executable, '-c', " + repr(WORK + "import sys; work(); sys.exit(5)") + "])\n"
        "sys.exit(r.returncode)",
        5,
        True,
    ),
    "fork_after_import": (
        WORK + "import os; work(); pid = os.fork()\nif pid == 0: os._exit(0)\n"
        "print(os.waitpid(pid, 0)[1])",
        0,
        True,
    ),
    "no_jax": ("print('plain')", 0, False),
    "jax_without_work": ("import jax; print('imported')", 0, None),
    "syntax_error": ("def (", 1, False),
}


class RecordExits(support.TestCase):
    def setUp(self):
        super().setUp()
        self.python = support.require_jax()

    def plain(self, path, **options):
        return support.run_command([self.python, path], cwd=self.folder, **options)

    def record(self, *command, env=None):
        return self.run_program("record", "-o", "run.db", "--", *command, env=env)

    def assert_one_outcome(self, result, leaves):
        """A run that can be read, or one clear sentence and no run."""
        exists = (self.folder / "run.db").exists()
        if leaves is not None:
            self.assertEqual(exists, leaves, result)
        said = [line for line in result.stderr.splitlines() if line.startswith("xlatrace:")]
        if exists:
            self.assertTrue(any("run.db" in line for line in said), result)
            total = support.query(self.folder / "run.db", "SELECT count(*) AS n FROM activity")
            self.assertGreater(total[0]["n"], 0)
            self.assertFalse(result.errors, result)
        else:
            self.assertEqual(len(result.errors), 1, result)
        self.assertNotIn("Traceback", re.sub(r"(?s)Traceback.*?(RuntimeError: mine|SyntaxError|KeyboardInterrupt)", "", result.stderr))

    def check(self, name):
        script, code, leaves = EXITS[name]
        (self.folder / "script.py").write_text(script)
        alone = self.plain("script.py")
        own_code = alone.code if alone.code >= 0 else 128 - alone.code
        self.assertEqual(own_code, code, f"the test's own script: {alone}")
        result = self.record(self.python, "script.py")
        self.assertEqual(result.code, code, result)
        self.assertEqual(result.stdout, alone.stdout, result)
        self.assert_one_outcome(result, leaves)
        left = sorted(path.name for path in self.folder.iterdir() if not path.name.startswith("tmp"))
        expected = ["run.db", "script.py"] if (self.folder / "run.db").exists() else ["script.py"]
        if "run.rec" in left:  # allowed if the output reports it
            self.assertIn("run.rec", result.stderr)
            left.remove("run.rec")
        self.assertEqual(left, expected, result)
        return result

    def test_own_sitecustomize_still_runs(self):
        (self.folder / "site").mkdir()
        (self.folder / "site" / "sitecustomize.py").write_text("import builtins; builtins.mark = 'MARK'")
        (self.folder / "script.py").write_text(WORK + "import builtins; work(); print(builtins.mark)")
        env = support.environment(PYTHONPATH=str(self.folder / "site"))
        result = self.record(self.python, "script.py", env=env)
        self.assertEqual((result.code, result.stdout), (0, "MARK\n"), result)
        self.assert_one_outcome(result, True)

    def test_environment_of_the_command_is_its_own(self):
        (self.folder / "script.py").write_text(
            "import os, sys, json\n"
            "print(json.dumps([sorted(os.environ), sys.argv, sys.path[0] != '', sys.flags.isolated]))"
        )
        result = self.record(self.python, "script.py", "--", "a b", "-x")
        self.assertIn('"--", "a b", "-x"', result.stdout)

    def test_stdin_is_passed_on(self):
        (self.folder / "script.py").write_text("import sys; print(sys.stdin.read().upper())")
        process = subprocess.run(
            [support.PROGRAM, "record", "-o", "run.db", "--", self.python, "script.py"],
            cwd=self.folder,
            input=b"hello",
            capture_output=True,
            env=support.environment(),
            check=False,
        )
        self.assertEqual(process.stdout, b"HELLO\n")

    def signalled(self, number, to_group):
        (self.folder / "script.py").write_text(
            # A KeyboardInterrupt inside of JAX's callback from the garbage collector would be lost.
            WORK + "work()\nimport gc; gc.disable()\nopen('ready', 'w').close()\n"
            "while True: work(1)"
        )
        process = subprocess.Popen(
            [support.PROGRAM, "record", "-o", "run.db", "--", self.python, "script.py"],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=support.environment(),
            start_new_session=True,
        )
        deadline = time.monotonic() + support.HANG_S
        while not (self.folder / "ready").exists() and time.monotonic() < deadline:
            if process.poll() is not None:
                break
            time.sleep(0.02)
        (os.killpg if to_group else os.kill)(process.pid, number)
        try:
            out, err = process.communicate(timeout=support.HANG_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            self.fail(f"did not end after the signal: {err.decode()}")
        return support.Result(process, out, err)

    def test_ctrl_c_ends_the_program_and_keeps_the_run(self):
        result = self.signalled(signal.SIGINT, to_group=True)
        self.assertEqual(result.code, 130, result)
        self.assert_one_outcome(result, True)

    @tiers.long_tier
    def test_sigterm_to_the_group(self):
        result = self.signalled(signal.SIGTERM, to_group=True)
        self.assertEqual(result.code, 143, result)
        self.assert_one_outcome(result, True)

    def test_sigterm_to_xlatrace_only(self):
        result = self.signalled(signal.SIGTERM, to_group=False)
        self.assertEqual(result.code, 143, result)
        self.assert_one_outcome(result, True)

    def test_earlier_run_becomes_old(self):
        (self.folder / "script.py").write_text(WORK + "work()")
        first = self.record(self.python, "script.py")
        self.assertEqual(first.code, 0, first)
        content = (self.folder / "run.db").read_bytes()
        second = self.record(self.python, "script.py")
        self.assertEqual(second.code, 0, second)
        self.assertEqual((self.folder / "run.old.db").read_bytes(), content)

    def test_foreign_file_at_the_output_is_kept(self):
        (self.folder / "run.db").write_text("precious")
        (self.folder / "script.py").write_text(WORK + "work(); print('ran')")
        result = self.record(self.python, "script.py")
        texts = [p.read_text(errors="replace") for p in self.folder.iterdir() if p.is_file()]
        self.assertIn("precious", texts, result)

    def test_secrets_are_masked_and_the_file_is_private(self):
        (self.folder / "script.py").write_text(WORK + "work()")
        result = self.record(self.python, "script.py", "--api-key=sk-hush", "--token", "hush2", "PASSWORD=hush3")
        self.assertEqual(result.code, 0, result)
        data = (self.folder / "run.db").read_bytes()
        for secret in (b"sk-hush", b"hush2", b"hush3"):
            self.assertNotIn(secret, data)
        self.assertEqual((self.folder / "run.db").stat().st_mode & 0o077, 0)


def add(name):
    def test(self):
        self.check(name)

    setattr(RecordExits, "test_" + name, test)


# Ends that differ in who ends the process: itself, a signal, the interpreter, another profiler.
FIRST_TIER = {"exception", "os_exit", "sigterm", "own_profiler", "no_jax"}
for exit_name in EXITS:
    if tiers.IS_LONG or exit_name in FIRST_TIER:
        add(exit_name)

if __name__ == "__main__":
    unittest.main()
