# hocket_embed(TARGET SYMBOL HEADER FILE)
#
# Embeds FILE in TARGET as `extern const std::string_view hocket::SYMBOL`, declared in the generated HEADER (a path
# as it is included, such as report/chart_js.h).
function(hocket_embed target symbol header file)
  set(generated ${PROJECT_BINARY_DIR}/generated)
  cmake_path(REPLACE_EXTENSION header .cc OUTPUT_VARIABLE source)
  add_custom_command(
    OUTPUT ${generated}/${header} ${generated}/${source}
    COMMAND ${CMAKE_COMMAND} -D SYMBOL=${symbol} -D FILE=${file} -D HEADER=${header} -D OUTPUT=${generated}
            -P ${PROJECT_SOURCE_DIR}/cmake/embed_file.cmake
    DEPENDS ${file} ${PROJECT_SOURCE_DIR}/cmake/embed_file.cmake
    COMMENT "Embedding ${file} as hocket::${symbol}"
    VERBATIM)
  target_sources(${target} PRIVATE ${generated}/${source} ${generated}/${header})
  target_include_directories(${target} PRIVATE ${generated})
endfunction()
