#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hocket/hocket.h>

#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

// Ranks as threads, each with a communicator of its own.
void run_ranks(int size, const std::function<void(hocket_comm*, int)>& body) {
  hocket_unique_id id;
  ASSERT_EQ(hocket_get_unique_id_at(&id, "127.0.0.1"), HOCKET_OK) << hocket_last_error_text(nullptr);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      hocket_comm* comm = nullptr;
      ASSERT_EQ(hocket_comm_create(&comm, size, &id, rank), HOCKET_OK) << hocket_last_error_text(nullptr);
      body(comm, rank);
      EXPECT_EQ(hocket_comm_destroy(comm), HOCKET_OK);
    });
  }
  threads.clear();
  EXPECT_EQ(hocket_release_unique_id(&id), HOCKET_OK);
}

// Element i of what a rank puts in.
float term(int rank, std::size_t i) { return static_cast<float>(10 * rank + static_cast<int>(i)); }

std::vector<float> terms(int rank, std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = term(rank, i);
  return values;
}

float sum_of(int size, std::size_t i) {
  float sum = 0;
  for (int rank = 0; rank < size; ++rank) sum += term(rank, i);
  return sum;
}

TEST(CApi, AllReduceByRingAsInTheNotes) {
  run_ranks(2, [](hocket_comm* comm, int) {
    const float send[] = {1, 2, 3};
    float recv[3] = {};
    ASSERT_EQ(hocket_all_reduce(send, recv, 3, HOCKET_F32, HOCKET_SUM, HOCKET_RING, comm), HOCKET_OK);
    EXPECT_THAT(recv, ElementsAre(2, 4, 6));
    EXPECT_THAT(send, ElementsAre(1, 2, 3));
  });
}

constexpr int kSize = 3;
constexpr std::size_t kCount = 5;

TEST(CApi, ReductionsInPlaceAndNot) {
  run_ranks(kSize, [](hocket_comm* comm, int rank) {
    std::vector<float> want(kCount);
    for (std::size_t i = 0; i < kCount; ++i) want[i] = sum_of(kSize, i);
    const std::vector<float> send = terms(rank, kCount);

    std::vector<float> data = send;
    EXPECT_EQ(hocket_all_reduce(data.data(), data.data(), kCount, HOCKET_F32, HOCKET_SUM, HOCKET_AUTO, comm),
              HOCKET_OK);
    EXPECT_EQ(data, want);

    std::vector<float> recv(kCount);
    float* const at_root = rank == 1 ? recv.data() : nullptr;
    EXPECT_EQ(hocket_reduce(send.data(), at_root, kCount, HOCKET_F32, HOCKET_SUM, 1, HOCKET_BINOMIAL, comm),
              HOCKET_OK);
    EXPECT_EQ(send, terms(rank, kCount));
    if (rank == 1) {
      EXPECT_EQ(recv, want);
    }

    const std::vector<float> blocks = terms(rank, kSize * kCount);
    EXPECT_EQ(
        hocket_reduce_scatter(blocks.data(), recv.data(), kCount, HOCKET_F32, HOCKET_SUM, HOCKET_RING, comm),
        HOCKET_OK);
    EXPECT_EQ(blocks, terms(rank, kSize * kCount));
    for (std::size_t i = 0; i < kCount; ++i) {
      EXPECT_EQ(recv[i], sum_of(kSize, static_cast<std::size_t>(rank) * kCount + i));
    }
  });
}

TEST(CApi, MovesInPlaceAndNot) {
  run_ranks(kSize, [](hocket_comm* comm, int rank) {
    const std::vector<float> send = terms(rank, kCount);
    std::vector<float> one(kCount);
    EXPECT_EQ(hocket_broadcast(rank == 2 ? send.data() : nullptr, one.data(), kCount, HOCKET_F32, 2,
                               HOCKET_AUTO, comm),
              HOCKET_OK);
    EXPECT_EQ(one, terms(2, kCount));

    std::vector<float> everyone;
    for (int r = 0; r < kSize; ++r) {
      const auto theirs = terms(r, kCount);
      everyone.insert(everyone.end(), theirs.begin(), theirs.end());
    }
    std::vector<float> all(kSize * kCount);
    EXPECT_EQ(hocket_all_gather(send.data(), all.data(), kCount, HOCKET_F32, HOCKET_BRUCK, comm), HOCKET_OK);
    EXPECT_EQ(all, everyone);
    std::fill(all.begin(), all.end(), 0.0F);
    EXPECT_EQ(hocket_gather(send.data(), rank == 0 ? all.data() : nullptr, kCount, HOCKET_F32, 0, HOCKET_AUTO,
                            comm),
              HOCKET_OK);
    if (rank == 0) {
      EXPECT_EQ(all, everyone);
    }

    EXPECT_EQ(hocket_scatter(rank == 1 ? everyone.data() : nullptr, one.data(), kCount, HOCKET_F32, 1,
                             HOCKET_BINOMIAL, comm),
              HOCKET_OK);
    EXPECT_EQ(one, send);

    std::vector<float> data(kSize);
    for (int r = 0; r < kSize; ++r) data[static_cast<std::size_t>(r)] = static_cast<float>(10 * rank + r);
    EXPECT_EQ(hocket_all_to_all(data.data(), data.data(), 1, HOCKET_F32, HOCKET_EXCHANGE, comm), HOCKET_OK);
    EXPECT_THAT(data, ElementsAre(static_cast<float>(rank), static_cast<float>(10 + rank),
                                  static_cast<float>(20 + rank)));
    EXPECT_EQ(hocket_barrier(HOCKET_AUTO, comm), HOCKET_OK);
  });
}

