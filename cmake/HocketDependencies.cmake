# What the libraries link, found the same way in this build and in a project that calls find_package(hocket).
include(CMakeFindDependencyMacro)

set(HOCKET_PACKAGES fmt OpenMP Dnnl hwy Xxhash ZLIB PNG JPEG nlohmann_json CLI11 tomlplusplus)
foreach(package IN LISTS HOCKET_PACKAGES)
  if(DEFINED CMAKE_FIND_PACKAGE_NAME)
    find_dependency(${package})
  else()
    find_package(${package} REQUIRED)
  endif()
endforeach()
