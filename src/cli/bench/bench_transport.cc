#include "cli/bench/bench_transport.h"

#include <cstring>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/bench/bench_ranks.h"
#include "cli/bench/collective_table.h"
#include "cli/bench/lists.h"
#include "cli/bench/ping_pong.h"
#include "cli/bench/statistics.h"
#include "cli/bench/timed_loop.h"
#include "cli/exit_code.h"
#include "cli/terminal.h"
#include "cli/units.h"
#include "collective/cost.h"

namespace hocket {
namespace {

struct TransportRow {
  std::string transport;  // "memcpy": a copy within one thread.
  std::size_t bytes = 0;
  Spread us;  // Of one message.
  LinkFit fit;

  double gigabytes_per_second() const { return static_cast<double>(bytes) / us.median * 1e-3; }
};

Spread in_microseconds(std::vector<double> seconds, double share) {
  for (double& sample : seconds) sample *= share * 1e6;
  return spread_of(std::move(seconds));
}

void measure_as_rank(Transport& transport, const std::vector<std::size_t>& sizes, const LoopBudget& budget) {
  PingPong ping_pong(transport);
  for (const std::size_t bytes : sizes) {
    std::vector<std::byte> buffer(bytes);
    const Spread us = in_microseconds(ping_pong.measure(buffer, budget), 0.5);
    if (transport.rank() == 0)
      std::cout << fmt::format("{} {} {}\n", us.median, us.p10, us.p90) << std::flush;
  }
}

std::vector<TransportRow> measure_transport(TransportKind kind, const std::vector<std::size_t>& sizes,
                                            const LoopBudget& budget) {
  const auto body = [&](const std::unique_ptr<Transport>& transport) {
    measure_as_rank(*transport, sizes, budget);
  };
  std::vector<TransportRow> rows;
  for (const std::string& line : run_bench_ranks(kind, 2, sizes.size(), body)) {
    TransportRow row{std::string(name_of(kind)), sizes[rows.size()], {}, {}};
    std::istringstream(line) >> row.us.median >> row.us.p10 >> row.us.p90;
    rows.push_back(row);
  }
  return rows;
}

std::vector<TransportRow> measure_memcpy(const std::vector<std::size_t>& sizes, const LoopBudget& budget) {
  std::vector<TransportRow> rows;
  for (const std::size_t bytes : sizes) {
    const std::vector<std::byte> from(bytes, std::byte{1});
    std::vector<std::byte> to(bytes);
    const auto copy = [&] {
      std::memcpy(to.data(), from.data(), bytes);
      asm volatile("" : : "r"(to.data()) : "memory");
    };
    const auto alone = [](double number) { return number; };
    rows.push_back({"memcpy", bytes, in_microseconds(timed_loop(budget, copy, alone), 1), {}});
  }
  return rows;
}

void add_fit(std::vector<TransportRow>& rows) {
  std::vector<TransferSample> samples;
  samples.reserve(rows.size());
  for (const TransportRow& row : rows) samples.push_back({row.bytes, Seconds(row.us.median * 1e-6)});
  const LinkFit fit = fit_link(samples);
  for (TransportRow& row : rows) row.fit = fit;
}

std::string as_json(const std::vector<TransportRow>& rows) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const TransportRow& row : rows) {
    json.push_back({{"transport", row.transport},
                    {"bytes", row.bytes},
                    {"median_us", row.us.median},
                    {"p10_us", row.us.p10},
                    {"p90_us", row.us.p90},
                    {"gigabytes_per_second", row.gigabytes_per_second()},
                    {"alpha_us", row.fit.link.alpha.count() * 1e6},
                    {"beta_us_per_byte", row.fit.link.beta * 1e6}});
  }
  return json.dump(2) + '\n';
}

std::string as_table(const std::vector<TransportRow>& rows) {
  std::string text = fmt::format("{:<11}{:<10}{:>11}{:>11}{:>11}{:>9}\n", "transport", "bytes", "median us",
                                 "p10", "p90", "GB/s");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const TransportRow& row = rows[i];
    text +=
        fmt::format("{:<11}{:<10}{:>11.2f}{:>11.2f}{:>11.2f}{:>9.2f}\n", row.transport, size_text(row.bytes),
                    row.us.median, row.us.p10, row.us.p90, row.gigabytes_per_second());
    if (i + 1 < rows.size() && rows[i + 1].transport == row.transport) continue;
    const Link& link = row.fit.link;
    text += fmt::format("{:<11}alpha {:.2f} us, beta {:.3f} ns a byte ({:.2f} GB/s), off by {:.0f} %\n", "",
                        link.alpha.count() * 1e6, link.beta * 1e9, link.beta > 0 ? 1e-9 / link.beta : 0,
                        100 * row.fit.residual);
  }
  return text;
}

}  // namespace

int run_transport_bench(const Arguments& arguments) {
  const std::vector<std::size_t> sizes = sizes_of(arguments, "4,64,1KiB,16KiB,64KiB,256KiB,1MiB,4MiB,16MiB");
  LoopBudget budget;
  budget.seconds = arguments.real("seconds", 0.3, 0.0001, 1e5);
  std::vector<TransportRow> rows;
  const auto add = [&](std::vector<TransportRow> more) {
    add_fit(more);
    rows.insert(rows.end(), more.begin(), more.end());
  };
  for (const std::string& name : split_list(arguments.text("transport", "inproc,shm,tcp"))) {
    const std::optional<TransportKind> kind = find_transport_kind(name);
    if (!kind || kind == TransportKind::automatic || kind == TransportKind::mpi)
      throw ConfigError("bench transport: --transport {} cannot be measured here; there is: inproc shm tcp",
                        name);
    add(measure_transport(*kind, sizes, budget));
  }
  add(measure_memcpy(sizes, budget));
  write_output(arguments.has("json") ? as_json(rows) : as_table(rows));
  return kDone;
}

}  // namespace hocket
