// SPDX-License-Identifier: Apache-2.0

// Writes a run.db without a single row: what schema_doc_test.py compares the documentation with.

#include <cstdio>

#include "store/run_saver.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::remove(argv[1]);
  auto saver = xlatrace::store::RunSaver::Create(argv[1]);
  if (!saver) return 1;
  xlatrace::store::RunBuilder empty(saver->beside());
  return saver->Save(empty) ? 0 : 1;
}
