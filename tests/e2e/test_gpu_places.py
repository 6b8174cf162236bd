# SPDX-License-Identifier: Apache-2.0
"""The places where people run: launchers, environments, containers, notebooks, odd file systems.

Each is simulated on the fake GPU. The effect of a launcher is its change of environment, folder and
processes, and a short script can do that too."""

import os
import pathlib
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import textwrap
import time
import unittest

import gpu_support
import support
from gpu_support import rows_of, scalar

PYTHON = "# python\nimport os, signal, subprocess, sys, time\nfrom tiny_gpu import *\n"
TRAIN = "from tiny_gpu import *\nlaunch('k', 7); sync()\nprint('trained')\n"


class Places(gpu_support.GpuTestCase):
    def script(self, name, text, mode=0o755):
        path = self.folder / name
        path.write_text(textwrap.dedent(text))
        path.chmod(mode)
        return path

    def record(self, *command, cwd=None, options=(), **environment):
        return support.run(
            "record", *options, "--", *command, cwd=cwd or self.work,
            env=self.environment(preload=False, **environment),
        )

    def assert_trained(self, result, launches=7, processes=1, database=None):
        """It ran as ever, and run.db has every launch of every process that used the GPU."""
        # The ranks write at once: letters and line ends may come in any order.
        self.assertEqual(
            (result.code, sorted(result.stdout)), (0, sorted("trained\n" * processes)), result)
        database = database or self.work / "run.db"
        self.assertEqual(scalar(database, "SELECT count(*) FROM launch"), launches, result)
        self.assertEqual(scalar(database, "SELECT count(*) FROM process"), processes, result)

    def setUp(self):
        super().setUp()
        self.train = self.script("train.py", TRAIN)


