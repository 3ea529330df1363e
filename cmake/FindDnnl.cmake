# Finds oneDNN as DNNL::dnnl. The config file of Debian's package insists on OpenCL, which a CPU program never calls.
find_path(Dnnl_INCLUDE_DIR dnnl.hpp)
find_library(Dnnl_LIBRARY dnnl)
mark_as_advanced(Dnnl_INCLUDE_DIR Dnnl_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Dnnl REQUIRED_VARS Dnnl_LIBRARY Dnnl_INCLUDE_DIR)

if(Dnnl_FOUND AND NOT TARGET DNNL::dnnl)
  add_library(DNNL::dnnl UNKNOWN IMPORTED)
  set_target_properties(DNNL::dnnl PROPERTIES IMPORTED_LOCATION "${Dnnl_LIBRARY}"
                                              INTERFACE_INCLUDE_DIRECTORIES "${Dnnl_INCLUDE_DIR}")
endif()
