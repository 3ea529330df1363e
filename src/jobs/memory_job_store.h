#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "jobs/job_record.h"

namespace hocket {

// A queue for tests. It lasts as long as this object, so a coordinator may be lost and made anew over it.
class MemoryJobStore final : public JobStore {
 public:
  std::vector<JobRecord> jobs() override {
    std::vector<JobRecord> all;
    for (const auto& [id, text] : jobs_) all.push_back(job_record_from_json(text));
    return all;
  }
  std::vector<ClusterMachine> machines() override {
    std::vector<ClusterMachine> all;
    for (const auto& [id, text] : machines_) all.push_back(machine_from_json(text));
    return all;
  }
  void save(const JobRecord& record) override {
    if (is_full) throw Error("the disk is full");
    jobs_[record.job.id] = to_json_text(record);
  }
  void save(int index, const ClusterMachine& machine) override { machines_[index] = to_json_text(machine); }

  bool is_full = false;

 private:
  std::map<JobId, std::string> jobs_;
  std::map<int, std::string> machines_;
};

}  // namespace hocket
