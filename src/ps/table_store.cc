// An update sums the gradients of each id in the order of the terms, gathers the rows of many ids to a block
// that stays in cache, runs the optimizer's kernel on the block and puts the rows back.
#include "ps/table_store.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/error.h"
#include "base/rng.h"
#include "base/unique_ids.h"
#include "net/wire.h"
#include "nn/update_spec.h"
#include "ps/sparse_table.h"
#include "tensor/kernels/update.h"
#include "tensor/reference/update.h"

namespace hocket {
namespace {

constexpr std::int64_t kMaxWidth = std::int64_t{1} << 20;
constexpr std::size_t kBlockElements = 1024;

template <typename T>
std::vector<T> copied(const Payload& payload) {
  std::vector<T> values(payload.bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), payload.bytes.data(), values.size() * sizeof(T));
  return values;
}

UpdateSpec update_spec_of(const RangeSpec& spec) {
  UpdateSpec update = update_spec_of(spec.optimizer);
  update.decay = spec.optimizer.weight_decay;
  update.dtype = spec.dtype;
  return update;
}

std::size_t payload_bytes(const RangeSpec& spec) {
  if (spec.width <= 0 || spec.width > kMaxWidth)
    throw NetError("a table's rows cannot have {} values", spec.width);
  const auto slots = static_cast<std::size_t>(update_spec_of(spec).slots());
  return static_cast<std::size_t>(spec.width) * (1 + slots) * size_of(spec.dtype);
}

void put_header(WireWriter& out, std::size_t element, std::size_t payload, std::size_t rows) {
  out.put(static_cast<std::uint8_t>(element));
  out.put(static_cast<std::uint64_t>(payload));
  out.put(static_cast<std::uint64_t>(rows));
}

void decode_rows(std::span<const std::byte> bytes, std::size_t element, std::size_t payload_bytes,
                 const TakeRow& take) {
  WireReader in(bytes);
  bool is_sane = in.get<std::uint8_t>() == element;
  is_sane = in.get<std::uint64_t>() == payload_bytes && is_sane;
  const auto count = in.get<std::uint64_t>();
  for (std::uint64_t i = 0; i < count && is_sane; ++i) {
    const auto id = in.get<std::uint64_t>();
    const auto payload = in.get_bytes(payload_bytes);
    is_sane = in.is_good();
    if (is_sane) take(id, payload);
  }
  if (!is_sane || !in.is_good() || !in.is_at_end())
    throw NetError("{} bytes are no saved table with rows of {} bytes", bytes.size(), payload_bytes);
}

template <typename T>
class TableStore final : public Store {
 public:
  explicit TableStore(const Init& init)
      : seed_(init.spec.seed),
        spread_(init.spec.spread),
        payload_bytes_(payload_bytes(init.spec)),
        width_(static_cast<std::size_t>(init.spec.width)),
        parts_(payload_bytes_ / (width_ * sizeof(T))),
        block_rows_(std::max<std::size_t>(1, kBlockElements / width_)),
        table_(std::make_unique<SparseTable>(payload_bytes_)) {
    UpdateSpec update = update_spec_of(init.spec);
    update.count = static_cast<std::int64_t>(block_rows_ * width_);
    kernel_ = kernel::make_update(update);
    if (!kernel_) kernel_ = reference::make_update(update);
    block_ = Arena((1 + parts_) * part_bytes());
    if (!init.state.bytes.empty()) throw NetError("the optimizer's state of a table comes with its values");
    if (!init.values.bytes.empty()) restore(init.values.bytes);
  }

  bool fits(const Push& push) const override {
    const std::size_t rows = push.ids.bytes.size() / sizeof(std::uint64_t);
    return push.ids.bytes.size() % sizeof(std::uint64_t) == 0 &&
           push.values.bytes.size() == rows * width_ * sizeof(T);
  }

  void apply(std::span<const WeightedPush> terms, const Hyper& hyper) override {
    const double common = sum_rows(terms);
    const std::span<const std::uint64_t> ids = unique_.ids();
    table_->find_all(ids, rows_);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (rows_[i] == nullptr) rows_[i] = make_row(ids[i]);
    }
    std::array<double, 4> numbers{hyper.learning_rate, hyper.bias_correction1, hyper.bias_correction2,
                                  hyper.divisor / common};
    for (std::size_t at = 0; at < ids.size(); at += block_rows_)
      update(at, std::min(block_rows_, ids.size() - at), numbers.data());
  }

  Payload read(const Payload& ids) override { return parts_of(ids, 0, 1, values_); }
  Payload state(const Payload& ids) override {
    if (!ids.bytes.empty()) return parts_of(ids, 1, parts_ - 1, state_);
    saved_ = save();
    return {saved_, nullptr};
  }

  std::vector<std::byte> save() const override {
    WireWriter out;
    put_header(out, sizeof(T), payload_bytes_, table_->size());
    for (std::size_t row = 0; row < table_->size(); ++row) {
      out.put(table_->id(row));
      out.put_bytes({table_->payload(row), payload_bytes_});
    }
    return out.take();
  }

  void restore(std::span<const std::byte> bytes) override {
    auto table = std::make_unique<SparseTable>(payload_bytes_);
    decode_rows(bytes, sizeof(T), payload_bytes_, [&](std::uint64_t id, std::span<const std::byte> payload) {
      if (table->find(id) != nullptr) throw NetError("a saved table has row {} twice", id);
      std::memcpy(table->add(id), payload.data(), payload_bytes_);
    });
    table_ = std::move(table);
  }

 private:
  std::size_t part_bytes() const { return align_up(block_rows_ * width_ * sizeof(T)); }
  T* part(std::size_t i) const { return reinterpret_cast<T*>(block_.data() + i * part_bytes()); }

