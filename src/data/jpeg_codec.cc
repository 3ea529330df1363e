#include "data/jpeg_codec.h"

#include <jerror.h>
#include <jpeglib.h>

#include <array>
#include <csetjmp>
#include <cstdio>
#include <string>

#include "base/error.h"

namespace hocket {
namespace {

// A block of 8 × 8 pixels takes at least a bit; a file that claims more pixels than this is cut or forged.
constexpr std::size_t kMaxJpegPixelsPerByte = 1024;
constexpr int kMaxScans = 200;

// libjpeg reports a fatal error through a function that must not return: it jumps back to decode_jpeg().
struct JpegErrors {
  jpeg_error_mgr manager{};
  std::jmp_buf back{};
  std::array<char, JMSG_LENGTH_MAX> message{};
};

[[noreturn]] void stop_decoding(j_common_ptr info) {
  auto* errors = reinterpret_cast<JpegErrors*>(info->err);
  info->err->format_message(info, errors->message.data());
  std::longjmp(errors->back, 1);
}

// Warnings are let pass, but for the one that the file ends too early.
void note_message(j_common_ptr info, int level) {
  if (level < 0 && info->err->msg_code == JWRN_JPEG_EOF) stop_decoding(info);
}

// Called as decoding goes on: a progressive file may paint the same pixels over and over.
void limit_scans(j_common_ptr info) {
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number <= kMaxScans) return;
  info->err->msg_code = JERR_BAD_PROGRESSION;
  stop_decoding(info);
}

// Frees what libjpeg holds, whatever happens.
struct JpegReader {
  jpeg_decompress_struct info{};
  JpegErrors errors;
  jpeg_progress_mgr progress{};

  JpegReader() {
    info.err = jpeg_std_error(&errors.manager);
    errors.manager.error_exit = stop_decoding;
    errors.manager.emit_message = note_message;
    progress.progress_monitor = limit_scans;
  }
  ~JpegReader() { jpeg_destroy_decompress(&info); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;
};

// What jumps may cross: nothing here has a destructor. Returns false on an error, with its message in
// `reader`.
bool decode_rows(JpegReader& reader, std::span<const std::byte> bytes, Image& image) {
  jpeg_decompress_struct& info = reader.info;
  if (setjmp(reader.errors.back) != 0) return false;
  jpeg_create_decompress(&info);
  info.progress = &reader.progress;
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(&info, TRUE);
  if (std::size_t{info.image_width} * std::size_t{info.image_height} > bytes.size() * kMaxJpegPixelsPerByte) {
    std::snprintf(reader.errors.message.data(), reader.errors.message.size(),
                  "%zu bytes cannot hold %u x %u pixels", bytes.size(), info.image_width, info.image_height);
    return false;
  }
  if (image.channels == 0) image.channels = info.num_components == 1 ? 1 : 3;
  info.out_color_space = image.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_start_decompress(&info);
  image.height = static_cast<int>(info.output_height);
  image.width = static_cast<int>(info.output_width);
  const std::size_t row_size =
      std::size_t{info.output_width} * static_cast<std::size_t>(info.output_components);
  image.pixels.resize(row_size * info.output_height);
  while (info.output_scanline < info.output_height) {
    JSAMPROW row = image.pixels.data() + row_size * info.output_scanline;
    jpeg_read_scanlines(&info, &row, 1);
  }
  jpeg_finish_decompress(&info);
  return true;
}

}  // namespace

bool is_jpeg(std::span<const std::byte> bytes) {
  return bytes.size() >= 3 && bytes[0] == std::byte{0xff} && bytes[1] == std::byte{0xd8} &&
         bytes[2] == std::byte{0xff};
}

Image decode_jpeg(std::string_view name, std::span<const std::byte> bytes, int channels) {
  JpegReader reader;
  Image image;
  image.channels = channels;
  if (!decode_rows(reader, bytes, image))
    throw DataError("{}: damaged JPEG: {}", name, reader.errors.message.data());
  return image;
}

}  // namespace hocket
