// The only source that knows MPI: the functions of net/mpi_table.h over whatever MPI it is compiled with.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>

#include "net/mpi_table.h"

namespace hocket {

struct MpiWorld {
  MPI_Comm communicator = MPI_COMM_NULL;
  bool is_ours = false;  // We initialised MPI, so we finalise it.
};

namespace {

// Codes of our own, beside MPI's, which are not negative.
constexpr int kTooFewThreads = -1;
constexpr int kAlreadyFinalised = -2;
constexpr int kNoMemory = -3;

static_assert(sizeof(MPI_Request) <= sizeof(MpiRequest));

// MPI's null request need not have the bits of 0.
MpiRequest to_bits(MPI_Request request) {
  if (request == MPI_REQUEST_NULL) return 0;
  MpiRequest bits = 0;
  std::memcpy(&bits, &request, sizeof(request));
  return bits;
}

MPI_Request from_bits(MpiRequest bits) {
  if (bits == 0) return MPI_REQUEST_NULL;
  MPI_Request request;
  std::memcpy(&request, &bits, sizeof(request));
  return request;
}

const char* library() {
  static char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  text[std::strcspn(text, ",\n")] = '\0';
  return text;
}

void error_text(int code, char* text, std::size_t bytes) {
  switch (code) {
    case kTooFewThreads: std::snprintf(text, bytes, "it does not let several threads call it"); return;
    case kAlreadyFinalised:
      std::snprintf(text, bytes, "it has been finalised and cannot start again");
      return;
    case kNoMemory: std::snprintf(text, bytes, "out of memory"); return;
    default: break;
  }
  char words[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (MPI_Error_string(code, words, &length) != MPI_SUCCESS)
    std::snprintf(words, sizeof(words), "error %d", code);
  std::snprintf(text, bytes, "%s", words);
}

int start_mpi(bool& is_ours) {
  int finalised = 0;
  int initialised = 0;
  int threads = MPI_THREAD_SINGLE;
  MPI_Finalized(&finalised);
  if (finalised != 0) return kAlreadyFinalised;
  MPI_Initialized(&initialised);
  is_ours = initialised == 0;
  const int code =
      is_ours ? MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &threads) : MPI_Query_thread(&threads);
  if (code != MPI_SUCCESS) return code;
  if (threads == MPI_THREAD_MULTIPLE) return MPI_SUCCESS;
  if (is_ours) MPI_Finalize();
  return kTooFewThreads;
}

int initialise(MpiWorld** out) {
  auto* world = new (std::nothrow) MpiWorld;
  if (world == nullptr) return kNoMemory;
  int code = start_mpi(world->is_ours);
  if (code == MPI_SUCCESS) code = MPI_Comm_dup(MPI_COMM_WORLD, &world->communicator);
  if (code == MPI_SUCCESS) code = MPI_Comm_set_errhandler(world->communicator, MPI_ERRORS_RETURN);
  if (code != MPI_SUCCESS) {
    delete world;
    return code;
  }
  *out = world;
  return MPI_SUCCESS;
}

int finalise(MpiWorld* world) {
  const bool is_ours = world->is_ours;
  const int code = MPI_Comm_free(&world->communicator);
  delete world;
  return is_ours ? MPI_Finalize() : code;
}

int rank(MpiWorld* world) {
  int value = 0;
  MPI_Comm_rank(world->communicator, &value);
  return value;
}

int size(MpiWorld* world) {
  int value = 0;
  MPI_Comm_size(world->communicator, &value);
  return value;
}

int largest_tag(MpiWorld* world) {
  int* value = nullptr;
  int found = 0;
  MPI_Comm_get_attr(world->communicator, MPI_TAG_UB, &value, &found);
  constexpr int kPromised = 32767;
  return found != 0 ? *value : kPromised;
}

int start_send(MpiWorld* world, const void* data, int bytes, int to, int tag, MpiRequest* out) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = MPI_Isend(data, bytes, MPI_BYTE, to, tag, world->communicator, &request);
  *out = to_bits(request);
  return code;
}

int start_recv(MpiWorld* world, void* into, int bytes, int from, int tag, MpiRequest* out) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = MPI_Irecv(into, bytes, MPI_BYTE, from, tag, world->communicator, &request);
  *out = to_bits(request);
  return code;
}

int start_all_gather(MpiWorld* world, const void* mine, int bytes, void* all, const int* counts,
                     const int* offsets, MpiRequest* out) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int code =
      MPI_Iallgatherv(mine, bytes, MPI_BYTE, all, counts, offsets, MPI_BYTE, world->communicator, &request);
  *out = to_bits(request);
  return code;
}

int start_barrier(MpiWorld* world, MpiRequest* out) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = MPI_Ibarrier(world->communicator, &request);
  *out = to_bits(request);
  return code;
}

int test(MpiWorld* /*world*/, MpiRequest* in_out, int* is_done, int* bytes) {
  MPI_Request request = from_bits(*in_out);
  MPI_Status status = {};
  const int code = MPI_Test(&request, is_done, &status);
  *in_out = to_bits(request);
  *bytes = 0;
  if (code == MPI_SUCCESS && *is_done != 0) MPI_Get_count(&status, MPI_BYTE, bytes);
  *bytes = std::max(*bytes, 0);
  return code;
}

void give_up(MpiWorld* /*world*/, MpiRequest* in_out, int is_recv) {
  MPI_Request request = from_bits(*in_out);
  if (request == MPI_REQUEST_NULL) return;
  if (is_recv != 0) MPI_Cancel(&request);
  MPI_Request_free(&request);
  *in_out = 0;
}

constexpr MpiTable kTable = {
    kMpiTableVersion, library,    error_text, initialise,       finalise,      rank, size,
    largest_tag,      start_send, start_recv, start_all_gather, start_barrier, test, give_up,
};

}  // namespace
}  // namespace hocket

extern "C" __attribute__((visibility("default"))) const hocket::MpiTable* hocket_mpi_table() {
  return &hocket::kTable;
}
