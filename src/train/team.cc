#include "train/team.h"

#include <algorithm>
#include <exception>

#include "net/environment.h"
#include "net/meeting.h"

namespace hocket {
namespace {

GroupOptions options_for(const World& world) {
  GroupOptions options;
  options.group_of = world.host_of();
  return options;
}

}  // namespace

Team Team::join() {
  const int ranks = detect_environment(process_variables()).world_size;
  if (ranks == 1) return {};
  return {std::make_unique<World>(join_job(), WorldOptions{}), Mesh::parse("", ranks)};
}

Team::Team(std::unique_ptr<World> world, const Mesh& mesh) : mesh_(mesh), world_(std::move(world)) {
  groups_ = std::make_unique<MeshGroups>(world_->open(), mesh_, options_for(*world_));
  // Ranks that share memory reduce faster than they could wait for a thread.
  communicator_ = std::make_unique<Communicator>(*groups_, world_->transport_kind() == TransportKind::tcp);
}

Team::Team(std::unique_ptr<Transport> transport, const Mesh& mesh, bool overlap)
    : mesh_(mesh),
      groups_(std::make_unique<MeshGroups>(std::move(transport), mesh)),
      communicator_(std::make_unique<Communicator>(*groups_, overlap)) {}

MeshGroups& Team::groups() {
  HOCKET_CHECK(groups_ != nullptr, "a worker that is alone has no groups");
  return *groups_;
}

Group* Team::along(std::string_view axis) {
  return mesh_.size_of(axis) == 1 ? nullptr : &groups().along(axis);
}

Group& Team::open_along(std::string_view axis) {
  return *opened_.emplace_back(std::make_unique<Group>(groups().open_along(axis)));
}

void Team::for_each_group(const std::function<void(Group&)>& body) const {
  if (is_alone()) return;
  body(groups_->world());
  for (const Mesh::Axis& axis : mesh_.axes()) body(groups_->along(axis.name));
  if (communicator_->overlaps()) body(*communicator_->gradients());
  for (const auto& group : opened_) body(*group);
}

std::vector<int> Team::host_of() const {
  return world_ ? world_->host_of() : std::vector<int>(static_cast<std::size_t>(size()), 0);
}

AxisShare Team::share_of_host() const {
  const std::vector<int> hosts = host_of();
  const auto own = hosts.begin() + rank();
  return {static_cast<int>(std::count(hosts.begin(), own, *own)),
          static_cast<int>(std::count(hosts.begin(), hosts.end(), *own))};
}

std::string Team::transport() const {
  return is_alone() ? "none" : std::string(groups_->world().transport().name());
}

Traffic Team::traffic() const {
  Traffic all;
  for_each_group([&](Group& group) {
    all.messages_sent += group.traffic().messages_sent;
    all.bytes_sent += group.traffic().bytes_sent;
    all.messages_received += group.traffic().messages_received;
    all.bytes_received += group.traffic().bytes_received;
    all.rounds += group.traffic().rounds;
  });
  if (communicator_ != nullptr && communicator_->has_links()) {
    const Traffic links = communicator_->links().traffic();
    all.messages_sent += links.messages_sent;
    all.bytes_sent += links.bytes_sent;
    all.messages_received += links.messages_received;
    all.bytes_received += links.bytes_received;
  }
  return all;
}

void Team::set_flight_folder(const std::filesystem::path& folder) {
  for_each_group([&](Group& group) { group.set_flight_folder(folder); });
}

void Team::sum_along(std::string_view axis, std::span<double> values) {
  if (Group* group = along(axis)) group->all_reduce(values);
}

void Team::sum_bytes(std::span<std::byte> bytes) {
  if (is_alone()) return;
  groups_->world().all_reduce(std::span(reinterpret_cast<std::uint8_t*>(bytes.data()), bytes.size()));
}

bool Team::any(bool flag) {
  if (is_alone()) return flag;
  std::int32_t value = flag ? 1 : 0;
  groups_->world().all_reduce(std::span(&value, 1), Reduction::max);
  return value != 0;
}

void Team::barrier() {
  if (!is_alone()) groups_->world().barrier();
}

std::vector<std::string> Team::gather(const std::string& own) {
  if (is_alone()) return {own};
  Group& world = groups_->world();
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(size()));
  lengths[static_cast<std::size_t>(rank())] = static_cast<std::int64_t>(own.size());
  world.all_gather(std::span(lengths));

  std::vector<std::size_t> blocks(lengths.begin(), lengths.end());
  std::vector<std::uint8_t> bytes;
  for (Rank from = 0; from < size(); ++from) {
    if (from == rank()) bytes.insert(bytes.end(), own.begin(), own.end());
    if (from != rank()) bytes.resize(bytes.size() + blocks[static_cast<std::size_t>(from)]);
  }
  world.all_gather(std::span(bytes), blocks);

  std::vector<std::string> texts;
  auto at = bytes.begin();
  for (const std::int64_t length : lengths) {
    texts.emplace_back(at, at + length);
    at += length;
  }
  return texts;
}

std::vector<double> Team::gather(std::span<const double> own) {
  std::vector<double> all(own.size() * static_cast<std::size_t>(size()));
  std::copy(own.begin(), own.end(), all.begin() + rank() * static_cast<std::ptrdiff_t>(own.size()));
  if (!is_alone()) groups_->world().all_gather(std::span(all));
  return all;
}

void Team::attempt(const std::function<void()>& body) {
  if (is_alone()) return body();
  std::exception_ptr failure;
  std::string what;
  try {
    body();
  } catch (const Error& error) {
    failure = std::current_exception();
    what = fmt::format("rank {}: {}", rank(), error.what());
  }
  const std::vector<std::string> all = gather(what);
  const auto first =
      std::find_if(all.begin(), all.end(), [](const std::string& text) { return !text.empty(); });
  if (first == all.end()) return;
  if (first - all.begin() == rank()) std::rethrow_exception(failure);
  throw FailedElsewhere("{}", *first);
}

}  // namespace hocket
