# SPDX-License-Identifier: Apache-2.0
# Links third parties and the C++ runtime into the program. So one build runs on every Linux with glibc
# 2.28 (2.34 without scripts/glibc_stubs) and needs no package. The wheel has the files that the tests ran.
# XLATRACE_STATIC=OFF links Debian's shared libraries instead, as distributions require. Sanitized
# builds always do.

set(static_default ON)
if(XLATRACE_SANITIZE OR XLATRACE_FUZZERS)
  set(static_default OFF)
endif()
option(XLATRACE_STATIC "Link third parties and the C++ runtime into the program" ${static_default})

# Functions that GCC's archives need of a newer glibc. Objects and not an archive, so that they precede
# libc.so in every order on the command line.
add_library(xlatrace_old_glibc OBJECT "${PROJECT_SOURCE_DIR}/collector/old_glibc.cc")
set_target_properties(xlatrace_old_glibc PROPERTIES CXX_VISIBILITY_PRESET hidden)

set(xlatrace_glibc_stubs "${PROJECT_SOURCE_DIR}/.glibc/${CMAKE_SYSTEM_PROCESSOR}")  # scripts/glibc_stubs
if(XLATRACE_STATIC AND NOT EXISTS "${xlatrace_glibc_stubs}/source")
  set(xlatrace_glibc_stubs "")
  message(STATUS "xlatrace: the program will need the glibc of this system, at least 2.34; scripts/glibc_stubs "
                 "lowers that to 2.28")
endif()

# xlatrace_old_glibc_link(TARGET): no glibc symbol newer than GLIBC_2.28 (without .glibc: 2.34).
function(xlatrace_old_glibc_link target)
  if(XLATRACE_STATIC AND xlatrace_glibc_stubs)
    # libpthread and libdl first: libc of that time has some of their functions too, without threads.
    target_link_options(${target} PRIVATE "-B${xlatrace_glibc_stubs}/" "-L${xlatrace_glibc_stubs}"
      "LINKER:--push-state,--no-as-needed" -lpthread -ldl -lm "LINKER:--pop-state")
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${xlatrace_glibc_stubs}/source")
  endif()
endfunction()

# xlatrace_self_contained(TARGET): no libstdc++.so and no libgcc_s.so at run time, and an old glibc.
function(xlatrace_self_contained target)
  if(XLATRACE_SANITIZE)
    return()
  endif()
  target_link_libraries(${target} PRIVATE xlatrace_old_glibc)
  target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc
    -Wl,--exclude-libs,ALL)
  xlatrace_old_glibc_link(${target})
endfunction()

if(NOT XLATRACE_STATIC)
  return()
endif()

# The archives of Debian's -dev packages. An archive precedes the archives that it depends on.
function(xlatrace_find_archive variable)
  set(archives)
  foreach(name IN LISTS ARGN)
    find_library(XLATRACE_ARCHIVE_${name} NAMES "lib${name}.a" REQUIRED)
    mark_as_advanced(XLATRACE_ARCHIVE_${name})
    list(APPEND archives "${XLATRACE_ARCHIVE_${name}}")
  endforeach()
  set(${variable} "${archives}" PARENT_SCOPE)
endfunction()

# xlatrace_use_archives(TARGET NAME...): the imported TARGET stands for these archives from now on.
function(xlatrace_use_archives target)
  xlatrace_find_archive(archives ${ARGN})
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
    set_target_properties(${target} PROPERTIES INTERFACE_LINK_LIBRARIES "${archives}")
  else()
    list(POP_FRONT archives first)
    set_target_properties(${target} PROPERTIES IMPORTED_LOCATION "${first}"
      INTERFACE_LINK_LIBRARIES "${archives};Threads::Threads;${CMAKE_DL_LIBS};m")
  endif()
endfunction()