TEST(CApi, OperationsThatWereStartedFinishInOrder) {
  run_ranks(2, [](hocket_comm* comm, int rank) {
    void* memory = nullptr;
    ASSERT_EQ(hocket_alloc(comm, 1000 * sizeof(int), &memory), HOCKET_OK);
    auto* const shared = static_cast<int*>(memory);
    std::fill(shared, shared + 1000, 1);
    int all[2] = {};
    hocket_handle sum = 0;
    hocket_handle gather = 0;
    ASSERT_EQ(hocket_start_all_reduce(shared, shared, 1000, HOCKET_I32, HOCKET_SUM, HOCKET_AUTO, comm, &sum),
              HOCKET_OK);
    ASSERT_EQ(hocket_start_all_gather(&rank, all, 1, HOCKET_I32, HOCKET_AUTO, comm, &gather), HOCKET_OK);
    ASSERT_EQ(hocket_wait(comm, gather), HOCKET_OK);
    int is_done = 0;
    ASSERT_EQ(hocket_test(comm, sum, &is_done), HOCKET_OK);
    EXPECT_EQ(is_done, 1);
    EXPECT_THAT(std::vector<int>(shared, shared + 1000), Each(2));
    EXPECT_THAT(all, ElementsAre(0, 1));
    ASSERT_EQ(hocket_all_reduce(shared, shared, 1000, HOCKET_I32, HOCKET_MAX, HOCKET_AUTO, comm), HOCKET_OK);
    EXPECT_EQ(hocket_test(comm, 99, &is_done), HOCKET_INVALID_ARGUMENT);
  });
}

TEST(CApi, ColorsMakeCommunicators) {
  run_ranks(4, [](hocket_comm* comm, int rank) {
    hocket_comm* half = nullptr;
    hocket_comm* quarter = nullptr;
    ASSERT_EQ(hocket_comm_split(comm, rank == 3 ? -1 : rank % 2, &half), HOCKET_OK);
    if (rank == 3) {
      EXPECT_EQ(half, nullptr);
    } else {
      int size = 0;
      int mine = 0;
      EXPECT_EQ(hocket_comm_size(half, &size), HOCKET_OK);
      EXPECT_EQ(hocket_comm_rank(half, &mine), HOCKET_OK);
      EXPECT_EQ(size, rank == 1 ? 1 : 2);
      EXPECT_EQ(mine, rank / 2);
      int sum = rank;
      EXPECT_EQ(hocket_all_reduce(&sum, &sum, 1, HOCKET_I32, HOCKET_SUM, HOCKET_AUTO, half), HOCKET_OK);
      EXPECT_EQ(sum, rank == 1 ? 1 : 2);
      ASSERT_EQ(hocket_comm_split(half, 0, &quarter), HOCKET_OK);
      EXPECT_EQ(hocket_barrier(HOCKET_AUTO, quarter), HOCKET_OK);
    }
    EXPECT_EQ(hocket_barrier(HOCKET_AUTO, comm), HOCKET_OK);
    hocket_comm_destroy(quarter);
    hocket_comm_destroy(half);
  });
}

TEST(CApi, RanksThatDisagreeAreAnErrorThatShowsBothCalls) {
  run_ranks(2, [](hocket_comm* comm, int rank) {
    std::vector<float> data(100);
    const std::size_t count = rank == 0 ? 100 : 99;
    EXPECT_EQ(hocket_all_reduce(data.data(), data.data(), count, HOCKET_F32, HOCKET_SUM, HOCKET_RING, comm),
              HOCKET_NET_ERROR);
    EXPECT_THAT(hocket_last_error_text(comm), HasSubstr("100 f32"));
    EXPECT_THAT(hocket_last_error_text(comm), HasSubstr("99 f32"));
    EXPECT_EQ(hocket_comm_async_error(comm), HOCKET_NET_ERROR);
  });
}

TEST(CApi, WrongArgumentsAreRefused) {
  run_ranks(1, [](hocket_comm* comm, int) {
    float x = 1;
    EXPECT_EQ(hocket_comm_async_error(comm), HOCKET_OK);
    EXPECT_EQ(hocket_all_reduce(&x, &x, 1, static_cast<hocket_dtype>(7), HOCKET_SUM, HOCKET_AUTO, comm),
              HOCKET_INVALID_ARGUMENT);
    EXPECT_STREQ(hocket_last_error_text(comm), "there is no dtype 7");
    EXPECT_EQ(hocket_all_reduce(nullptr, &x, 1, HOCKET_F32, HOCKET_SUM, HOCKET_AUTO, comm),
              HOCKET_INVALID_ARGUMENT);
    EXPECT_EQ(hocket_broadcast(&x, &x, 1, HOCKET_F32, 1, HOCKET_AUTO, comm), HOCKET_INVALID_ARGUMENT);
    EXPECT_EQ(hocket_gather(&x, &x, SIZE_MAX / 2, HOCKET_F32, 0, HOCKET_AUTO, comm), HOCKET_INVALID_ARGUMENT);
    EXPECT_EQ(hocket_barrier(HOCKET_RING, comm), HOCKET_INVALID_ARGUMENT);
    EXPECT_EQ(hocket_barrier(HOCKET_AUTO, nullptr), HOCKET_INVALID_ARGUMENT);
  });
  hocket_comm* comm = nullptr;
  hocket_unique_id id = {};
  EXPECT_EQ(hocket_comm_create(&comm, 2, &id, 0), HOCKET_INVALID_ARGUMENT);
  EXPECT_THAT(hocket_last_error_text(nullptr), HasSubstr("not a unique id"));
  EXPECT_EQ(hocket_release_unique_id(&id), HOCKET_INVALID_ARGUMENT);
  EXPECT_EQ(comm, nullptr);
}

}  // namespace
