#include "data/commands.h"

#include <memory>

#include "data/hash/commands.h"
#include "data/json/commands.h"
#include "data/keyspace/commands.h"
#include "data/list/commands.h"
#include "data/script/commands.h"
#include "data/server/commands.h"
#include "data/set/commands.h"
#include "data/sorted_set/commands.h"
#include "data/stream/commands.h"
#include "data/string/commands.h"
#include "data/value/encoding_limits.h"
#include "data/value/entry.h"

namespace cairn::data {

void AddDataCommands(doors::Instance& instance) {
  const auto limits = std::make_shared<EncodingLimits>();
  instance.hooks().version_reader = ReadVersion;
  instance.hooks().key_encoder = AppendRecordKey;
  instance.traffic().tracking.set_key_decoder([](BytesView stored) -> std::optional<BytesView> {
    const std::optional<RecordKey> key = DecodeRecordKey(stored);
    return key ? std::optional(key->user_key) : std::nullopt;
  });
  AddStringCommands(instance);
  AddBitCommands(instance);
  AddHyperLogLogCommands(instance);
  AddHashCommands(instance, limits);
  AddSetCommands(instance, limits);
  AddSetAlgebraCommands(instance);
  AddSortedSetCommands(instance, limits);
  AddSortedSetRangeCommands(instance);
  AddSortedSetPopCommands(instance);
  AddSortedSetAlgebraCommands(instance);
  AddGeoCommands(instance);
  AddKeyCommands(instance, limits);
  AddListCommands(instance);
  AddListBlockingCommands(instance);
  AddStreamCommands(instance);
  AddStreamReadCommands(instance);
  AddStreamGroupCommands(instance);
  AddStreamInfoCommands(instance);
  AddDumpCommands(instance);
  AddSortCommands(instance);
  AddScanCommands(instance);
  AddServerCommands(instance);
  AddJsonDocumentCommands(instance);
  AddJsonValueCommands(instance);
  AddJsonArrayCommands(instance);
  AddScriptCommands(instance);
  AddFunctionCommands(instance);
  AddDiagnosticCommands(instance);
  AddLatencyCommands(instance);
  AddDebugCommand(instance, limits);
  AddTopologyCommands(instance);
  AddFixedSettings(instance, limits);
}

}  // namespace cairn::data