class Launchers(Places):
    def ranks_of(self, tool, variables, command):
        """A launcher that starts two ranks at once, each with its variables."""
        return self.script(tool, f"""\
            #!{sys.executable}
            import os, subprocess, sys
            ranks = []
            for rank in range(2):
                variables = {{k: v.replace("RANK", str(rank)) for k, v in {variables!r}.items()}}
                ranks.append(subprocess.Popen(sys.argv[1:], env={{**os.environ, **variables}}))
            sys.exit(max(rank.wait() for rank in ranks))
            """), [*command]

    def test_mpirun_and_torchrun_in_front_of_the_script(self):
        """`record -- mpirun python train.py`: all local ranks are one run, each with its rank."""
        for tool, variables in (
            ("mpirun", {"PMIX_NAMESPACE": "job-1", "PMIX_RANK": "RANK",
                        "OMPI_COMM_WORLD_RANK": "RANK", "OMPI_COMM_WORLD_LOCAL_RANK": "RANK"}),
            ("torchrun", {"TORCHELASTIC_RUN_ID": "job-2", "RANK": "RANK", "LOCAL_RANK": "RANK",
                          "WORLD_SIZE": "2"}),
        ):
            with self.subTest(tool):
                launcher, _ = self.ranks_of(tool, variables, ())
                work = self.folder / f"work-{tool}"
                work.mkdir()
                result = self.record(launcher, sys.executable, self.train, cwd=work)
                self.assert_trained(result, 14, 2, work / "run.db")
                ranks = rows_of(work / "run.db", "SELECT rank FROM process ORDER BY rank")
                self.assertEqual([row["rank"] for row in ranks], [0, 1])

    def test_record_inside_srun_and_mpirun(self):
        """`srun xlatrace record -- python train.py`: every rank folds the same run.db."""
        for tool, variables in (
            ("srun", {"SLURM_JOB_ID": "9", "SLURM_STEP_ID": "0", "SLURM_PROCID": "RANK",
                      "SLURM_LOCALID": "RANK", "SLURM_NTASKS": "2"}),
            ("mpirun", {"PMIX_NAMESPACE": "job-3", "PMIX_RANK": "RANK"}),
        ):
            with self.subTest(tool):
                launcher, _ = self.ranks_of(tool, variables, ())
                work = self.folder / f"inside-{tool}"
                work.mkdir()
                result = support.run_command(
                    [launcher, support.PROGRAM, "record", "--", sys.executable, self.train],
                    cwd=work, env=self.environment(preload=False))
                # Two ranks write at once: letters and line ends may come in any order.
                self.assertEqual(
                    (result.code, sorted(result.stdout)), (0, sorted("trained\n" * 2)), result)
                self.assertEqual([], result.errors, result)
                # The first import may have missed the other process, which the next command adds.
                self.xlatrace("summary", "run.db", cwd=work)
                self.assertEqual(scalar(work / "run.db", "SELECT count(*) FROM launch"), 14, result)

    def test_each_rank_may_have_its_own_run(self):
        launcher, _ = self.ranks_of("srun", {"SLURM_JOB_ID": "9", "SLURM_STEP_ID": "0",
                                             "SLURM_PROCID": "RANK"}, ())
        result = support.run_command(
            [launcher, support.PROGRAM, "record", "-o", "run-%r.db", "--", sys.executable,
             self.train], cwd=self.work, env=self.environment(preload=False))
        self.assertEqual(result.code, 0, result)
        for rank in (0, 1):
            self.assertEqual(scalar(self.work / f"run-{rank}.db", "SELECT count(*) FROM launch"), 7)

    def test_python_m_is_recorded(self):
        package = self.folder / "mypackage"
        package.mkdir()
        (package / "__init__.py").write_text("")
        (package / "train.py").write_text(TRAIN)
        self.assert_trained(self.record(sys.executable, "-m", "mypackage.train"))

    def test_script_behind_a_pyenv_shim_is_recorded(self):
        """A shim is a shell script that calls other programs to select its Python."""
        shim = self.script("python", f"""\
            #!/usr/bin/env bash
            set -e
            version="$(printf '%s\\n' 3.11.7 | head -n 1)"
            PYENV_VERSION=$version exec bash -c 'exec "$0" "$@"' {shlex.quote(sys.executable)} "$@"
            """)
        result = self.record(shim, self.train)
        self.assert_trained(result)
        self.assertEqual([p.name for p in self.work.iterdir()], ["run.db"], result)

    def test_conda_run_and_uv_run_are_recorded(self):
        """They change PATH, prefixes and the library path, and start the script as their child."""
        tool = self.script("conda", f"""\
            #!{sys.executable}
            import os, subprocess, sys
            env = dict(os.environ, CONDA_PREFIX={str(self.folder)!r}, VIRTUAL_ENV={str(self.folder)!r})
            env["LD_LIBRARY_PATH"] = {str(self.folder)!r} + ":" + env["LD_LIBRARY_PATH"]
            env.pop("PYTHONPATH")
            env["PYTHONPATH"] = {str(self.folder)!r}
            sys.exit(subprocess.run(["bash", "-c", 'exec "$0" "$@"', *sys.argv[1:]], env=env).returncode)
            """)
        self.assert_trained(self.record(tool, sys.executable, self.train))

    def test_a_launcher_that_changes_its_folder(self):
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        tool = self.script("launch.sh", f"#!/bin/sh\ncd {shlex.quote(str(elsewhere))} && exec \"$@\"\n")
        self.assert_trained(self.record(tool, sys.executable, self.train))
        self.assertEqual(list(elsewhere.iterdir()), [])

    def test_launchers_of_other_machines_are_refused_with_the_right_command(self):
        """Nothing runs. The hint is the same command with `xlatrace record` inside."""
        messages = []
        for command in (
            "docker run --gpus all trainer python3 main.py",
            "podman run image python3.11 -m train",
            "srun -n 4 python train.py",
            "kubectl exec pod -- python 'my train.py'",
            "sudo -E /usr/bin/python3 train.py",
            "env A=1 timeout 60s nice -n 5 srun ./train.sh",
            "ssh host 'cd x && python train.py'",
            "/opt/bin/sbatch job",
        ):
            with self.subTest(command):
                result = self.record(*shlex.split(command))
                self.assertEqual((result.code, len(result.hints)), (2, 1), result)
                self.assertEqual(list(self.work.iterdir()), [])
                messages.append(f"$ xlatrace record -- {command}\n{result.stderr}")
        self.assert_golden_text("\n".join(messages))
        # A name that only looks like one.
        self.assert_trained(self.record(self.script("docker-train", f"#!/bin/sh\nexec {shlex.quote(sys.executable)} {shlex.quote(str(self.train))}")))


