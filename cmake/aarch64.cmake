# SPDX-License-Identifier: Apache-2.0
# Toolchain for Linux on 64-bit Arm, from Debian: g++-aarch64-linux-gnu, the libraries of scripts/sysroot, and
# qemu-user-static, which runs the built programs (man pages, completion, tests).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_STRIP aarch64-linux-gnu-strip)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

get_filename_component(xlatrace_sysroot "${CMAKE_CURRENT_LIST_DIR}/../.sysroot/aarch64" ABSOLUTE)
set(CMAKE_FIND_ROOT_PATH "${xlatrace_sysroot}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
# BOTH: headers of CUDA and of simdjson are in the source folder.
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE BOTH)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} "${xlatrace_sysroot}")
set(ENV{PKG_CONFIG_LIBDIR}
    "${xlatrace_sysroot}/usr/lib/aarch64-linux-gnu/pkgconfig:${xlatrace_sysroot}/usr/share/pkgconfig")

find_program(XLATRACE_QEMU NAMES qemu-aarch64-static qemu-aarch64)
if(XLATRACE_QEMU)
  set(CMAKE_CROSSCOMPILING_EMULATOR "${XLATRACE_QEMU};-L;/usr/aarch64-linux-gnu")
endif()
