#include "jobs/job_trace.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace hocket {
namespace {

constexpr const char* kHeader = "timestamp,duration,num_gpus,gpu_time,cluster\n";

std::string complaint(const std::string& text) {
  try {
    parse_job_trace(text, "t.csv");
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

TEST(JobTrace, IsSortedByTimeAndCountedFromTheFirst) {
  const JobTrace trace = parse_job_trace(std::string(kHeader) +
                                             "2017-10-09 07:01:55,66.0,1,66.0,a\n"
                                             "2017-10-09 07:01:00,10,4,40,b\r\n",
                                         "t.csv");
  ASSERT_EQ(trace.size(), 2u);
  EXPECT_EQ(trace[0].owner, "b");
  EXPECT_EQ(trace[0].submitted, 0);
  EXPECT_EQ(trace[0].max_workers, 4);
  EXPECT_EQ(trace[1].submitted, 55);
  EXPECT_EQ(trace[1].length, 66);
}

TEST(JobTrace, MalformedLineIsNamedWithItsColumn) {
  EXPECT_EQ(complaint(std::string(kHeader) + "0,66.0,1,66.0,a\n5,x,1,66.0,a\n"),
            "t.csv, line 3, column 2 (duration): expected seconds from 0 on, found \"x\"");
  EXPECT_EQ(complaint(std::string(kHeader) + "yesterday,6,1,6,a\n"),
            "t.csv, line 2, column 1 (timestamp): expected a time as 2017-10-09 07:01:55, or seconds, "
            "found \"yesterday\"");
  EXPECT_EQ(complaint(std::string(kHeader) + "0,6,0,6,a\n"),
            "t.csv, line 2, column 3 (num_gpus): expected a whole number from 1 on, found \"0\"");
  EXPECT_EQ(complaint(std::string(kHeader) + "0,6,2,6,a\n"),
            "t.csv, line 2, column 4 (gpu_time): expected 12 (duration × num_gpus), found \"6\"");
  EXPECT_EQ(complaint(std::string(kHeader) + "0,6,2\n"),
            "t.csv, line 2, column 4: expected 5 columns as in the header, found 3");
  EXPECT_EQ(complaint("a,b\n1,2\n"),
            "t.csv, line 1: expected a header with the column timestamp, found \"a,b\"");
  EXPECT_EQ(complaint("a,timestamp,a\n"), "t.csv, line 1, column 3: a second column \"a\"");
  EXPECT_EQ(complaint(""), "t.csv: expected a header and at least one job");
}

}  // namespace
}  // namespace hocket
