// The boundary: checks what an enum holds, turns exceptions into codes, and keeps their text.
#include <new>
#include <optional>
#include <string>

#include "base/error.h"
#include "bindings/comm.h"
#include "bindings/hocket.h"
#include "bindings/unique_id.h"

struct hocket_comm {
  std::unique_ptr<hocket::Comm> comm;
};

namespace hocket {
namespace {

static_assert(HOCKET_U8 == static_cast<int>(DType::u8) && HOCKET_BF16 == static_cast<int>(DType::bf16));
static_assert(HOCKET_MEAN == static_cast<int>(Reduction::mean) &&
              HOCKET_MAX == static_cast<int>(Reduction::max));
static_assert(HOCKET_BRUCK == static_cast<int>(Algorithm::bruck) &&
              HOCKET_RING == static_cast<int>(Algorithm::ring));

thread_local std::string last_error;

hocket_result fail(hocket_result result, const char* text) noexcept {
  try {
    last_error = text;
  } catch (const std::bad_alloc&) {
    last_error.clear();
  }
  return result;
}

// Runs `body`; nothing that it throws gets out.
template <typename Body>
hocket_result guarded(const Body& body) noexcept {
  try {
    body();
    return HOCKET_OK;
  } catch (const ConfigError& error) {
    return fail(HOCKET_INVALID_ARGUMENT, error.what());
  } catch (const NetError& error) {
    return fail(HOCKET_NET_ERROR, error.what());
  } catch (const std::exception& error) {
    return fail(HOCKET_SYSTEM_ERROR, error.what());
  } catch (...) {
    return fail(HOCKET_SYSTEM_ERROR, "an unknown error");
  }
}

Comm& comm_of(const hocket_comm* comm) {
  if (comm == nullptr) throw ConfigError("the communicator is NULL");
  return *comm->comm;
}

template <typename T>
T& at(T* pointer, const char* name) {
  if (pointer == nullptr) throw ConfigError("{} is NULL", name);
  return *pointer;
}

// A value that a C caller may have made up.
template <typename Enum>
Enum checked(int value, Enum last, const char* what) {
  if (value < 0 || value > static_cast<int>(last)) throw ConfigError("there is no {} {}", what, value);
  return static_cast<Enum>(value);
}

DType checked(hocket_dtype dtype) { return checked(static_cast<int>(dtype), DType::u8, "dtype"); }
Reduction checked(hocket_op op) { return checked(static_cast<int>(op), Reduction::mean, "op"); }
Algorithm checked(hocket_algorithm algorithm) {
  return checked(static_cast<int>(algorithm), Algorithm::bruck, "algorithm");
}

}  // namespace
}  // namespace hocket

using namespace hocket;

hocket_result hocket_get_unique_id(hocket_unique_id* id) {
  return guarded([&] { at(id, "id") = host_meeting(address_to_the_outside()); });
}

hocket_result hocket_get_unique_id_at(hocket_unique_id* id, const char* address) {
  return guarded([&] { at(id, "id") = host_meeting(&at(address, "address")); });
}

hocket_result hocket_release_unique_id(const hocket_unique_id* id) {
  return guarded([&] { end_meeting(at(id, "id")); });
}

hocket_result hocket_comm_create(hocket_comm** comm, int size, const hocket_unique_id* id, int rank) {
  return guarded([&] {
    at(comm, "comm") = nullptr;
    *comm = new hocket_comm{Comm::join(at(id, "id"), rank, size)};
  });
}

hocket_result hocket_comm_split(hocket_comm* comm, int color, hocket_comm** part) {
  return guarded([&] {
    at(part, "part") = nullptr;
    auto split = comm_of(comm).split(color);
    if (split) *part = new hocket_comm{std::move(split)};
  });
}

hocket_result hocket_comm_rank(const hocket_comm* comm, int* rank) {
  return guarded([&] { at(rank, "rank") = comm_of(comm).rank(); });
}

hocket_result hocket_comm_size(const hocket_comm* comm, int* size) {
  return guarded([&] { at(size, "size") = comm_of(comm).size(); });
}

hocket_result hocket_comm_destroy(hocket_comm* comm) {
  return guarded([&] { delete comm; });
}

hocket_result hocket_comm_async_error(const hocket_comm* comm) {
  return guarded([&] {
    const Health& health = comm_of(comm).health();
    if (health.failed()) throw NetError("{}", health.failure().what);
  });
}

const char* hocket_last_error_text(const hocket_comm* comm) {
  if (last_error.empty() && comm != nullptr) hocket_comm_async_error(comm);
  return last_error.c_str();
}

hocket_result hocket_alloc(hocket_comm* comm, size_t bytes, void** memory) {
  return guarded([&] { at(memory, "memory") = comm_of(comm).allocate(bytes); });
}

