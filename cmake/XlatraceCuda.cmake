# SPDX-License-Identifier: Apache-2.0
# CUDA, CUPTI and NVTX headers for the collector and the fake GPU of the tests.
# Searched in XLATRACE_CUDA_INCLUDE_DIR, then .cuda/ (scripts/cuda_headers), then an installed toolkit.
# Without them all other components build, and XLATRACE_HAVE_CUDA_HEADERS is off.

set(XLATRACE_CUDA_INCLUDE_DIR "" CACHE PATH "Folder with cuda.h, cupti.h and nvtx3/")

find_path(XLATRACE_CUDA_INCLUDE cupti.h
  HINTS "${XLATRACE_CUDA_INCLUDE_DIR}" "${PROJECT_SOURCE_DIR}/.cuda/include"
        /usr/local/cuda/include /usr/local/cuda/extras/CUPTI/include
  NO_CACHE)
set(XLATRACE_HAVE_CUDA_HEADERS OFF)
if(XLATRACE_CUDA_INCLUDE AND EXISTS "${XLATRACE_CUDA_INCLUDE}/cuda.h"
   AND EXISTS "${XLATRACE_CUDA_INCLUDE}/nvtx3/nvToolsExtPayload.h")
  set(XLATRACE_HAVE_CUDA_HEADERS ON)
  add_library(xlatrace_cuda_headers INTERFACE)
  target_include_directories(xlatrace_cuda_headers SYSTEM INTERFACE "${XLATRACE_CUDA_INCLUDE}")
else()
  message(STATUS "xlatrace: no CUDA headers; the collector and its tests are not built "
                 "(scripts/cuda_headers fetches them, no toolkit needed)")
endif()
