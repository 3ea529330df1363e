# Writes OUTPUT/HEADER and the .cc beside it, which hold the bytes of FILE as hocket::SYMBOL. See HocketEmbed.cmake.
cmake_path(REPLACE_EXTENSION HEADER .cc OUTPUT_VARIABLE source)
file(READ ${FILE} bytes HEX)
string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${bytes}")

file(WRITE ${OUTPUT}/${HEADER} "#pragma once

#include <string_view>

namespace hocket {

extern const std::string_view ${SYMBOL};

}  // namespace hocket
")
file(WRITE ${OUTPUT}/${source} "#include \"${HEADER}\"

namespace hocket {

static constexpr char ${SYMBOL}_bytes[] = {${bytes}};
const std::string_view ${SYMBOL}(${SYMBOL}_bytes, sizeof(${SYMBOL}_bytes));

}  // namespace hocket
")
