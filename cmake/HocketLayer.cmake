# hocket_layer(NAME [ALONE] [COLD] [DEPENDS layer...] [LINKS target...] [TEST_HEADERS file...])
#
# Declares the layer in the current folder: a library hocket_NAME of every .cc file, but for
#   *_test.cc   which together make the test program hocket_NAME_test (with HOCKET_TESTS),
#   *_fuzz.cc   which make one fuzz program each, named after the file (with HOCKET_FUZZ),
#   main.cc     which hocket_program() takes.
# Its headers are installed, but for TEST_HEADERS, which only tests include. Each source of an ALONE layer is a unit of
# its own. No step of training waits for the code of a COLD layer, which is compiled faster and less well.
function(hocket_layer name)
  cmake_parse_arguments(ARG "ALONE;COLD" "" "DEPENDS;LINKS;TEST_HEADERS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS *.cc)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS *.h)
  set(tests ${sources})
  set(fuzzers ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER fuzzers INCLUDE REGEX "_fuzz\\.cc$")
  list(FILTER sources EXCLUDE REGEX "(_test|_fuzz|/main)\\.cc$")
  list(TRANSFORM ARG_DEPENDS PREPEND hocket_)
  list(TRANSFORM ARG_TEST_HEADERS PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  list(REMOVE_ITEM headers ${ARG_TEST_HEADERS})

  hocket_layer_library(hocket_${name} "${sources}" "${headers}" ${ARG_DEPENDS} ${ARG_LINKS})
  if(ARG_ALONE)
    set_target_properties(hocket_${name} PROPERTIES UNITY_BUILD OFF)
  elseif(HOCKET_TIDY)
    hocket_check_alone(hocket_${name} ${sources})
  endif()
  if(ARG_COLD)
    target_compile_options(hocket_${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  if(HOCKET_TESTS AND tests)
    hocket_layer_tests(hocket_${name} ${tests})
  endif()
  if(HOCKET_FUZZ)
    foreach(fuzzer IN LISTS fuzzers)
      hocket_fuzz_target(hocket_${name} ${fuzzer})
    endforeach()
  endif()
endfunction()

function(hocket_layer_library target sources headers)
  if(NOT sources)  # A layer that only has headers so far.
    set(sources ${CMAKE_CURRENT_BINARY_DIR}/empty.cc)
    file(TOUCH ${sources})
  endif()
  add_library(${target} STATIC ${sources})
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_link_libraries(${target} PUBLIC ${ARGN} PRIVATE $<BUILD_INTERFACE:hocket_flags>)
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/src FILES ${headers})
  set_property(GLOBAL APPEND PROPERTY HOCKET_LAYERS ${target})
  hocket_tidy(${target})
endfunction()

# That each source includes what it uses, which units of several do not show: it is looked at alone, and made nothing of
# but an empty file that says when.
function(hocket_check_alone library)
  add_library(${library}_alone OBJECT ${ARGN})
  set_target_properties(${library}_alone PROPERTIES UNITY_BUILD OFF RULE_LAUNCH_COMPILE "touch <OBJECT> &&")
  target_compile_options(${library}_alone PRIVATE -fsyntax-only)
  target_include_directories(${library}_alone PRIVATE $<TARGET_PROPERTY:${library},INCLUDE_DIRECTORIES>)
  target_link_libraries(${library}_alone PRIVATE ${library})
  add_dependencies(${library}_alone ${library})  # Which makes headers.
endfunction()

function(hocket_layer_tests library)
  add_executable(${library}_test ${ARGN})
  target_link_libraries(${library}_test PRIVATE ${library} hocket_flags GTest::gmock GTest::gtest_main rapidcheck
                                                 rapidcheck_gtest)
  # Tests wait for the compiler longer than for themselves.
  target_compile_options(${library}_test PRIVATE $<$<CONFIG:Release>:-O1>)
  gtest_discover_tests(${library}_test DISCOVERY_MODE PRE_TEST
                       PROPERTIES LABELS unit TIMEOUT 120 DISCOVERY_TIMEOUT 60)
endfunction()

function(hocket_fuzz_target library source)
  cmake_path(GET source STEM name)
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE ${library} hocket_flags)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzz)
endfunction()

# hocket_program(NAME): the executable NAME of main.cc in the current folder and the layer of that folder, left at the
# top of the build folder.
function(hocket_program name)
  cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME layer)
  if(NOT EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/main.cc)
    message(STATUS "No src/${layer}/main.cc: the program ${name} is left out")
    return()
  endif()
  add_executable(${name} main.cc)
  target_link_libraries(${name} PRIVATE hocket_${layer} hocket_flags)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  hocket_tidy(${name})
  install(TARGETS ${name})
endfunction()

function(hocket_tidy target)
  if(HOCKET_TIDY)
    find_program(CLANG_TIDY_PROGRAM NAMES clang-tidy-14 clang-tidy REQUIRED)
    set_target_properties(${target} PROPERTIES CXX_CLANG_TIDY "${CLANG_TIDY_PROGRAM};--quiet")
  endif()
endfunction()

if(HOCKET_TESTS)
  find_package(GTest REQUIRED)
  find_package(rapidcheck REQUIRED)
  include(GoogleTest)
endif()
