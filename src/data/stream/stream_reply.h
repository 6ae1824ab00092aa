#pragma once

#include <cstddef>
#include <string>

#include "data/stream/stream.h"
#include "net/resp/writer.h"

// How streams appear in replies.
namespace cairn::data {

// An array whose length is known only at its end: elements are kept aside until then.
//
//   ReplyList entries(context.reply);
//   WriteEntry(entries.Next(), entry);
//   entries.WriteTo(context.reply);
class ReplyList {
 public:
  explicit ReplyList(const net::RespWriter& reply) : reply_(reply) {}

  // For exactly one element.
  net::RespWriter Next() {
    ++count_;
    return reply_.Beside(buffer_);
  }
  size_t count() const { return count_; }
  void WriteTo(net::RespWriter out) const {
    out.ArrayHeader(count_);
    out.Raw(buffer_);
  }
  // Where each element is a name and what belongs to it: a map for those who know maps.
  const std::string& elements() const { return buffer_; }

 private:
  const net::RespWriter reply_;
  size_t count_ = 0;
  std::string buffer_;
};

// The id, and names and values in turn.
void WriteEntry(net::RespWriter out, const StreamEntry& entry);

// The id of the last entry that is there; 0-0 if there is none.
Result<StreamId> FindTopId(Stream& stream);

}  // namespace cairn::data
