#include "actors/metrics.h"

#include <memory>
#include <optional>

#include "actors/model/keys.h"

namespace cairn::actors {
namespace {

Result<double> ReadCounter(store::Reader& reader, const Bytes& key) {
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> value, reader.Get(InActors(key)));
  return value ? static_cast<double>(static_cast<int64_t>(BytesReader(*value).Big64())) : 0.0;
}

}  // namespace

Result<void> WriteMetrics(store::Store& store, house::MetricsWriter& writer) {
  CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<store::Snapshot> reader, store.Read());
  CAIRN_ASSIGN_OR_RETURN(const double actors, ReadCounter(*reader, ActorCountKey()));
  CAIRN_ASSIGN_OR_RETURN(const double bytes, ReadCounter(*reader, ByteCountKey()));
  writer.Gauge("cairn_actors", "Actors that there are now.", actors);
  writer.Gauge("cairn_actors_bytes", "Keys and values that actors keep, in bytes.", bytes);
  return {};
}

}  // namespace cairn::actors
