# SPDX-License-Identifier: Apache-2.0
"""Host causes that wait: disk, network, sleep, lock, interpreter lock, data loaders, other processes."""

from cause import Cause
from planted.source import block


def slow_disk_read(rng):
    """Reads that bypass the page cache."""
    return Cause(
        kinds=("io", "input", "host"), data=True, work=400, imports="import mmap\nimport os",
        functions=f"""
def <fn>(descriptor, blocks, seed):
    place = random.Random(seed)
    page, total = mmap.mmap(-1, {rng.choice((4096, 8192))}), 0
    for _ in range(<WORK>):  #@hot
        os.preadv(descriptor, [page], 8192 * place.randrange(blocks))  #@hot
        total += page[0]  #@hot
    return np.float32(total * 1e-9)
""",
        setup=f"""
        blocks = {rng.randint(2000, 4000)}
        with open("samples.bin", "wb") as file:
            file.write(os.urandom(8192) * blocks)
            os.fsync(file.fileno())
        <v_descriptor> = os.open("samples.bin", os.O_RDONLY | os.O_DIRECT)
        """,
        call="extra = np.full(WIDTH, <entry>(<v_descriptor>, blocks, step), np.float32)")


def network_wait(rng):
    size = rng.randint(500, 4000)
    return Cause(
        kinds=("io", "input", "host"), data=True, work=30000, imports="import socket\nimport subprocess\nimport sys",
        functions="""
def <fn>(connection, size):
    connection.sendall(b"next")
    parts, left = [], size
    while left:  #@hot
        part = connection.recv(left)  #@hot
        parts.append(part)
        left -= len(part)
    return np.float32(sum(b"".join(parts)[:8]) * 1e-6)
""",
        setup="""
        server = subprocess.Popen([sys.executable, "<mod_server>.py"], stdout=subprocess.PIPE, text=True)
        <v_connection> = socket.create_connection(("127.0.0.1", int(server.stdout.readline())))
        """,
        call=f"extra = np.full(WIDTH, <entry>(<v_connection>, {size}), np.float32)",
        teardown="""
        <v_connection>.close()
        server.wait()
        """,
        files={"<mod_server>.py": f"""
            import socket
            import time

            listener = socket.create_server(("127.0.0.1", 0))
            print(listener.getsockname()[1], flush=True)
            connection, _ = listener.accept()
            while connection.recv(4):
                time.sleep(<WORK> / 1e6)
                connection.sendall(bytes({size}))
            """})


def time_sleep(rng):
    body = rng.choice((
        """
        time.sleep(<WORK> / 1e6)  #@hot
        return seed + 1
        """, """
        deadline = time.perf_counter() + <WORK> / 1e6
        while time.perf_counter() < deadline:  #@hot
            time.sleep(0.002)  #@hot
        return seed + 1
        """))
    return Cause(kinds=("sleep",), before=rng.random() < 0.5, work=30000, place="hot",
                 functions=f"def <fn>(seed):\n{block(body, 1)}\n", call="<v_rate> += <entry>(step) * 1e-9")


def gc_explicit(rng):
    body = rng.choice((
        """
        kept.pop(0)
        kept.append([step] * 3)
        gc.collect()  #@hot
        """, """
        if len(kept) > 10:
            del kept[0]
        freed = gc.collect()  #@hot
        kept.append((step, freed))
        """))
    shape = rng.choice(('[{"id": n, "tags": [n]} for n in range(<WORK>)]', "[[n, (n, [n])] for n in range(<WORK>)]"))
    return Cause(kinds=("gc",), before=rng.random() < 0.5, work=60000, imports="import gc",
                 functions=f"def <fn>(kept, step):\n{block(body, 1)}\n", setup=f"<v_kept> = {shape}",
                 call="<entry>(<v_kept>, step)")


