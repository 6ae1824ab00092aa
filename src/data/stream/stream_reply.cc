#include "data/stream/stream_reply.h"

namespace cairn::data {

void WriteEntry(net::RespWriter out, const StreamEntry& entry) {
  out.ArrayHeader(2);
  out.Bulk(FormatStreamId(entry.id));
  out.ArrayHeader(entry.fields.size());
  for (const BytesView field : entry.fields) out.Bulk(field);
}

Result<StreamId> FindTopId(Stream& stream) {
  StreamId top;
  CAIRN_RETURN_IF_ERROR(stream.Visit({.reverse = true, .limit = 1}, [&](const StreamEntry& entry) {
    top = entry.id;
    return false;
  }));
  return top;
}

}  // namespace cairn::data
