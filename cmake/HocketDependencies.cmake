# What the libraries link, found the same way in this build and in a project that calls find_package(hocket).
include(CMakeFindDependencyMacro)

foreach(package fmt OpenMP hwy ZLIB PNG JPEG nlohmann_json CLI11 tomlplusplus OpenSSL SQLite3)
  if(DEFINED CMAKE_FIND_PACKAGE_NAME)
    find_dependency(${package})
  else()
    find_package(${package} REQUIRED)
  endif()
endforeach()

# hocket_find_library(TARGET LIBRARY HEADER): for a package without a CMake config, or, as oneDNN's, with one that
# insists on OpenCL.
function(hocket_find_library target library header)
  find_library(${library}_LIBRARY ${library} REQUIRED)
  find_path(${library}_INCLUDE_DIR ${header} REQUIRED)
  mark_as_advanced(${library}_LIBRARY ${library}_INCLUDE_DIR)
  if(NOT TARGET ${target})
    add_library(${target} UNKNOWN IMPORTED)
    set_target_properties(${target} PROPERTIES IMPORTED_LOCATION "${${library}_LIBRARY}"
                                               INTERFACE_INCLUDE_DIRECTORIES "${${library}_INCLUDE_DIR}")
  endif()
endfunction()

hocket_find_library(DNNL::dnnl dnnl dnnl.hpp)
hocket_find_library(xxHash::xxhash xxhash xxhash.h)
hocket_find_library(libdeflate::libdeflate deflate libdeflate.h)
hocket_find_library(httplib::httplib cpp-httplib httplib.h)
# As the library was built: its types depend on it.
set_target_properties(httplib::httplib PROPERTIES INTERFACE_COMPILE_DEFINITIONS CPPHTTPLIB_OPENSSL_SUPPORT)
