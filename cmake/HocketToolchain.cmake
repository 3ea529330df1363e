# Compiler cache, linker, warnings and hardening, as the interface target hocket_flags that every target here links.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

find_program(MOLD_PROGRAM mold)
if(MOLD_PROGRAM)
  add_link_options(-fuse-ld=mold)
endif()

# The sanitizer presets turn this off: code that they instrument makes GCC warn of what is not there.
option(HOCKET_WERROR "Treat warnings as errors" ON)

add_library(hocket_flags INTERFACE)
target_compile_options(hocket_flags INTERFACE -Wall -Wextra -Wshadow $<$<BOOL:${HOCKET_WERROR}>:-Werror>
                                              -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(hocket_flags INTERFACE -Wthread-safety)
endif()
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  target_compile_options(hocket_flags INTERFACE -fstack-protector-strong -fcf-protection)
  target_compile_definitions(hocket_flags INTERFACE _FORTIFY_SOURCE=2 _GLIBCXX_ASSERTIONS)
  target_link_options(hocket_flags INTERFACE LINKER:-z,relro,-z,now)
endif()