def gc_automatic(rng):
    """Cyclic objects that live for some steps. Python starts its garbage collector itself."""
    return Cause(
        kinds=("gc",), data=True, work=20000, imports="import collections\nimport gc",
        functions="""
class <cls_node>:
    def __init__(self, parent, value):
        self.parent, self.children, self.value = parent, [], value


def <fn>(count):
    root = <cls_node>(None, 0)
    node = root
    for value in range(count):  #@hot
        child = <cls_node>(node, value)  #@hot
        node.children.append(child)  #@hot
        node = child if value % 7 else root  #@hot
    return root
""",
        setup=f"""
        gc.set_threshold(200, {rng.choice((2, 3))}, 2)
        <v_kept>, paused, since = collections.deque(maxlen={rng.randint(2, 4)}), [], []

        def <fn_clock>(phase, info):
            if phase == "start":
                since.append(time.perf_counter())
            else:
                paused.append((since[-1], time.perf_counter()))

        gc.callbacks.append(<fn_clock>)
        """,
        call="""
        <v_kept>.append(<entry>(<WORK>))
        extra = np.full(WIDTH, <v_kept>[-1].value, np.float32)
        """,
        related=("cls_node",),
        cost="sum(end - start for start, end in paused if start > begin)")


def lock(rng):
    hold = rng.choice((
        "time.sleep(<WORK> / 1e6)", """
        deadline = time.perf_counter() + <WORK> / 1e6
        while time.perf_counter() < deadline:
            os.fsync(file.fileno())
        """))
    guard = rng.choice((
        """
        with <v_lock>:  #@hot
            return shared[0] + step
        """, """
        <v_lock>.acquire()  #@hot
        shared[0] += 1
        value = shared[0]
        <v_lock>.release()
        return value
        """))
    return Cause(
        kinds=("lock",), before=rng.random() < 0.5, work=60000, place="hot", related=("fn_holder",),
        imports="import os\nimport threading",
        functions=f"""
<v_lock> = threading.Lock()


def <fn>(shared, step):
{block(guard, 1)}


def <fn_holder>(ended, file):
    while not ended.is_set():
        with <v_lock>:
{block(hold, 3)}
        time.sleep(0.002)
""",
        setup="""
        shared, ended, file = [0], threading.Event(), open("journal", "wb")
        holder = threading.Thread(target=<fn_holder>, args=(ended, file))
        holder.start()
        """,
        call="<v_rate> += <entry>(shared, step) * 1e-9",
        teardown="""
        ended.set()
        holder.join()
        """)


def gil(rng):
    """A thread computes in Python. The training thread needs the interpreter lock after each short hash."""
    work = rng.choice((
        """
        total = 0
        while not ended.is_set():  #@hot
            for number in range(2000):  #@hot
                total = (total * 31 + number) % 1000003  #@hot
        return total
        """, """
        counts = {}
        while not ended.is_set():  #@hot
            for number in range(2000):  #@hot
                counts[number % 97] = counts.get(number % 97, 0) + 1  #@hot
        return counts
        """))
    return Cause(
        kinds=("lock", "contention", "gil", "host"), data=True, work=6, place="fn_holder", related=("fn",),
        imports="import hashlib\nimport threading",
        functions=f"""
def <fn_holder>(ended):
{block(work, 1)}


def <fn>(data, step):
    total = 0
    for number in range(<WORK>):
        total += hashlib.sha256(data[step + number:]).digest()[0]
    return np.float32(total * 1e-9)
""",
        setup="""
        <v_data>, ended = bytes(200_000), threading.Event()
        helper = threading.Thread(target=<fn_holder>, args=(ended,))
        helper.start()
        """,
        call="extra = np.full(WIDTH, <entry>(<v_data>, step), np.float32)",
        teardown="""
        ended.set()
        helper.join()
        """)


