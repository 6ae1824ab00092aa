#include "doors/audit_log.h"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <limits>
#include <utility>

namespace cairn::doors {
namespace {

namespace json = boost::json;
using store::Space;

constexpr std::string_view kPrefix = "audit/";
constexpr size_t kMaxTextBytes = 1'024;

std::string_view Cut(std::string_view text) { return text.substr(0, kMaxTextBytes); }

std::string Encode(const AuditEntry& entry) {
  return json::serialize(json::object{{"principal", Cut(entry.principal)},
                                      {"role", entry.role},
                                      {"method", Cut(entry.method)},
                                      {"path", Cut(entry.path)},
                                      {"status", entry.status},
                                      {"duration_us", entry.duration_us},
                                      {"query", Cut(entry.query)}});
}

std::string TextOf(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value != nullptr && value->is_string() ? std::string(value->as_string()) : std::string();
}

int64_t NumberOf(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value != nullptr && value->is_int64() ? value->as_int64() : 0;
}

}  // namespace

Bytes EncodeAuditKey(Timestamp time, uint64_t number) {
  Bytes key(kPrefix);
  AppendBig64(key, static_cast<uint64_t>(time.us));
  AppendBig64(key, number);
  return key;
}

Result<AuditRow> DecodeAuditRow(BytesView key, BytesView value) {
  const Error corrupt{ErrorCode::kCorruption, "a row of the audit log cannot be read"};
  if (!key.starts_with(kPrefix)) return corrupt;
  BytesReader reader(key.substr(kPrefix.size()));
  AuditRow row;
  row.time.us = static_cast<int64_t>(reader.Big64());
  row.number = reader.Big64();
  boost::system::error_code failure;
  // Names may hold any bytes, and a long one was cut between two.
  json::parse_options any_bytes;
  any_bytes.allow_invalid_utf8 = true;
  const json::value parsed =
      json::parse(json::string_view(value.data(), value.size()), failure, {}, any_bytes);
  if (!reader.ok() || !reader.AtEnd() || failure || !parsed.is_object()) return corrupt;
  const json::object& object = parsed.as_object();
  row.entry = {.principal = TextOf(object, "principal"),
               .role = TextOf(object, "role"),
               .method = TextOf(object, "method"),
               .path = TextOf(object, "path"),
               .status = static_cast<int>(NumberOf(object, "status")),
               .duration_us = NumberOf(object, "duration_us"),
               .query = TextOf(object, "query")};
  return row;
}

void AuditLog::Append(store::Transaction& transaction, const AuditEntry& entry) {
  const Bytes key = EncodeAuditKey(transaction.now(), transaction.NewStamp());
  transaction.Put({Space::kSystem, key}, Encode(entry));
  transaction.AfterCommit([this](store::Commit) { CountAppended(); });
}

void AuditLog::CountAppended() {
  if ((appended_.fetch_add(1, std::memory_order_relaxed) + 1) % limits_.trim_every != 0) return;
  // A pool that is full, or a store that fails, leaves it to the next time.
  (void)pool_.Submit([this] { (void)Trim(); });
}

Result<void> AuditLog::Read(store::Reader& reader, std::optional<Timestamp> since,
                            std::optional<Timestamp> until,
                            const std::function<bool(const AuditRow&)>& visit) {
  store::Range range = store::Range::Prefix(Space::kSystem, kPrefix);
  if (since) range.begin = EncodeAuditKey(*since, 0);
  if (until) range.end = EncodeAuditKey(*until, 0);
  return reader.Scan(range, {.reverse = true}, [&](BytesView key, BytesView value) {
    const Result<AuditRow> row = DecodeAuditRow(key, value);
    return !row.ok() || visit(*row);
  });
}

Result<void> AuditLog::Trim() {
  CAIRN_ASSIGN_OR_RETURN(const auto snapshot, store_.Read());
  const store::Range all = store::Range::Prefix(Space::kSystem, kPrefix);
  Bytes end = EncodeAuditKey({snapshot->now().us - limits_.kept_us}, 0);
  size_t kept = 0;
  CAIRN_RETURN_IF_ERROR(
      snapshot->Scan(all, {.reverse = true, .limit = limits_.rows}, [&](BytesView key, BytesView) {
        if (++kept == limits_.rows && key > end) end = key;
        return true;
      }));
  const Result<store::Commit> done =
      store_.Run({}, [&](store::Transaction& transaction) -> Result<void> {
        transaction.DeleteRange({Space::kSystem, Bytes(kPrefix), end});
        return {};
      });
  if (!done.ok()) return done.error();
  return {};
}

}  // namespace cairn::doors
