# Third parties, all from Debian's packages (scripts/packages.txt). Nothing is vendored.
# Imported targets are SYSTEM: their headers raise no warnings.

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(tl-expected REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(simdjson REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(LibArchive REQUIRED)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(re2 REQUIRED IMPORTED_TARGET re2)

find_path(PROTOZERO_INCLUDE_DIR protozero/pbf_reader.hpp REQUIRED)
add_library(protozero INTERFACE)
target_include_directories(protozero SYSTEM INTERFACE "${PROTOZERO_INCLUDE_DIR}")

if(XLATRACE_TESTS)
  find_package(GTest REQUIRED)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
endif()
if(XLATRACE_BENCHMARKS)
  find_package(benchmark REQUIRED)
endif()
