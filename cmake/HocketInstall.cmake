# Install rules: the libraries as hocket::LAYER, their headers under include/hocket, and find_package(hocket).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(layers GLOBAL PROPERTY HOCKET_LAYERS)
foreach(layer IN LISTS layers)
  string(REPLACE "hocket_" "" name ${layer})
  set_target_properties(${layer} PROPERTIES EXPORT_NAME ${name})
endforeach()
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/hocket)
install(TARGETS ${layers} EXPORT hocketTargets
        FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/hocket
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/hocket)
install(EXPORT hocketTargets NAMESPACE hocket:: DESTINATION ${package_dir})

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/hocketConfig.cmake.in ${PROJECT_BINARY_DIR}/hocketConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/hocketConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/hocketConfig.cmake ${PROJECT_BINARY_DIR}/hocketConfigVersion.cmake
              ${PROJECT_SOURCE_DIR}/cmake/HocketDependencies.cmake
        DESTINATION ${package_dir})
