// Writes a run.db without a single row: what schema_doc_test.py compares the documentation with.

#include <cstdio>

#include "store/run_writer.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::remove(argv[1]);
  auto writer = xlatrace::store::RunWriter::Create(argv[1]);
  return writer && (*writer)->Finish() ? 0 : 1;
}
