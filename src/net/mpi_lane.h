#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "net/lane.h"
#include "net/mpi_plugin.h"
#include "net/transport.h"

namespace hocket {

// The transfers with one peer over MPI, and how far the first of each direction is. A transfer is one message
// of MPI with a frame header and the payload; a payload that is not small follows in messages of a piece
// each, from and to where it lies, a few of them under way together. MPI keeps messages of one tag in order.
// Used by one thread.
class MpiLane {
 public:
  static constexpr std::size_t kFirstBytes =
      4032;  // The most in the first message: most MPIs send it at once.
  static constexpr std::size_t kSmallBytes = kFirstBytes - sizeof(FrameHeader);
  static constexpr std::size_t kPieceBytes = std::size_t{1} << 18;

  MpiLane(MpiPlugin& mpi, Rank peer, int tag, std::uint64_t job);
  ~MpiLane();  // What is under way is abandoned.
  MpiLane(const MpiLane&) = delete;
  MpiLane& operator=(const MpiLane&) = delete;

  void send(std::uint64_t serial, const Label& label, std::span<const std::byte> bytes);
  void recv(std::uint64_t serial, const Label& label, Incoming incoming);

  // Move what can be moved now; whether anything was. Throw MpiFailure, or FrameMismatch with the two labels
  // through `text_of`.
  bool advance_send();
  bool advance_recv(const std::function<std::string(const Label&)>& text_of);

  bool has_sent(std::uint64_t serial) const { return sends_.empty() || sends_.front().serial > serial; }
  bool has_received(std::uint64_t serial) const { return recvs_.empty() || recvs_.front().serial > serial; }
  bool is_idle() const { return sends_.empty() && recvs_.empty(); }
  const Label* label_of_first(Pending::Direction direction) const;

 private:
  static constexpr std::size_t kWindow = 4;  // Messages under way in one direction.

  struct Outgoing {
    std::uint64_t serial;
    FrameHeader header;
    std::span<const std::byte> bytes;
    std::size_t started = 0;  // Messages of MPI.
    std::size_t done = 0;
  };
  struct Expected {
    std::uint64_t serial;
    Label label;
    Incoming incoming;
    std::size_t started = 0;
    std::size_t done = 0;
  };
  struct Memory;  // Which MPI reads and writes.

  void start_message(Outgoing& out);
  void start_message(Expected& expected);
  void take_first(const Expected& expected, std::size_t arrived,
                  const std::function<std::string(const Label&)>& text_of);
  void take_piece(const Expected& expected, std::size_t arrived);
  std::span<std::byte> place_of_piece(const Expected& expected, std::size_t message);

  MpiPlugin& mpi_;
  Rank peer_;
  int tag_;
  std::uint32_t job_;
  TransferQueue<Outgoing> sends_;
  TransferQueue<Expected> recvs_;
  std::array<MpiRequest, kWindow> send_requests_ = {};  // By message modulo kWindow.
  std::array<MpiRequest, kWindow> recv_requests_ = {};
  std::shared_ptr<Memory> memory_;
};

}  // namespace hocket
