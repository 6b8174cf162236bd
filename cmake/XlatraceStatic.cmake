# SPDX-License-Identifier: Apache-2.0
# Third parties and the C++ runtime inside the program, so that one build runs on every Linux that
# has its glibc (GLIBC_2.34) and needs no package: what the wheel carries is what the tests ran.
# XLATRACE_STATIC=OFF links Debian's shared libraries instead, as a distribution wants it. Sanitized
# builds always do.

set(static_default ON)
if(XLATRACE_SANITIZE OR XLATRACE_FUZZERS)
  set(static_default OFF)
endif()
option(XLATRACE_STATIC "Link third parties and the C++ runtime into the program" ${static_default})

# What GCC's own archives ask of a newer glibc. Objects, not an archive: they must win over libc.so
# whatever the order on the command line.
add_library(xlatrace_old_glibc OBJECT "${PROJECT_SOURCE_DIR}/collector/old_glibc.cc")
set_target_properties(xlatrace_old_glibc PROPERTIES CXX_VISIBILITY_PRESET hidden)

# xlatrace_self_contained(TARGET): no libstdc++.so and no libgcc_s.so at run time, no glibc symbol
# newer than GLIBC_2.34.
function(xlatrace_self_contained target)
  if(XLATRACE_SANITIZE)
    return()
  endif()
  target_link_libraries(${target} PRIVATE xlatrace_old_glibc)
  target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc
    -Wl,--exclude-libs,ALL)
endfunction()

if(NOT XLATRACE_STATIC)
  return()
endif()

# The archives of Debian's -dev packages. What an archive needs of others comes after it.
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
