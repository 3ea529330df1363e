/* Two processes all-reduce [1, 2, 3] and [1, 2, 3] by a ring; each prints [2, 4, 6]. */
#include <hocket/hocket.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void check(hocket_result result, const hocket_comm* comm) {
  if (result == HOCKET_OK) return;
  fprintf(stderr, "error %d: %s\n", (int)result, hocket_last_error_text(comm));
  exit(1);
}

static void run_rank(const hocket_unique_id* id, int rank) {
  hocket_comm* comm = NULL;
  check(hocket_comm_create(&comm, 2, id, rank), NULL);

  const float send[3] = {1, 2, 3};
  float recv[3];
  check(hocket_all_reduce(send, recv, 3, HOCKET_F32, HOCKET_SUM, HOCKET_RING, comm), comm);
  printf("rank %d: [%g, %g, %g]\n", rank, recv[0], recv[1], recv[2]);
  check(hocket_comm_destroy(comm), NULL);
}

int main(void) {
  int channel[2]; /* How the id gets from rank 0 to rank 1: any other way would do. */
  hocket_unique_id id;
  if (pipe(channel) != 0) return 1;
  const pid_t child = fork();
  if (child < 0) return 1;
  if (child == 0) {
    if (read(channel[0], &id, sizeof id) != (ssize_t)sizeof id) return 1;
    run_rank(&id, 1);
    return 0;
  }
  check(hocket_get_unique_id(&id), NULL);
  if (write(channel[1], &id, sizeof id) != (ssize_t)sizeof id) return 1;
  run_rank(&id, 0);
  int status = 1;
  waitpid(child, &status, 0);
  check(hocket_release_unique_id(&id), NULL);
  return status == 0 ? 0 : 1;
}