hocket_result hocket_all_reduce(const void* send, void* recv, size_t count, hocket_dtype dtype, hocket_op op,
                                hocket_algorithm algorithm, hocket_comm* comm) {
  return guarded([&] {
    comm_of(comm).run(
        {Collective::all_reduce, send, recv, count, checked(dtype), checked(op), 0, checked(algorithm)});
  });
}

hocket_result hocket_reduce(const void* send, void* recv, size_t count, hocket_dtype dtype, hocket_op op,
                            int root, hocket_algorithm algorithm, hocket_comm* comm) {
  return guarded([&] {
    comm_of(comm).run(
        {Collective::reduce, send, recv, count, checked(dtype), checked(op), root, checked(algorithm)});
  });
}

hocket_result hocket_broadcast(const void* send, void* recv, size_t count, hocket_dtype dtype, int root,
                               hocket_algorithm algorithm, hocket_comm* comm) {
  return guarded([&] {
    comm_of(comm).run(
        {Collective::broadcast, send, recv, count, checked(dtype), Reduction::sum, root, checked(algorithm)});
  });
}

hocket_result hocket_gather(const void* send, void* recv, size_t count, hocket_dtype dtype, int root,
                            hocket_algorithm algorithm, hocket_comm* comm) {
  return guarded([&] {
    comm_of(comm).run(
        {Collective::gather, send, recv, count, checked(dtype), Reduction::sum, root, checked(algorithm)});
  });
}

hocket_result hocket_all_gather(const void* send, void* recv, size_t count, hocket_dtype dtype,
                                hocket_algorithm algorithm, hocket_comm* comm) {
  return guarded([&] {
    comm_of(comm).run(
        {Collective::all_gather, send, recv, count, checked(dtype), Reduction::sum, 0, checked(algorithm)});
  });
}

hocket_result hocket_scatter(const void* send, void* recv, size_t count, hocket_dtype dtype, int root,
                             hocket_algorithm algorithm, hocket_comm* comm) {
  return guarded([&] {
    comm_of(comm).run(
        {Collective::scatter, send, recv, count, checked(dtype), Reduction::sum, root, checked(algorithm)});
  });
}

hocket_result hocket_reduce_scatter(const void* send, void* recv, size_t count, hocket_dtype dtype,
                                    hocket_op op, hocket_algorithm algorithm, hocket_comm* comm) {
  return guarded([&] {
    comm_of(comm).run(
        {Collective::reduce_scatter, send, recv, count, checked(dtype), checked(op), 0, checked(algorithm)});
  });
}

hocket_result hocket_all_to_all(const void* send, void* recv, size_t count, hocket_dtype dtype,
                                hocket_algorithm algorithm, hocket_comm* comm) {
  return guarded([&] {
    comm_of(comm).run(
        {Collective::all_to_all, send, recv, count, checked(dtype), Reduction::sum, 0, checked(algorithm)});
  });
}

hocket_result hocket_barrier(hocket_algorithm algorithm, hocket_comm* comm) {
  return guarded([&] {
    Request request;
    request.algorithm = checked(algorithm);
    comm_of(comm).run(request);
  });
}

hocket_result hocket_start_all_reduce(const void* send, void* recv, size_t count, hocket_dtype dtype,
                                      hocket_op op, hocket_algorithm algorithm, hocket_comm* comm,
                                      hocket_handle* handle) {
  return guarded([&] {
    at(handle, "handle") = comm_of(comm).start(
        {Collective::all_reduce, send, recv, count, checked(dtype), checked(op), 0, checked(algorithm)});
  });
}

hocket_result hocket_start_broadcast(const void* send, void* recv, size_t count, hocket_dtype dtype, int root,
                                     hocket_algorithm algorithm, hocket_comm* comm, hocket_handle* handle) {
  return guarded([&] {
    at(handle, "handle") = comm_of(comm).start(
        {Collective::broadcast, send, recv, count, checked(dtype), Reduction::sum, root, checked(algorithm)});
  });
}

hocket_result hocket_start_all_gather(const void* send, void* recv, size_t count, hocket_dtype dtype,
                                      hocket_algorithm algorithm, hocket_comm* comm, hocket_handle* handle) {
  return guarded([&] {
    at(handle, "handle") = comm_of(comm).start(
        {Collective::all_gather, send, recv, count, checked(dtype), Reduction::sum, 0, checked(algorithm)});
  });
}

hocket_result hocket_test(hocket_comm* comm, hocket_handle handle, int* is_done) {
  return guarded([&] { at(is_done, "is_done") = comm_of(comm).is_done(handle) ? 1 : 0; });
}

hocket_result hocket_wait(hocket_comm* comm, hocket_handle handle) {
  return guarded([&] { comm_of(comm).wait(handle); });
}
