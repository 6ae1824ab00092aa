#include "seats/section_index.h"

#include <utility>

#include "data/value/entry.h"
#include "seats/limits.h"

namespace cairn::seats {
namespace {

Result<data::StringValue> Open(store::Transaction& transaction, uint8_t db,
                               const std::string& key) {
  CAIRN_ASSIGN_OR_RETURN(data::Entry entry, data::Entry::Load(transaction, db, key));
  return data::StringValue::Open(std::move(entry));
}

}  // namespace

Result<SectionIndex> SectionIndex::Load(store::Transaction& transaction, uint8_t db,
                                        const std::string& key) {
  CAIRN_ASSIGN_OR_RETURN(data::StringValue string, Open(transaction, db, key));
  if (string.wrong_type()) return SectionIndex("");
  CAIRN_ASSIGN_OR_RETURN(const BytesView bytes, string.ReadAll());
  return SectionIndex(std::string(bytes));
}

uint8_t SectionIndex::longest(int64_t place) const {
  const auto at = static_cast<size_t>(place);
  return at < bytes_.size() ? static_cast<uint8_t>(bytes_[at]) : kMaxIndexedRun;
}

Result<void> SectionIndex::Update(store::Transaction& transaction, uint8_t db,
                                  const std::string& key, int64_t place, uint8_t longest) {
  CAIRN_ASSIGN_OR_RETURN(data::StringValue string, Open(transaction, db, key));
  const auto at = static_cast<size_t>(place);
  if (string.wrong_type() || at >= string.size()) return {};
  const Bytes now(1, static_cast<char>(longest));
  CAIRN_ASSIGN_OR_RETURN(const Bytes byte, string.Read(at, 1));
  if (byte == now) return {};
  CAIRN_RETURN_IF_ERROR(string.Write(at, now));
  string.Save();
  return {};
}

Result<void> SectionIndex::Create(store::Transaction& transaction, uint8_t db,
                                  const std::string& key, const std::string& bytes) {
  CAIRN_ASSIGN_OR_RETURN(data::Entry entry, data::Entry::Load(transaction, db, key));
  data::PutString(entry, bytes);
  return {};
}

}  // namespace cairn::seats