class Containers(Places):
    def test_first_process_of_a_container(self):
        """Process 1 of a namespace, without HOME and without an entry in /etc/passwd; it inherits orphans."""
        command = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]
        if subprocess.run([*command, "true"], capture_output=True).returncode != 0:
            self.skipTest("no namespaces here (unshare)")
        orphan = PYTHON + (
            "launch('k', 7); sync()\n"
            "if subprocess.Popen(['sh', '-c', 'sleep 0.1 & exit 0']).wait() == 0:"
            " print('trained')\n"
        )
        result = support.run_command(
            [*command, support.PROGRAM, "record", "--", *self.command(orphan)], cwd=self.work,
            env=self.environment(preload=False, HOME=None, USER=None, SHELL=None))
        self.assert_trained(result)

    def test_recording_belongs_to_the_recording_user(self):
        """The recording belongs to who records; sudo xlatrace record leaves root's."""
        if os.getuid() != 0:
            self.skipTest("needs root, to become somebody else")
        os.chown(self.work, 65534, 65534)
        for path in (self.folder, self.truth_folder):
            path.chmod(0o777)
        self.temporary.chmod(0o1777)  # As /tmp: no user may rename files of another.
        become = [sys.executable, "-c",
                  "import os, sys; os.setgid(65534); os.setuid(65534);"
                  " os.execv(sys.argv[1], sys.argv[1:])"]
        reachable = subprocess.run(
            [*become, "/usr/bin/test", "-x", support.PROGRAM]).returncode == 0
        if not reachable:
            self.skipTest("the build cannot be read by others")
        result = support.run_command(
            [*become, support.PROGRAM, "record", "--",
             *self.command("launch k x 7; sync; print trained")], cwd=self.work,
            env=self.environment(preload=False))
        self.assert_trained(result)
        self.assertEqual((self.work / "run.db").stat().st_uid, 65534)


