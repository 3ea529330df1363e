#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/doctor/job_findings.h"
#include "cli/exit_code.h"
#include "cli/machine.h"
#include "cli/terminal.h"
#include "cli/units.h"
#include "data/open.h"
#include "tensor/kernels/isa.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

std::string_view name_of(Verdict verdict) {
  return verdict == Verdict::good ? "ok" : verdict == Verdict::note ? "note" : "bad";
}

Finding look_at_processor(const Machine& machine) {
  const kernel::IsaReport isa = kernel::cpu_report();
  return {"processor", Verdict::good, fmt::format("{}, {}", machine.processor, isa.vectors),
          OrderedJson{{"name", machine.processor}, {"vectors", isa.vectors}}};
}

Finding look_at_bf16() {
  const kernel::IsaReport isa = kernel::cpu_report();
  const bool is_slow = !isa.bf16_note.empty();
  return {"bf16", is_slow ? Verdict::note : Verdict::good,
          is_slow ? "correct but slow: " + isa.bf16_note : "fast, by AMX",
          OrderedJson{
              {"has_bf16", isa.has_bf16}, {"has_amx", isa.has_amx}, {"amx_is_broken", isa.amx_is_broken}}};
}

Finding look_at_cores(const Machine& machine) {
  OrderedJson figures{{"cores", machine.cores}, {"limit", nullptr}};
  if (machine.cpu_limit) figures["limit"] = *machine.cpu_limit;
  const std::string threads =
      fmt::format("{} usable; hocket train takes --threads {}", machine.cores, machine.cores);
  if (!machine.cpu_limit || *machine.cpu_limit >= machine.cores)
    return {"cores", Verdict::good, threads, figures};
  return {"cores", Verdict::note,
          fmt::format("{}, but the control group allows {:.3g}: set --threads to that", threads,
                      *machine.cpu_limit),
          figures};
}

Finding look_at_memory(const Machine& machine) {
  constexpr std::int64_t kLeast = 256 << 20;
  std::string text = fmt::format("{}, {} available", bytes_text(static_cast<double>(machine.memory_bytes)),
                                 bytes_text(static_cast<double>(machine.available_bytes)));
  OrderedJson figures{{"bytes", machine.memory_bytes},
                      {"available_bytes", machine.available_bytes},
                      {"limit_bytes", nullptr}};
  if (machine.memory_limit_bytes) {
    figures["limit_bytes"] = *machine.memory_limit_bytes;
    text += fmt::format(", limited to {} by the control group",
                        bytes_text(static_cast<double>(*machine.memory_limit_bytes)));
  }
  return {"memory", machine.available_bytes < kLeast ? Verdict::bad : Verdict::good, text, figures};
}

Finding look_at_speed(int threads) {
  const double peak = measure_peak_flops(threads);
  const double product = measure_product_flops(threads);
  const double copy = measure_copy_bandwidth(threads);
  return {"speed", Verdict::good,
          fmt::format("{}/s f32 at most, {}/s in a matrix product ({:.0f} %), {}/s of memory, on {} thread{}",
                      flops_text(peak), flops_text(product), 100 * product / peak, bytes_text(copy), threads,
                      threads == 1 ? "" : "s"),
          OrderedJson{{"threads", threads},
                      {"peak_flops", peak},
                      {"product_flops", product},
                      {"copy_bytes_per_second", copy}}};
}

Finding look_at_disk(const fs::path& folder) {
  constexpr std::int64_t kLeast = 100 << 20;
  try {
    const Disk disk = inspect_disk(folder);
    return {"disk", disk.free_bytes < kLeast ? Verdict::bad : Verdict::good,
            fmt::format("{} free in {}, written at {}/s", bytes_text(static_cast<double>(disk.free_bytes)),
                        folder.string(), bytes_text(disk.write_bytes_per_second)),
            OrderedJson{{"folder", folder.string()},
                        {"free_bytes", disk.free_bytes},
                        {"write_bytes_per_second", disk.write_bytes_per_second}}};
  } catch (const std::exception& error) {
    return {"disk", Verdict::bad, error.what(), OrderedJson{{"folder", folder.string()}}};
  }
}

Finding look_at_data() {
  try {
    const DataParts parts = open_dataset({"fashion-mnist", ""});
    const std::int64_t samples = parts.train->info().size;
    return {"data", Verdict::good, fmt::format("fashion-mnist is here: {} images", count_text(samples)),
            OrderedJson{{"fashion-mnist", samples}}};
  } catch (const Error& error) {
    return {"data", Verdict::note, error.what(), OrderedJson{{"fashion-mnist", nullptr}}};
  }
}

Finding look_at_clock(const Machine& machine) {
  return {"clock", machine.clock_is_synchronized ? Verdict::good : Verdict::note,
          fmt::format("{}, resolution {:.0f} ns",
                      machine.clock_is_synchronized ? "synchronized" : "not synchronized with others",
                      1e9 * machine.clock_resolution_seconds),
          OrderedJson{{"is_synchronized", machine.clock_is_synchronized},
                      {"resolution_seconds", machine.clock_resolution_seconds}}};
}

fs::path existing_folder(fs::path folder) {
  while (!folder.empty() && !fs::is_directory(folder)) folder = folder.parent_path();
  return folder.empty() ? "." : folder;
}

std::vector<Finding> look_at_machine(const fs::path& out) {
  const Machine machine = inspect_machine();
  return {
      look_at_processor(machine),
      look_at_bf16(),
      look_at_cores(machine),
      look_at_memory(machine),
      look_at_speed(machine.cores),
      look_at_disk(existing_folder(out)),
      look_at_data(),
      look_at_clock(machine),
  };
}

// Prints the findings; whether none of them is bad.
bool print_findings(const std::vector<Finding>& findings, bool as_json) {
  OrderedJson json;
  std::string text;
  bool is_fit = true;
  for (const Finding& finding : findings) {
    is_fit = is_fit && finding.verdict != Verdict::bad;
    text += fmt::format("{:<5} {:<10} {}\n", name_of(finding.verdict), finding.what, finding.text);
    OrderedJson& entry = json[finding.what] = finding.figures;
    entry["verdict"] = name_of(finding.verdict);
    entry["text"] = finding.text;
  }
  write_output(as_json ? json.dump(2) + '\n' : text);
  return is_fit;
}

int run_doctor(const Arguments& arguments) {
  if (detect_environment(process_variables()).source == Environment::Source::alone) {
    return print_findings(look_at_machine(arguments.text("out", "runs")), arguments.has("json")) ? kDone
                                                                                                 : kFailed;
  }
  World world(join_job(), {});
  const std::vector<Finding> findings = look_at_job(world);
  if (world.job().rank != 0) return kDone;
  return print_findings(findings, arguments.has("json")) ? kDone : kFailed;
}

}  // namespace

Command doctor_command() {
  Command command;
  command.name = "doctor";
  command.summary = "check this machine, or the job that it is started in: links of all pairs, clocks, cores";
  command.usages = {"[--out DIR] [--json]"};
  command.options = {{"out", "DIR", "where runs will be written (runs)"},
                     {"json", "", "print the result as JSON"},
                     {"help", "", "show this"}};
  command.examples = {"hocket doctor", "hocket launch --hosts a:2,b:2 -- hocket doctor"};
  command.run = run_doctor;
  return command;
}

}  // namespace hocket
