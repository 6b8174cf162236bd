# SPDX-License-Identifier: Apache-2.0
# Language level, warnings, sanitizers and helpers for the CMakeLists.txt of each component.

option(XLATRACE_TESTS "Build the tests" ON)
option(XLATRACE_BENCHMARKS "Build the benchmarks (needs Google Benchmark)" OFF)
option(XLATRACE_FUZZERS "Build the libFuzzer targets (needs clang)" OFF)
# Off in the sanitizer presets: in instrumented code, GCC 12 falsely reports uninitialised values
# inside std::regex and std::function. The release build stays strict.
option(XLATRACE_WERROR "Treat warnings in our own code as errors" ON)
# Several sources of a component in one translation unit: headers are read and templates instantiated once for
# all of them, which halves a first build. A change to one source compiles its neighbours too, so the dev
# preset switches it off. Names in anonymous namespaces must differ within a component's namespace.
option(XLATRACE_UNITY "Compile sixteen or twenty-four sources of a component at a time" ON)
set(CMAKE_UNITY_BUILD_BATCH_SIZE 16)
set(XLATRACE_SANITIZE "" CACHE STRING "Sanitizers: empty, 'address,undefined' or 'thread'")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
# -O3 takes a tenth longer to compile and makes no command faster. COLD components (xlatrace_component) get -O1.
string(REPLACE "-O3" "-O2" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_C_COMPILER_LAUNCHER "${CCACHE_PROGRAM}")
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CCACHE_PROGRAM}")
endif()

add_library(xlatrace_options INTERFACE)
target_include_directories(xlatrace_options INTERFACE "${PROJECT_SOURCE_DIR}")
# -Wrestrict: false positives on std::string in GCC 12 (GCC bug 105651).
target_compile_options(xlatrace_options INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wno-missing-field-initializers -Wnon-virtual-dtor -Woverloaded-virtual $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  $<$<BOOL:${XLATRACE_WERROR}>:-Werror>)
# GCC collects its garbage from 128 MB on, a tenth of the time of our units; they need less than 1 GB.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(xlatrace_options INTERFACE
    "$<$<COMPILE_LANGUAGE:CXX>:SHELL:--param ggc-min-heapsize=1000000>")
endif()
if(XLATRACE_SANITIZE)
  target_compile_options(xlatrace_options INTERFACE
    -fsanitize=${XLATRACE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  # Checks that are a third of the code and of the compiler's time. AddressSanitizer also finds null;
  # vptr checks every call of a virtual function, and our code has no such casts.
  if(XLATRACE_SANITIZE MATCHES "undefined")
    target_compile_options(xlatrace_options INTERFACE -fno-sanitize=null,vptr,object-size)
  endif()
  target_link_options(xlatrace_options INTERFACE -fsanitize=${XLATRACE_SANITIZE})
endif()
if(XLATRACE_FUZZERS)
  target_compile_options(xlatrace_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

# xlatrace_component(NAME [COLD] [BATCH 24] SOURCES a.cc b.cc DEPENDS model third::party)
# One static library per component; DEPENDS names other components by folder. COLD: built with -O1, in two
# thirds of the time, because commands spend their time elsewhere. With six COLD components (41 % of compile
# time), valgrind counts 0.8 % more instructions in report, 0.6 % in summary, none in import.
function(xlatrace_component name)
  cmake_parse_arguments(ARG "COLD" "BATCH" "SOURCES;DEPENDS" ${ARGN})
  set(batch ${CMAKE_UNITY_BUILD_BATCH_SIZE})
  if(ARG_BATCH)
    set(batch ${ARG_BATCH})
  endif()
  add_library(xlatrace_${name} STATIC ${ARG_SOURCES})
  if(ARG_COLD)
    target_compile_options(xlatrace_${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  set_target_properties(xlatrace_${name} PROPERTIES UNITY_BUILD ${XLATRACE_UNITY} UNITY_BUILD_BATCH_SIZE ${batch})
  set(libraries)
  foreach(dependency IN LISTS ARG_DEPENDS)
    if(dependency MATCHES "^[a-z]+$")
      list(APPEND libraries xlatrace_${dependency})
    else()
      list(APPEND libraries ${dependency})
    endif()
  endforeach()
  target_link_libraries(xlatrace_${name} PUBLIC ${libraries} PRIVATE xlatrace_options)
  target_include_directories(xlatrace_${name} PUBLIC "${PROJECT_SOURCE_DIR}")
endfunction()