  // The gradients of every id to sums_; returns the weight that they still lack.
  double sum_rows(std::span<const WeightedPush> terms) {
    HOCKET_CHECK(!terms.empty(), "an update without gradients");
    const double first = terms.front().weight;
    const bool is_even = std::all_of(terms.begin(), terms.end(),
                                     [&](const WeightedPush& term) { return term.weight == first; });
    unique_.clear();
    sums_.clear();
    for (const WeightedPush& term : terms) add_term(*term.push, static_cast<T>(is_even ? 1 : term.weight));
    return is_even ? first : 1;
  }

  void add_term(const Push& push, T weight) {
    const std::vector<std::uint64_t> ids = copied<std::uint64_t>(push.ids);
    const std::vector<T> gradient = copied<T>(push.values);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const T* from = gradient.data() + i * width_;
      const std::size_t at = unique_.add(ids[i]) * width_;
      if (at == sums_.size()) {
        for (std::size_t j = 0; j < width_; ++j) sums_.push_back(weight * from[j]);
      } else {
        for (std::size_t j = 0; j < width_; ++j) sums_[at + j] += weight * from[j];
      }
    }
  }

  void fill_initial(std::uint64_t id, T* values) const {
    Rng rng{seed_, id};
    for (std::size_t j = 0; j < width_; ++j) values[j] = static_cast<T>(rng.uniform(-spread_, spread_));
  }

  std::byte* make_row(std::uint64_t id) {
    std::byte* row = table_->add(id);
    if (spread_ == 0) return row;
    std::vector<T> values(width_);
    fill_initial(id, values.data());
    std::memcpy(row, values.data(), width_ * sizeof(T));
    return row;
  }

  // Rows [at, at + count) of rows_ and sums_. The block is as long as the kernel's; what is behind the rows
  // is left from before and goes nowhere.
  void update(std::size_t at, std::size_t count, double* hyper) {
    const std::size_t bytes = width_ * sizeof(T);
    std::memcpy(part(parts_), sums_.data() + at * width_, count * bytes);
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t p = 0; p < parts_; ++p)
        std::memcpy(part(p) + i * width_, rows_[at + i] + p * bytes, bytes);
    }
    std::array<std::byte*, 5> in{reinterpret_cast<std::byte*>(part(0)),
                                 reinterpret_cast<std::byte*>(part(parts_)),
                                 reinterpret_cast<std::byte*>(hyper)};
    for (std::size_t p = 1; p < parts_; ++p) in[2 + p] = reinterpret_cast<std::byte*>(part(p));
    kernel_->run(std::span(in).first(2 + parts_), {}, nullptr);
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t p = 0; p < parts_; ++p)
        std::memcpy(rows_[at + i] + p * bytes, part(p) + i * width_, bytes);
    }
  }

  // `count` parts of each row from `first` on, in `answer`.
  Payload parts_of(const Payload& wanted, std::size_t first, std::size_t count, std::vector<T>& answer) {
    const std::vector<std::uint64_t> ids = copied<std::uint64_t>(wanted);
    const std::size_t size = count * width_;
    answer.assign(ids.size() * size, T{});
    table_->find_all(ids, rows_);
    for (std::size_t i = 0; i < ids.size() && size > 0; ++i) {
      T* to = answer.data() + i * size;
      if (rows_[i] != nullptr) {
        std::memcpy(to, rows_[i] + first * width_ * sizeof(T), size * sizeof(T));
      } else if (first == 0 && spread_ != 0) {
        fill_initial(ids[i], to);
      }
    }
    return {std::as_bytes(std::span(answer)), nullptr};
  }

  std::uint64_t seed_;
  double spread_;
  std::size_t payload_bytes_, width_, parts_, block_rows_;  // Parts: values and each of the slots.
  std::unique_ptr<SparseTable> table_;
  std::unique_ptr<Kernel> kernel_;
  Arena block_;  // The parts of the rows that are updated together, then their gradients.
  UniqueIds unique_;
  std::vector<T> sums_, values_, state_;  // The last two: what was read.
  std::vector<std::byte> saved_;
  std::vector<std::byte*> rows_;
};

}  // namespace

std::unique_ptr<Store> make_table_store(const Init& init) {
  if (init.spec.dtype == DType::f64) return std::make_unique<TableStore<double>>(init);
  return std::make_unique<TableStore<float>>(init);
}

std::vector<std::byte> encode_table(const RangeSpec& spec, std::span<const std::uint64_t> ids,
                                    std::span<const std::byte> values, std::span<const std::byte> state) {
  const std::size_t payload = payload_bytes(spec);
  const std::size_t own = static_cast<std::size_t>(spec.width) * size_of(spec.dtype);
  const std::size_t rest = payload - own;
  if (values.size() != ids.size() * own || (!state.empty() && state.size() != ids.size() * rest))
    throw NetError("{} rows of a table come with {} bytes of values and {} of state", ids.size(),
                   values.size(), state.size());
  const std::vector<std::byte> zero(rest);
  WireWriter out;
  put_header(out, size_of(spec.dtype), payload, ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    out.put(ids[i]);
    out.put_bytes(values.subspan(i * own, own));
    out.put_bytes(state.empty() ? std::span(zero) : state.subspan(i * rest, rest));
  }
  return out.take();
}

void decode_table(const RangeSpec& spec, std::span<const std::byte> bytes, const TakeRow& take) {
  decode_rows(bytes, size_of(spec.dtype), payload_bytes(spec), take);
}

std::size_t predicted_table_bytes(const RangeSpec& spec, std::size_t rows) {
  return SparseTable(payload_bytes(spec)).predicted_bytes(rows);
}

}  // namespace hocket
