/* Collectives between processes, in C. The shape is NCCL's: one process makes a unique id, passes it to the
 * others by whatever way it has, and every process joins with the id, the number of ranks and its own rank.
 *
 * Every function returns HOCKET_OK or an error that hocket_last_error_text() explains. All ranks of a
 * communicator call the same collectives in the same order; a rank that does not, or dies, is an error on
 * every rank that names it, and the communicator is then only good for hocket_comm_destroy(). A communicator
 * is used by one thread at a time; different ones by different threads. Link with -lhocket.
 */
#ifndef HOCKET_HOCKET_H
#define HOCKET_HOCKET_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(modernize-use-using): this is C. */

#define HOCKET_API __attribute__((visibility("default")))

typedef enum {
  HOCKET_OK = 0,
  HOCKET_INVALID_ARGUMENT = 1, /* Also an algorithm that cannot do this collective. */
  HOCKET_NET_ERROR = 2,        /* A rank failed, or did something else. */
  HOCKET_SYSTEM_ERROR = 3      /* Memory, descriptors, threads. */
} hocket_result;

typedef enum {
  HOCKET_F32 = 0,
  HOCKET_F64 = 1,
  HOCKET_BF16 = 2,
  HOCKET_F16 = 3,
  HOCKET_I32 = 4,
  HOCKET_I64 = 5,
  HOCKET_U8 = 6
} hocket_dtype;

typedef enum {
  HOCKET_SUM = 0,
  HOCKET_PRODUCT = 1,
  HOCKET_MAX = 2,
  HOCKET_MIN = 3,
  HOCKET_MEAN = 4
} hocket_op;

/* docs/ALGORITHMS.md says what each does and which collectives it knows. */
typedef enum {
  HOCKET_AUTO = 0,
  HOCKET_DIRECT = 1, /* Straight out of the peers' memory; ranks of one host. */
  HOCKET_MASTER = 2,
  HOCKET_EXCHANGE = 3,
  HOCKET_SHARDED = 4,
  HOCKET_BINOMIAL = 5,
  HOCKET_RECURSIVE_DOUBLING = 6,
  HOCKET_HALVING_DOUBLING = 7,
  HOCKET_NAIVE_RING = 8,
  HOCKET_RING = 9,
  HOCKET_SEGMENTED_RING = 10,
  HOCKET_DOUBLE_TREE = 11,
  HOCKET_HIERARCHICAL = 12,
  HOCKET_RING_2D = 13,
  HOCKET_HYPERCUBE = 14,
  HOCKET_BRUCK = 15
} hocket_algorithm;

typedef struct hocket_comm hocket_comm;
typedef uint64_t hocket_handle; /* An operation that was started. */

/* Where the ranks of one job meet, and the secret that lets them in: do not show it to others. */
typedef struct {
  unsigned char bytes[128];
} hocket_unique_id;

/* ---- joining ---- */

/* This process becomes the place where the ranks meet, until it ends or releases the id; it may be one of
 * them. The address is the one that leads to the outside, or, with ..._at, one of this host's own. */
HOCKET_API hocket_result hocket_get_unique_id(hocket_unique_id* id);
HOCKET_API hocket_result hocket_get_unique_id_at(hocket_unique_id* id, const char* address);
/* For the process that made it, when all communicators made with it are destroyed. */
HOCKET_API hocket_result hocket_release_unique_id(const hocket_unique_id* id);

/* Waits for all `size` ranks, for up to a minute. */
HOCKET_API hocket_result hocket_comm_create(hocket_comm** comm, int size, const hocket_unique_id* id,
                                            int rank);

/* All ranks call it: those with the same color, which is not negative, make a communicator, in the order of
 * their ranks. With a negative color *part becomes NULL. */
HOCKET_API hocket_result hocket_comm_split(hocket_comm* comm, int color, hocket_comm** part);

HOCKET_API hocket_result hocket_comm_rank(const hocket_comm* comm, int* rank);
HOCKET_API hocket_result hocket_comm_size(const hocket_comm* comm, int* size);

/* Waits for what was started. NULL is allowed. */
HOCKET_API hocket_result hocket_comm_destroy(hocket_comm* comm);

