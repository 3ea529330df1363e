#include "net/tls_stream.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string>
#include <string_view>

#include "base/error.h"
#include "net/job_key.h"

namespace hocket {
namespace {

constexpr std::string_view kIdentity = "hocket";
constexpr unsigned char kAes128GcmSha256[] = {0x13, 0x01};

// OpenSSL's own socket BIO writes with write(2), which raises SIGPIPE.
int move(BIO* bio, auto&& transfer) {
  BIO_clear_retry_flags(bio);
  while (true) {
    const auto moved = transfer(*static_cast<const int*>(BIO_get_data(bio)));
    if (moved >= 0) return static_cast<int>(moved);
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) BIO_set_retry_read(bio);
    return -1;
  }
}

int bio_write(BIO* bio, const char* bytes, int size) {
  const int moved =
      move(bio, [&](int fd) { return ::send(fd, bytes, static_cast<std::size_t>(size), MSG_NOSIGNAL); });
  if (BIO_should_read(bio) != 0) {
    BIO_clear_retry_flags(bio);
    BIO_set_retry_write(bio);
  }
  return moved;
}

int bio_read(BIO* bio, char* into, int size) {
  return move(bio, [&](int fd) { return ::recv(fd, into, static_cast<std::size_t>(size), 0); });
}

long bio_control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

struct FreeMethod {
  void operator()(BIO_METHOD* method) const { BIO_meth_free(method); }
};

BIO* new_bio(const int& fd) {
  static const std::unique_ptr<BIO_METHOD, FreeMethod> method = [] {
    std::unique_ptr<BIO_METHOD, FreeMethod> made(BIO_meth_new(BIO_TYPE_SOURCE_SINK, "hocket socket"));
    HOCKET_CHECK(made != nullptr);
    BIO_meth_set_write(made.get(), bio_write);
    BIO_meth_set_read(made.get(), bio_read);
    BIO_meth_set_ctrl(made.get(), bio_control);
    return made;
  }();
  BIO* bio = BIO_new(method.get());
  HOCKET_CHECK(bio != nullptr);
  BIO_set_data(bio, const_cast<int*>(&fd));
  BIO_set_init(bio, 1);
  return bio;
}

struct FreeContext {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};

// The session that stands for the pre-shared key; both ends make the same. OpenSSL frees it.
SSL_SESSION* session_of(SSL* ssl) {
  const auto& secret = *static_cast<const JobKey*>(SSL_get_app_data(ssl));
  SSL_SESSION* session = SSL_SESSION_new();
  HOCKET_CHECK(session != nullptr);
  SSL_SESSION_set1_master_key(session, reinterpret_cast<const unsigned char*>(secret.data()), secret.size());
  SSL_SESSION_set_cipher(session, SSL_CIPHER_find(ssl, kAes128GcmSha256));
  SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION);
  return session;
}

int use_session(SSL* ssl, const EVP_MD*, const unsigned char** identity, std::size_t* size,
                SSL_SESSION** session) {
  *identity = reinterpret_cast<const unsigned char*>(kIdentity.data());
  *size = kIdentity.size();
  *session = session_of(ssl);
  return 1;
}

int find_session(SSL* ssl, const unsigned char* identity, std::size_t size, SSL_SESSION** session) {
  const std::string_view found(reinterpret_cast<const char*>(identity), size);
  *session = found == kIdentity ? session_of(ssl) : nullptr;
  return 1;
}

SSL_CTX* shared_context() {
  static const std::unique_ptr<SSL_CTX, FreeContext> context = [] {
    std::unique_ptr<SSL_CTX, FreeContext> made(SSL_CTX_new(TLS_method()));
    HOCKET_CHECK(made != nullptr);
    SSL_CTX_set_min_proto_version(made.get(), TLS1_3_VERSION);
    SSL_CTX_set_ciphersuites(made.get(), "TLS_AES_128_GCM_SHA256");
    SSL_CTX_set_num_tickets(made.get(), 0);
    SSL_CTX_set_mode(made.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_psk_use_session_callback(made.get(), use_session);
    SSL_CTX_set_psk_find_session_callback(made.get(), find_session);
    return made;
  }();
  return context.get();
}

// What fail() reads is then of the call that follows.
void clear_errors() {
  ERR_clear_error();
  errno = 0;
}

int clamp_size(std::size_t bytes) { return static_cast<int>(std::min<std::size_t>(bytes, INT_MAX)); }

}  // namespace

void TlsStream::Free::operator()(ssl_st* ssl) const { SSL_free(ssl); }

TlsStream::TlsStream(FileDescriptor socket, Role role, const JobKey& key)
    : socket_(std::move(socket)),
      raw_socket_(socket_.get()),
      secret_(derived_key(key, "hocket tls")),
      ssl_(SSL_new(shared_context())) {
  HOCKET_CHECK(ssl_ != nullptr);
  SSL_set_app_data(ssl_.get(), &secret_);
  BIO* bio = new_bio(raw_socket_);
  SSL_set_bio(ssl_.get(), bio, bio);
  role == Role::connecting ? SSL_set_connect_state(ssl_.get()) : SSL_set_accept_state(ssl_.get());
}

TlsStream::~TlsStream() {
  if (SSL_is_init_finished(ssl_.get()) == 0) return;
  SSL_shutdown(ssl_.get());
  clear_errors();
}

bool TlsStream::establish() {
  clear_errors();
  const int code = SSL_do_handshake(ssl_.get());
  if (code == 1) return true;
  if (must_wait(code)) return false;
  fail(code);
}

std::size_t TlsStream::write_some(std::span<const std::byte> bytes) {
  if (bytes.empty()) return 0;
  clear_errors();
  const int moved = SSL_write(ssl_.get(), bytes.data(), clamp_size(bytes.size()));
  if (moved > 0) return static_cast<std::size_t>(moved);
  if (must_wait(moved)) return 0;
  fail(moved);
}

std::size_t TlsStream::read_some(std::span<std::byte> into) {
  if (into.empty()) return 0;
  clear_errors();
  const int moved = SSL_read(ssl_.get(), into.data(), clamp_size(into.size()));
  if (moved > 0) return static_cast<std::size_t>(moved);
  if (must_wait(moved)) return 0;
  fail(moved);
}

bool TlsStream::must_wait(int code) const {
  const int error = SSL_get_error(ssl_.get(), code);
  return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;
}

void TlsStream::fail(int code) const {
  const int error = SSL_get_error(ssl_.get(), code);
  const unsigned long detail = ERR_peek_error();
  if (error == SSL_ERROR_ZERO_RETURN) throw StreamClosed("peer closed the connection");
  if (error == SSL_ERROR_SYSCALL && errno != 0) throw StreamClosed(std::strerror(errno));
  if (detail == 0 || ERR_GET_REASON(detail) == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
    throw StreamClosed("peer closed the connection");
  }
  throw StreamClosed(std::string("TLS failed: ") + ERR_reason_error_string(detail));
}

}  // namespace hocket
