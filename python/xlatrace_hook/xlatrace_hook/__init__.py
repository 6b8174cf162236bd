# SPDX-License-Identifier: Apache-2.0
"""Starts and stops the profiler of a machine-learning framework.

If the machine has no NVIDIA GPU, `xlatrace record` puts the folder above this package on PYTHONPATH.
So `sitecustomize` installs the hook in every Python process of the job. Its parts:

    install.py      reads the settings; waits for `import jax` and `import tensorflow`
    post_import.py  ... by a finder that calls back once a module has been executed
    hook.py         what happens at that moment: joins the pieces below
    jax_profiler.py, tensorflow_profiler.py
                    one framework each: when its runtime is up, how a profile starts and stops
    tensorflow_import.py, quiet_log.py
                    what those two need to stay unnoticed
    recorder.py     at most one profile at a time; pause, resume, finish; which process owns it
    script_profiler.py
                    gives way while the script profiles itself
    limits.py       ends the profile after so many seconds, or so much memory
    exits.py        ends it when the process ends: atexit, os._exit, exec
    signals.py      ... or when a signal ends it
    stacks.py       samples the stacks of Python threads meanwhile
    status.py       the folder of this process, and status.json in it

There is no other logic here: what the profile means is found out by the `xlatrace` program.
"""