class FileSystems(Places):
    def test_recording_in_a_read_only_folder_uses_the_fallback(self):
        """The preload reports its replacement folder; record reports it before the script runs."""
        if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0:
            self.skipTest("no mount namespaces here (unshare)")

        def read_only(command, **environment):
            work = shlex.quote(str(self.work))
            mount = f"mount --bind {work} {work} && mount -o remount,ro,bind {work}"
            # The preload comes last: where it first runs is where it records.
            env = shlex.join(f"{name}={value}" for name, value in environment.items())
            inner = f"{mount} && cd {work} && exec env {env} {shlex.join(map(str, command))}"
            return support.run_command(["unshare", "-m", "bash", "-c", inner],
                                       cwd=self.work, env=self.environment(preload=False))

        if read_only(["true"]).code != 0:
            self.skipTest("cannot mount here")
        result = read_only([sys.executable, self.train], LD_PRELOAD=gpu_support.preload_library())
        self.assertEqual((result.code, result.stdout), (0, "trained\n"), result)
        (recording,) = self.temporary.glob("xlatrace-*/run.rec")
        self.assertIn(str(recording), result.stderr)
        summary = self.xlatrace("summary", recording)
        self.assertEqual(summary.code, 0, summary)
        result = read_only([support.PROGRAM, "record", "--", sys.executable, self.train])
        self.assertEqual((result.code, result.stdout), (125, ""), result)
        self.assertTrue(any("-o FILE" in hint for hint in result.hints), result)
        elsewhere = self.folder / "elsewhere.db"
        result = read_only([support.PROGRAM, "record", "-o", elsewhere, "--", sys.executable,
                            self.train])
        self.assert_trained(result, database=elsewhere)

    def test_file_system_without_locks_is_usable(self):
        """NFS without a lock server: every lock is refused with ENOLCK."""
        if shutil.which("cc") is None:
            self.skipTest("no C compiler")
        source = self.script("nolocks.c", """\
            #define _GNU_SOURCE
            #include <errno.h>
            #include <fcntl.h>
            #include <stdarg.h>
            #include <sys/syscall.h>
            #include <unistd.h>
            int flock(int fd, int how) { (void)fd; (void)how; errno = ENOLCK; return -1; }
            static int refuse(int fd, int what, void* how) {
              if (what == F_SETLK || what == F_SETLKW || what == F_OFD_SETLK || what == F_GETLK) {
                errno = ENOLCK;
                return -1;
              }
              return (int)syscall(SYS_fcntl, fd, what, how);
            }
            int fcntl(int fd, int what, ...) {
              va_list list; va_start(list, what); void* how = va_arg(list, void*); va_end(list);
              return refuse(fd, what, how);
            }
            int fcntl64(int fd, int what, ...) {
              va_list list; va_start(list, what); void* how = va_arg(list, void*); va_end(list);
              return refuse(fd, what, how);
            }
            """)
        library = self.folder / "nolocks.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-w", "-o", library, source], check=True)
        env = self.environment(preload=False, LD_PRELOAD=library)
        result = support.run("record", "--", sys.executable, self.train, cwd=self.work, env=env)
        self.assert_trained(result)
        for command in (["summary", "run.db"], ["report", "run.db"],
                        ["query", "run.db", "SELECT count(*) FROM launch"]):
            result = support.run(*command, cwd=self.work, env=env)
            self.assertEqual(result.code, 0, result)


class Marks(Places):
    def test_steps_pause_and_resume_from_python(self):
        """The script's own count: three steps of two launches; work between pause and resume is absent."""
        package = pathlib.Path(support.PROGRAM).resolve().parents[1] / "share/xlatrace/python"
        script = PYTHON + textwrap.dedent("""
            import xlatrace
            launch("warm_up"); sync()
            xlatrace.pause()
            print(xlatrace.is_recording())
            launch("hidden", 5); sync()
            xlatrace.resume()
            print(xlatrace.is_recording())
            for step in range(3):
                xlatrace.mark_step()
                launch("k", 2); sync()
            """)
        result = self.record(*self.command(script), PYTHONPATH=f"{self.folder}:{package}")
        self.assertEqual((result.code, result.stdout), (0, "False\nTrue\n"), result)
        run = self.work / "run.db"
        self.assertEqual(scalar(run, "SELECT count(*) FROM launch WHERE kernel_name = 'k'"), 6)
        self.assertEqual(scalar(run, "SELECT count(*) FROM launch WHERE kernel_name = 'hidden'"), 0)
        steps = rows_of(run, "SELECT DISTINCT step, how FROM step ORDER BY step")
        self.assertEqual([(row["step"], row["how"]) for row in steps][:2],
                         [(0, "marked"), (1, "marked")])


