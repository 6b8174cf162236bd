# SPDX-License-Identifier: Apache-2.0
# xlatrace.h for programs in C and C++: the header alone, nothing to link (it finds the library that
# is preloaded, if any). For CMake: find_package(xlatrace), target xlatrace::xlatrace; for the rest:
# pkg-config xlatrace. Both find themselves from their own place, so that a prefix can be moved.

include(CMakePackageConfigHelpers)

set(xlatrace_cmake_folder "${CMAKE_INSTALL_LIBDIR}/cmake/xlatrace")
add_library(xlatrace_header INTERFACE)
set_target_properties(xlatrace_header PROPERTIES EXPORT_NAME xlatrace)
target_include_directories(xlatrace_header INTERFACE "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
target_link_libraries(xlatrace_header INTERFACE ${CMAKE_DL_LIBS})
install(TARGETS xlatrace_header EXPORT xlatrace-targets)
install(EXPORT xlatrace-targets NAMESPACE xlatrace:: DESTINATION "${xlatrace_cmake_folder}"
        FILE xlatrace-config.cmake)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/xlatrace-config-version.cmake"
  COMPATIBILITY SameMajorVersion ARCH_INDEPENDENT)
install(FILES "${PROJECT_BINARY_DIR}/xlatrace-config-version.cmake"
        DESTINATION "${xlatrace_cmake_folder}")

file(RELATIVE_PATH xlatrace_pc_to_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
configure_file("${CMAKE_CURRENT_LIST_DIR}/xlatrace.pc.in" "${PROJECT_BINARY_DIR}/xlatrace.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/xlatrace.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
install(FILES "${PROJECT_SOURCE_DIR}/include/xlatrace.h" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        OPTIONAL)
