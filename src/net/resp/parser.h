#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "net/resp/limits.h"

namespace cairn::net {

// Cuts a connection's input into requests: arrays of bulk strings, or inline commands with Redis's
// quoting rules. Input may arrive in any pieces; no byte is looked at again because more arrived,
// so a request costs time proportional to its length however it is split.
//
//   while (true) {
//     switch (parser.Parse(input)) {                       // input: everything not yet consumed
//       case RespParser::Status::kRequest:
//         Execute(parser.args());                          // views into input
//         input.remove_prefix(parser.consumed());
//         continue;
//       case RespParser::Status::kNeedMore: …read; the input may have moved in memory
//       case RespParser::Status::kError:    …reply "-ERR " + parser.error(), close
//     }
//   }
//
// Used by one thread at a time.
class RespParser {
 public:
  enum class Status { kRequest, kNeedMore, kError };

  explicit RespParser(const RespLimits& limits = {}) : limits_(limits) {}

  // Looks for one request at the front of `input`. After kNeedMore the next call's input must begin
  // with the same bytes and go on with new ones; after kRequest it begins `consumed()` bytes later;
  // after kError the parser is spent.
  Status Parse(std::string_view input);

  // After kRequest: the arguments, valid until the input is overwritten or Parse is called again.
  // Empty for an empty line or an empty array, which get no reply.
  std::span<const std::string_view> args() const { return args_; }
  // After kRequest: how many bytes of the input the request took.
  size_t consumed() const { return consumed_; }
  // After kNeedMore: the length the input must at least have before another call can get further.
  // Otherwise 0.
  size_t needed() const { return needed_; }
  // After kError: what to tell the client, without the leading "-ERR ".
  const std::string& error() const { return error_; }

  // Forgets the part it has seen of a request that is not complete: the next input begins with the
  // first byte of that request, or of one before it.
  void Restart();

  // Gives back what an unusually long request made the parser allocate. Between requests only.
  void ReleaseMemory();

  // Whether the limits for clients that have authenticated apply, which is so from the start.
  // Counts from the next length line on.
  void set_authenticated(bool authenticated) { authenticated_ = authenticated; }
  bool authenticated() const { return authenticated_; }
  // RespLimits::bulk_bytes from the next length line on.
  void set_bulk_limit(int64_t bytes) { limits_.bulk_bytes = bytes; }

 private:
  struct Slice {
    size_t offset;
    size_t size;
  };
  enum class Line { kFound, kNeedMore, kTooLong };

  Status ParseInline(std::string_view input);
  Status ParseArray(std::string_view input);
  Line FindLine(std::string_view input, char end);
  bool SplitInline(std::string_view line);
  Status Finish(size_t consumed);
  Status NeedMore(size_t length);
  Status Fail(std::string message);

  RespLimits limits_;
  bool authenticated_ = true;
  // The state of a request of which only a part has arrived; offsets count from its first byte.
  int64_t missing_args_ = -1;  // -1: the array's length is not known yet
  int64_t bulk_bytes_ = -1;    // -1: the length of the next argument is not known yet
  size_t position_ = 0;        // everything before it is parsed
  size_t scanned_ = 0;         // where to go on looking for the end of a line
  std::vector<Slice> slices_;

  std::vector<std::string_view> args_;
  std::string unquoted_;  // what the arguments of an inline request are after unquoting
  size_t consumed_ = 0;
  size_t needed_ = 0;
  std::string error_;
};

}  // namespace cairn::net