/* Whether the job has failed so far, without waiting; from any thread. */
HOCKET_API hocket_result hocket_comm_async_error(const hocket_comm* comm);

/* What the last failed call in this thread, or else the job of `comm` (which may be NULL), suffered from. One
 * line, valid until the next call in this thread. */
HOCKET_API const char* hocket_last_error_text(const hocket_comm* comm);

/* Memory in which collectives need not copy: shared where ranks share memory. Zero, aligned to 64 bytes, for
 * as long as the communicator lives. */
HOCKET_API hocket_result hocket_alloc(hocket_comm* comm, size_t bytes, void** memory);

/* ---- collectives ----
 * `count` is in elements. Send and receive buffers may be the same: then the operation is in place. Buffers
 * that a rank neither sends nor receives may be NULL. */

/* recv = the sum (or product, ...) over all ranks of send; count elements each. */
HOCKET_API hocket_result hocket_all_reduce(const void* send, void* recv, size_t count, hocket_dtype dtype,
                                           hocket_op op, hocket_algorithm algorithm, hocket_comm* comm);
/* The same, at the root alone. */
HOCKET_API hocket_result hocket_reduce(const void* send, void* recv, size_t count, hocket_dtype dtype,
                                       hocket_op op, int root, hocket_algorithm algorithm, hocket_comm* comm);
/* recv = the root's send; count elements. */
HOCKET_API hocket_result hocket_broadcast(const void* send, void* recv, size_t count, hocket_dtype dtype,
                                          int root, hocket_algorithm algorithm, hocket_comm* comm);
/* The root's recv, size x count elements, = everyone's send, count elements each. */
HOCKET_API hocket_result hocket_gather(const void* send, void* recv, size_t count, hocket_dtype dtype,
                                       int root, hocket_algorithm algorithm, hocket_comm* comm);
/* The same, everywhere. */
HOCKET_API hocket_result hocket_all_gather(const void* send, void* recv, size_t count, hocket_dtype dtype,
                                           hocket_algorithm algorithm, hocket_comm* comm);
/* recv, count elements, = the own block of the root's send, size x count elements. */
HOCKET_API hocket_result hocket_scatter(const void* send, void* recv, size_t count, hocket_dtype dtype,
                                        int root, hocket_algorithm algorithm, hocket_comm* comm);
/* recv, count elements, = the own block of the sum of everyone's send, size x count elements. */
HOCKET_API hocket_result hocket_reduce_scatter(const void* send, void* recv, size_t count, hocket_dtype dtype,
                                               hocket_op op, hocket_algorithm algorithm, hocket_comm* comm);
/* Block r of recv = the own block of rank r's send; size x count elements each. */
HOCKET_API hocket_result hocket_all_to_all(const void* send, void* recv, size_t count, hocket_dtype dtype,
                                           hocket_algorithm algorithm, hocket_comm* comm);
/* Nobody leaves before all have come in. */
HOCKET_API hocket_result hocket_barrier(hocket_algorithm algorithm, hocket_comm* comm);

/* ---- the same, while the caller goes on ----
 * The buffers belong to the communicator until the operation is done. Operations are done in the order in
 * which they were started. */

HOCKET_API hocket_result hocket_start_all_reduce(const void* send, void* recv, size_t count,
                                                 hocket_dtype dtype, hocket_op op, hocket_algorithm algorithm,
                                                 hocket_comm* comm, hocket_handle* handle);
HOCKET_API hocket_result hocket_start_broadcast(const void* send, void* recv, size_t count,
                                                hocket_dtype dtype, int root, hocket_algorithm algorithm,
                                                hocket_comm* comm, hocket_handle* handle);
HOCKET_API hocket_result hocket_start_all_gather(const void* send, void* recv, size_t count,
                                                 hocket_dtype dtype, hocket_algorithm algorithm,
                                                 hocket_comm* comm, hocket_handle* handle);
HOCKET_API hocket_result hocket_test(hocket_comm* comm, hocket_handle handle, int* is_done);
HOCKET_API hocket_result hocket_wait(hocket_comm* comm, hocket_handle handle);

/* NOLINTEND(modernize-use-using) */

#ifdef __cplusplus
}
#endif

#endif
