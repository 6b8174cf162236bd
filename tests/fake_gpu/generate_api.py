#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the fake driver's API surface from NVIDIA's own headers. So every cu* function of cuda.h exists,
with its signature, callback id and parameter struct, and none is typed by hand.

usage: generate_api.py COMPILER INCLUDE_DIR OUT_H OUT_CC

OUT_H declares fakegpu::impl::NAME for every function (the fake's own code defines the ones it
simulates); OUT_CC has the exported functions, a weak "not supported" body for all others, and the
table behind cuGetProcAddress.
"""

import re
import subprocess
import sys
from collections import defaultdict

SUFFIXES = ("_ptsz", "_ptds")
# Calls that work before cuInit, and that are not reported to tools.
UNCHECKED = {"cuInit", "cuDriverGetVersion", "cuGetErrorString", "cuGetErrorName",
             "cuGetProcAddress", "cuGetProcAddress_v2", "cuGetExportTable",
             "cuModuleGetLoadingMode"}
# Declared in cudaProfiler.h, which is older than the convention of cuda.h.
EXTRA = [("cuProfilerInitialize", "const char *configFile, const char *outputFile, int outputMode"),
         ("cuProfilerStart", "void"), ("cuProfilerStop", "void")]


def preprocess(compiler, include, text):
    return subprocess.run([compiler, "-E", "-P", "-D__CUDA_API_VERSION_INTERNAL", "-I", include,
                           "-xc", "-"], input=text, capture_output=True, text=True,
                          check=True).stdout


def split_parameters(text):
    """[(declaration, name)] of a C parameter list."""
    text = text.strip()
    if text in ("", "void"):
        return []
    found, depth, start = [], 0, 0
    for i, c in enumerate(text + ","):
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            found.append(text[start:i].strip())
            start = i + 1
    named = []
    for i, declaration in enumerate(found):
        match = re.search(r"\(\s*\*\s*(\w+)\s*\)", declaration)
        if match:
            name = match.group(1)
        else:
            match = re.search(r"(\w+)\s*(\[[^\]]*\])?$", declaration)
            name = match.group(1)
            if name == declaration or re.search(r"[*\s]$", declaration) or \
                    re.fullmatch(r"(unsigned\s+)?(int|long|char|size_t)", declaration):
                name = f"unnamed{i}"
                declaration = f"{declaration} {name}"
        named.append((declaration, name))
    return named


def functions(text):
    flat = re.sub(r"\s+", " ", text)
    found = {}
    for match in re.finditer(r"CUresult (cu[A-Z]\w*) ?\(", flat):
        depth, i = 1, match.end()
        while depth:
            depth += (flat[i] == "(") - (flat[i] == ")")
            i += 1
        if flat[i:i + 2].strip().startswith(";"):
            found[match.group(1)] = split_parameters(flat[match.end():i - 1])
    return found


def enumerators(path, prefix):
    with open(path, encoding="utf-8") as file:
        return {m.group(1): int(m.group(2))
                for m in re.finditer(prefix + r"(\w+)\s*=\s*(\d+)", file.read())}


def base_of(name):
    for suffix in SUFFIXES:
        if name.endswith(suffix):
            return name[:-len(suffix)]
    return name


def versions(typedefs):
    """(base name without _vN, suffix) -> sorted CUDA versions in which a form of it appeared."""
    found = defaultdict(set)
    for match in re.finditer(r"PFN_(cu\w+?)_v(\d{4,5})(_ptsz|_ptds)?\)", typedefs):
        found[(match.group(1), match.group(3) or "")].add(int(match.group(2)))
    return {name: sorted(all_of) for name, all_of in found.items()}


def lookup_table(names, introduced):
    """[(base, version, symbol)] with one row per symbol, per-thread forms included."""
    families = defaultdict(list)
    for name in names:
        plain = base_of(name)
        match = re.fullmatch(r"(cu\w+?)_v(\d)", plain)
        families[(match.group(1) if match else plain, name[len(plain):])].append(
            (int(match.group(2)) if match else 1, name))
    rows = []
    for (base, suffix), forms in sorted(families.items()):
        known = introduced.get((base, suffix), [])
        for i, (_, name) in enumerate(sorted(forms)):
            # The newest forms match the newest versions; an old form that cudaTypedefs.h no longer
            # lists is as old as CUDA.
            at = len(known) - len(forms) + i
            rows.append((base, known[at] if at >= 0 else 2000, name))
    return rows


def main():
    compiler, include, out_h, out_cc = sys.argv[1:]
    found = functions(preprocess(compiler, include, "#include <cuda.h>\n"))
    for name, parameters in EXTRA:
        found.setdefault(name, split_parameters(parameters))
    typedefs = preprocess(compiler, include, "#include <cudaTypedefs.h>\n")
    with open(include + "/generated_cuda_meta.h", encoding="utf-8") as file:
        structs = set(re.findall(r"\}\s*(cu\w+)_params;", file.read()))
    ids = enumerators(include + "/cupti_driver_cbid.h", "CUPTI_DRIVER_TRACE_CBID_")
    if len(found) < 500:
        sys.exit(f"only {len(found)} functions found in {include}/cuda.h")

    header = ["// Generated by generate_api.py from cuda.h. One declaration per driver function.",
              "#ifndef FAKE_GPU_GENERATED_API_H_", "#define FAKE_GPU_GENERATED_API_H_", "",
              "#include <cuda.h>", "", "namespace fakegpu::impl {", ""]
    source = ["// Generated by generate_api.py from cuda.h.", '#include "fake_gpu_api.h"', "",
              "#include <generated_cuda_meta.h>", "", '#include "driver/call.h"', "",
              "namespace fakegpu::impl {"]
    for name in sorted(found):
        if base_of(name) != name and base_of(name) in found:
            continue
        declared = ", ".join(d for d, _ in found[name]) or "void"
        header.append(f"CUresult {name}({declared});")
        unnamed = re.sub(r"\b(\w+)\b(?=\s*(,|\)|$|\[))", r"\1", declared)
        source.append(f"__attribute__((weak)) CUresult {name}({unnamed}) "
                      f'{{ return NotSupported("{name}"); }}')
    header += ["", "}  // namespace fakegpu::impl", "", "#endif  // FAKE_GPU_GENERATED_API_H_", ""]
    source += ["}  // namespace fakegpu::impl", "", 'extern "C" {']

    for index, name in enumerate(sorted(found)):
        parameters = found[name]
        declared = ", ".join(d for d, _ in parameters) or "void"
        given = ", ".join(n for _, n in parameters)
        target = base_of(name) if base_of(name) in found else name
        flags = []
        if target != name or name.endswith(SUFFIXES):
            flags.append("kPerThreadStream")
        if name in UNCHECKED:
            flags.append("kUnchecked")
        source += [f"FAKE_GPU_EXPORT CUresult {name}({declared}) {{",
                   f'  fakegpu::Call call({index}, {ids.get(name, 0)}, "{name}", '
                   f'{" | ".join("fakegpu::" + f for f in flags) or "0"});',
                   "  if (!call.go()) return call.result();"]
        if name in structs and parameters:
            cast = ", ".join(f"(decltype({name}_params::{field}))({n})" for field, (_, n) in
                             zip(struct_fields(include, name), parameters))
            source += ["  if (call.observed()) {",
                       f"    {name}_params params = {{{cast}}};",
                       "    call.Enter(&params);",
                       f"    if (!call.failed()) call.set_result(fakegpu::impl::{target}({given}));",
                       "    call.Exit();",
                       "    return call.result();",
                       "  }"]
        else:
            source += ["  if (call.observed()) {",
                       "    call.Enter(nullptr);",
                       f"    if (!call.failed()) call.set_result(fakegpu::impl::{target}({given}));",
                       "    call.Exit();",
                       "    return call.result();",
                       "  }"]
        source += [f"  return fakegpu::impl::{target}({given});", "}"]
    source += ['}  // extern "C"', "", "namespace fakegpu {",
               f"const int kFunctionCount = {len(found)};",
               "const Function kFunctions[] = {"]
    introduced = versions(typedefs)
    rows = {symbol: (base, version) for base, version, symbol in lookup_table(found, introduced)}
    for name in sorted(found):
        base, version = rows[name]
        per_thread = "true" if name.endswith(SUFFIXES) else "false"
        source.append(f'    {{"{name}", "{base}", {version}, {per_thread}, '
                      f"reinterpret_cast<void*>(&::{name})}},")
    source += ["};", "}  // namespace fakegpu", ""]

    for path, lines in ((out_h, header), (out_cc, source)):
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines))


def struct_fields(include, name, cache=None):
    if cache is None:
        cache = {}
    if not cache:
        with open(include + "/generated_cuda_meta.h", encoding="utf-8") as file:
            for body, owner in re.findall(r"typedef struct \w+ \{(.*?)\}\s*(cu\w+)_params;",
                                          file.read(), re.S):
                cache[owner] = [re.search(r"(\w+)\s*(\[[^\]]*\])?$", line.strip()).group(1)
                                for line in body.split(";") if line.strip()]
    return cache[name]


if __name__ == "__main__":
    main()
