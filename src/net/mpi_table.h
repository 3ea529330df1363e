#pragma once

#include <cstddef>
#include <cstdint>

namespace hocket {

inline constexpr std::uint32_t kMpiTableVersion = 1;
inline constexpr char kMpiTableSymbol[] = "hocket_mpi_table";  // A function that returns a const MpiTable*.

struct MpiWorld;                   // A communicator of all ranks that nobody else uses.
using MpiRequest = std::uint64_t;  // A transfer under way, as MPI knows it; 0: none.

// What a separately loaded library does for the core, which knows nothing of MPI. Plain C between the two:
// no exceptions, no objects. Functions return 0, or a code that error_text() explains.
struct MpiTable {
  std::uint32_t version;
  const char* (*library)();  // As in "Open MPI v4.1.4".
  void (*error_text)(int code, char* text, std::size_t bytes);

  // MPI is initialised unless the program has done it, and then also finalised. Both wait for all ranks.
  int (*initialise)(MpiWorld** world);
  int (*finalise)(MpiWorld* world);
  int (*rank)(MpiWorld* world);
  int (*size)(MpiWorld* world);
  int (*largest_tag)(MpiWorld* world);

  // Transfers may be started and tested by any thread, each by one at a time. Memory that is passed belongs
  // to MPI until test() says done; that sets the request to 0 and says how many bytes were received.
  int (*start_send)(MpiWorld* world, const void* data, int bytes, int to, int tag, MpiRequest* request);
  int (*start_recv)(MpiWorld* world, void* into, int bytes, int from, int tag, MpiRequest* request);
  int (*start_all_gather)(MpiWorld* world, const void* mine, int bytes, void* all, const int* counts,
                          const int* offsets, MpiRequest* request);
  int (*start_barrier)(MpiWorld* world, MpiRequest* request);
  int (*test)(MpiWorld* world, MpiRequest* request, int* is_done, int* bytes);
  void (*give_up)(MpiWorld* world, MpiRequest* request, int is_recv);  // Nobody will ask for it again.
};

}  // namespace hocket