class Notebooks(Places):
    """A kernel that stays alive: commands of xlatrace in a cell run under the preload as well."""

    KERNEL = PYTHON + textwrap.dedent("""
        def count(at_least):  # what was launched comes to the file in the collector's own time
            for _ in range(3000):  # support.HANG_S
                try:
                    with xlatrace.open("run.db") as run:
                        have = len(run.launches())
                except Exception:  # nothing to be folded yet
                    have = -1
                if have >= at_least: return have
                time.sleep(0.1)
        launch("k", 7); sync()
        import xlatrace
        print(count(7), flush=True)
        print(subprocess.run([xlatrace.program(), "report", "run.db"], capture_output=True).returncode,
              flush=True)
        launch("k", 3); sync()
        print(count(10), flush=True)
        time.sleep(600)
        """)

    def test_cells_that_open_their_own_run(self):
        package = pathlib.Path(support.PROGRAM).resolve().parents[1] / "share/xlatrace/python"
        kernel = self.started(self.KERNEL, PYTHONPATH=f"{self.folder}:{package}")
        try:
            self.assertEqual([kernel.stdout.readline().strip() for _ in range(3)],
                             [b"7", b"0", b"10"])
        finally:
            kernel.kill()
        self.assertTrue((self.work / "run.html").exists())
        losses = rows_of(self.work / "run.db", "SELECT cause FROM loss")
        self.assertIn("running", [row["cause"] for row in losses])

    def test_killed_notebook_kernel_keeps_its_recording(self):
        kernel = self.started(PYTHON + "launch('k', 7); sync(); time.sleep(600)\n")
        self.wait_for_rows(7)
        kernel.kill()
        kernel.wait()
        self.assertEqual(scalar(self.fold(), "SELECT count(*) FROM launch"), 7)


class Interruptions(Places):
    def test_ctrl_c_during_the_fold(self):
        """The recording stays and is reported; the next command completes the run."""
        for launches in (150000, 600000, 2400000):
            if self.interrupted_fold(launches):
                return
            self.setUp()
        self.fail("every fold ended before the interrupt")

    def interrupted_fold(self, launches):
        """False where the fold was over before it could be."""
        many = PYTHON + f"launch('k', {launches}); sync(); print('trained', flush=True)\n"
        process = subprocess.Popen(
            [support.PROGRAM, "record", "--", *self.command(many)], cwd=self.work,
            env=self.environment(preload=False), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, start_new_session=True)
        self.addCleanup(lambda: process.poll() is None and os.killpg(process.pid, 9))
        self.assertEqual(process.stdout.readline(), b"trained\n")
        deadline = time.monotonic() + support.HANG_S
        while not any(p.name.startswith((".run", "run.db")) for p in self.work.iterdir()):
            self.assertLess(time.monotonic(), deadline)
            if process.poll() is not None:
                break
        try:
            os.killpg(process.pid, signal.SIGINT)
        except ProcessLookupError:
            pass
        out, err = process.communicate(timeout=support.HANG_S)
        result = support.Result(process, out, err)
        if result.code == 0:
            return False
        self.assertEqual(result.code, 130, result)
        # The signal may come between the run's last step and the recording's removal.
        left = {p.name for p in self.work.iterdir()}
        self.assertIn(left, ({"run.rec"}, {"run.rec", "run.db"}), result)
        database = self.fold()
        self.assertEqual(scalar(database, "SELECT count(*) FROM launch"), launches)
        return True


class Helpers(Places):
    def test_helper_of_32_bits_runs_unrecorded(self):
        """A program that the preload cannot be loaded into runs as ever."""
        code = bytes.fromhex("b801000000bb07000000cd80")  # exit(7) by int 0x80
        base = 0x08048000
        header = struct.pack("<4sBBB9xHHIIIIIHHHHHH", b"\x7fELF", 1, 1, 1, 2, 3, 1, base + 84, 52, 0,
                             0, 52, 32, 1, 0, 0, 0)
        program = struct.pack("<IIIIIIII", 1, 0, base, base, 84 + len(code), 84 + len(code), 5, 4096)
        helper = self.folder / "helper32"
        helper.write_bytes(header + program + code)
        helper.chmod(0o755)
        try:
            if subprocess.run([helper]).returncode != 7:
                self.skipTest("this kernel does not run 32-bit programs as expected")
        except OSError as error:
            self.skipTest(f"this kernel does not run 32-bit programs: {error}")
        script = PYTHON + (
            f"assert subprocess.run([{str(helper)!r}]).returncode == 7\n"
            "launch('k', 7); sync(); print('trained')\n"
        )
        self.assert_trained(self.record(*self.command(script)))
        self.assertEqual(self.record(helper).code, 7)


del Places  # not a case of its own
if __name__ == "__main__":
    unittest.main()