def _loader(rng, body, processes, work):
    start = rng.choice(("fork", "spawn"))
    return Cause(
        kinds=("input",), data=True, work=work, place="hot", other_places=("fn_worker",), in_module=True,
        imports="import multiprocessing",
        functions=f"""
def <fn>(batches):
    return batches.get()  #@hot


def <fn_worker>(batches, seed):
    draw = random.Random(seed)
    while True:
{block(body, 2)}
        batches.put(np.full(8, draw.random() * 1e-6, np.float32))
""",
        prepare=f"""
        context = multiprocessing.get_context("{start}")
        <v_batches> = context.Queue({rng.randint(1, 3)})
        workers = [context.Process(target=<fn_worker>, args=(<v_batches>, number), daemon=True)
                   for number in range({processes})]
        for worker in workers:
            worker.start()
        """,
        call="""
        extra = np.zeros(WIDTH, np.float32)
        extra[:8] = <entry>(<v_batches>)
        """,
        teardown="""
        for worker in workers:
            worker.terminate()
            worker.join()
        """)


def starved_loader(rng):
    """One process makes the batches in Python and is slower than the training step."""
    return _loader(rng, """
        values = []
        for number in range(<WORK>):
            values.append((draw.random() * number) % 7.0)
    """, 1, 200000)


def too_few_workers(rng):
    """Each batch takes a long wait for remote storage; more processes would overlap these waits."""
    processes = rng.randint(1, 3)
    return _loader(rng, f"""
        time.sleep({processes} * <WORK> / 1e6)
    """, processes, 60000)


MAPPED = """
def <fn_map>({argument}):
    total = 0
    for number, letter in enumerate({text}):
        total = (total * 31 + {code} + number) % 1000003
    return np.float32(total * 1e-12)


def <fn>(batches):
    return {taken}  #@hot
"""


def grain_pipeline(rng):
    """A Python function of a Grain pipeline with one thread is slower than the training step."""
    return Cause(
        kinds=("input", "host"), data=True, needs="grain", imports="import grain", place="fn_map",
        other_places=("hot",), work=30000,
        functions=MAPPED.format(argument="text", text="text", code="ord(letter)", taken="next(batches)"),
        setup=f"""
        texts = ["".join(random.Random(n).choices("abcdefgh ", k=<WORK>)) for n in range(4)]
        rows = grain.MapDataset.source(texts).shuffle(seed={rng.randint(0, 9)}).repeat(1000).map(<fn_map>)
        <v_batches> = iter(rows.to_iter_dataset(grain.ReadOptions(num_threads=1, prefetch_buffer_size=1)))
        """,
        call="extra = np.full(WIDTH, <entry>(<v_batches>), np.float32)")


def tfdata_map(rng):
    """A Python function of a tf.data pipeline without parallel calls is slower than the training step."""
    return Cause(
        kinds=("input", "host"), data=True, needs="tensorflow", imports="import tensorflow as tf", place="fn_map",
        other_places=("hot",), work=30000,
        functions=MAPPED.format(argument="text", text="text", code="letter", taken="next(batches).numpy()"),
        setup=f"""
        texts = ["".join(random.Random(n).choices("abcdefgh ", k=<WORK>)) for n in range(4)]
        rows = tf.data.Dataset.from_tensor_slices(texts).repeat().shuffle({rng.randint(2, 9)})
        rows = rows.map(lambda text: tf.numpy_function(<fn_map>, [text], tf.float32)).prefetch(1)
        <v_batches> = iter(rows)
        """,
        call="extra = np.full(WIDTH, <entry>(<v_batches>), np.float32)")


def busy_machine(rng):
    """Two other processes compute. No code of the program is the cause."""
    return Cause(
        kinds=("contention",), place="", data=True, busy=2, imports="import glob",
        functions="""
def <fn>(values):
    total = 0.0
    for value in values:
        total += value * 0.5
    return np.float32(total * 1e-9)


def <fn_waited>():
    total = 0
    for path in glob.glob("/proc/self/task/*/schedstat"):
        try:
            with open(path) as file:
                total += int(file.read().split()[1])
        except (OSError, IndexError):
            continue
    return total / 1e9
""",
        setup="""
        <v_values> = [float(number) for number in range(<WORK>)]
        waited = <fn_waited>()
        """,
        call="extra = np.full(WIDTH, <entry>(<v_values>), np.float32)",
        cost="<fn_waited>() - waited")
