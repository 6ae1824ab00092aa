#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/check.h"

namespace cairn {

// Why an operation failed, as far as a caller can react differently. The texts that clients see are
// in Error::message; the mapping to a RESP prefix and an HTTP status is one table in doors/.
enum class ErrorCode {
  kInvalid,         // the request is malformed; retrying it unchanged cannot help
  kNotFound,        // the named thing does not exist
  kConflict,        // the named thing is in another state than the request needs
  kTooLarge,        // past a limit on size
  kTooMany,         // past a limit on rate or count; later may work
  kUnauthorized,    // no or wrong credentials
  kForbidden,       // known, but not allowed
  kUnavailable,     // cannot serve this now (stopping, writes stopped, engine away)
  kOutcomeUnknown,  // may or may not have happened
  kCorruption,      // stored bytes are not what was written
  kIo,              // the disk or the network failed
  kWouldBlock,  // internal to the store: the answer is on disk, ask again from a thread that may
                // wait
  kInternal,    // a bug of ours
};

// The name of a code as it appears in logs and JSON: "invalid", "not_found", …
std::string_view ErrorCodeName(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;

  friend bool operator==(const Error&, const Error&) = default;
};

// A value or the Error that kept it from being made. Result<void> carries only success or the
// Error.
//
//   Result<Config> config = LoadConfig(path);
//   if (!config.ok()) return config.error();
//   Use(*config);
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value)
      : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT(google-explicit-constructor)
  Result(Error error)
      : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  const Error& error() const {
    CAIRN_CHECK(!ok());
    return std::get<1>(state_);
  }

  T& value() & {
    CheckOk();
    return std::get<0>(state_);
  }
  const T& value() const& {
    CheckOk();
    return std::get<0>(state_);
  }
  T&& value() && {
    CheckOk();
    return std::get<0>(std::move(state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  void CheckOk() const { CAIRN_CHECK(ok(), "{}", std::get<1>(state_).message); }

  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const {
    CAIRN_CHECK(!ok());
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

}  // namespace cairn

// Leaves the enclosing function with the error of `expression` if it has one.
#define CAIRN_RETURN_IF_ERROR(expression)                         \
  do {                                                            \
    if (auto cairn_status_ = (expression); !cairn_status_.ok()) { \
      return cairn_status_.error();                               \
    }                                                             \
  } while (false)

#define CAIRN_CONCAT_INNER(a, b) a##b
#define CAIRN_CONCAT(a, b) CAIRN_CONCAT_INNER(a, b)

// CAIRN_ASSIGN_OR_RETURN(auto value, F()): value of F(), or leaves with its error.
#define CAIRN_ASSIGN_OR_RETURN(declaration, expression) \
  CAIRN_ASSIGN_OR_RETURN_IMPL(CAIRN_CONCAT(cairn_result_, __LINE__), declaration, expression)
#define CAIRN_ASSIGN_OR_RETURN_IMPL(result, declaration, expression) \
  auto result = (expression);                                        \
  if (!result.ok()) return result.error();                           \
  declaration = std::move(*result)
