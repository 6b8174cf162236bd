# SPDX-License-Identifier: Apache-2.0
"""Makes Nsight Systems exports of XLA programs of which nothing is left but NVTX ranges.

A workload is a list of executions of programs; its truth is kept beside it, as (module, program id,
instruction, op_name) by correlation number. Tables are those of export schema 3.24.
"""

import sqlite3

START = 1_700_000_000_000_000_000
PID = 300
GLOBAL_PID = 1 << 48 | PID << 24
GLOBAL_TID = GLOBAL_PID | PID

TABLES = """
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);
CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, computeMajor INTEGER, computeMinor INTEGER,
  smCount INTEGER, threadsPerWarp INTEGER, maxWarpsPerSm INTEGER, clockRate INTEGER);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL,
  text TEXT, textId INTEGER, globalTid INTEGER, domainId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER,
  correlationId INTEGER, nameId INTEGER, returnValue INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER,
  contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,
  demangledName INTEGER, shortName INTEGER, mangledName INTEGER, registersPerThread INTEGER,
  gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER,
  staticSharedMemory INTEGER, dynamicSharedMemory INTEGER, graphNodeId INTEGER, graphId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, deviceId INTEGER,
  contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,
  graphId INTEGER, graphExecId INTEGER);
"""


class Export:
    """Executions one after the other on one thread and one stream."""

    def __init__(self, path):
        self.db = sqlite3.connect(path)
        self.db.executescript(TABLES)
        self.ids = {}
        self.host_ns = 1_000
        self.device_ns = 50_000
        self.correlation = 0
        self.truth = {}  # correlation -> (module, program id, instruction, op_name or None)
        self.rows = {}  # correlation of a graph-level row -> (module, program id)
        self.db.execute("INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (?)", (START,))
        self.db.execute(
            "INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.24.0')"
        )
        self.db.execute(
            "INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA GeForce RTX 5090', 12, 0, 170, 32, 48,"
            " 2407000000)"
        )
        self.db.execute(
            "INSERT INTO NVTX_EVENTS VALUES (0, NULL, 75, 'TSL', NULL, ?, 3)", (GLOBAL_TID,)
        )

    def string(self, text):
        if text not in self.ids:
            self.ids[text] = len(self.ids) + 1
            self.db.execute("INSERT INTO StringIds VALUES (?, ?)", (self.ids[text], text))
        return self.ids[text]

    def tick(self, ns=100):
        self.host_ns += ns
        return self.host_ns

    def range(self, text, start, end):
        self.db.execute(
            "INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, NULL, ?, ?, 3)",
            (start, end, self.string(text), GLOBAL_TID),
        )

    def call(self, name):
        self.correlation += 1
        start = self.tick()
        self.db.execute(
            "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, ?, 0)",
            (start, self.tick(50), GLOBAL_TID, self.correlation, self.string(name)),
        )
        return self.correlation

    def kernel(self, symbol, ns, grid=4):
        correlation = self.call("cuLaunchKernel")
        name = self.string(symbol)
        start, self.device_ns = self.device_ns, self.device_ns + ns + 10
        self.db.execute(
            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES"
            " (?, ?, 0, 1, 7, ?, ?, ?, ?, ?, 32, ?, 1, 1, 128, 1, 1, 0, 0, NULL, NULL)",
            (start, start + ns, correlation, GLOBAL_PID, name, name, name, grid),
        )
        return correlation

    def graph(self, ns):
        correlation = self.call("cuGraphLaunch")
        start, self.device_ns = self.device_ns, self.device_ns + ns + 10
        self.db.execute(
            "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (?, ?, 0, 1, 7, ?, ?, 9, 10)",
            (start, start + ns, correlation, GLOBAL_PID),
        )
        return correlation

    def thunk(self, module, op_name, instruction, body):
        """`body` launches what it launches inside the thunk's range."""
        start = self.tick()
        body()
        name = f"name={op_name}," if op_name else ""
        self.range(f"Thunk:#{name}hlo_op={instruction}#", start, self.tick())

    def launch(self, module, op_name, instruction, symbol, ns=1_000, grid=4):
        def body():
            correlation = self.kernel(symbol, ns, grid)
            full = module.prefix + "/" + op_name if module.prefix and op_name else op_name
            self.truth[correlation] = (module.name, module.program_id, instruction, full or None)

        self.thunk(module, op_name, instruction, body)

    def execute(self, module, body):
        start = self.tick()
        body()
        prefix = f"prefix={module.prefix}," if module.prefix else ""
        number = "" if module.program_id is None else f",program_id={module.program_id}"
        self.range(f"XlaModule:#{prefix}hlo_module={module.name}{number}#", start, self.tick())

    def close(self):
        self.db.commit()
        self.db.close()


class Module:
    def __init__(self, name, program_id, prefix=""):
        self.name, self.program_id, self.prefix = name, program_id, prefix


def training(path, steps=8):
    """Names with commas, '#', '=' and brackets, and a loop. The launches of a command buffer run one by one
    first and are a graph-level row later. Helpers have kernels with the same names."""
    export = Export(path)
    step = Module("jit_step", 186)
    helper = Module("jit_convert", 12)
    inner = Module("jit_inner", 190, "jit(inner)/jit(main)")
    tensorflow = Module("a_inference_train_step_1585__XlaMustCompile_true_.683", 77)

    def main(number):
        export.launch(step, "jit(step)/jvp(mlp)/dot_general", "gemm_fusion_dot.3",
                      "gemm_fusion_dot_3", 4_000)
        for _ in range(3):
            export.launch(step, "jit(step)/while/body/add", "loop_add_fusion.1",
                          "loop_add_fusion_1")
        export.launch(step, "jit(step)/jvp(attn)/bqhd,bkhd->bhqk/dot_general",
                      "cublas-gemm.2", "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n", 3_000)
        export.launch(step, "jit(step)/scope,hlo_op=no#1=2/[x]/mul", "loop_multiply_fusion",
                      "loop_multiply_fusion")
        export.launch(step, "", "copy.28", "copy_28", 300)
        export.launch(step, "jit(step)/transpose(jvp(mlp))/mul", "loop_add_fusion", "loop_add_fusion")

        def command_buffer():
            if number == 0:  # One by one, the first time.
                export.launch(step, "jit(step)/opt/sub", "loop_subtract_fusion.1",
                              "loop_subtract_fusion_1", 3_000)
                export.launch(step, "jit(step)/opt/div", "loop_divide_fusion",
                              "loop_divide_fusion", 1_000)
            else:
                correlation = export.graph(3_900)
                export.rows[correlation] = (step.name, step.program_id)

        export.thunk(step, "", "command_buffer_1", command_buffer)

    for number in range(steps):
        export.execute(helper, lambda: export.launch(
            helper, "jit(convert)/convert_element_type", "loop_add_fusion.1", "loop_add_fusion_1",
            200))
        export.execute(step, lambda number=number: main(number))
        export.execute(inner, lambda: export.launch(
            inner, "add", "loop_add_fusion", "loop_add_fusion", 150))
        export.execute(tensorflow, lambda: export.launch(
            tensorflow, "gradient_tape/dense/MatMul", "fusion.4", "fusion_4", 250))
    export.close()
    return export
