#include "admin/key_routes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/value.hpp>
#include <map>
#include <memory>
#include <utility>

#include "admin/limits.h"
#include "base/bytes.h"
#include "base/json_text.h"
#include "base/time_text.h"
#include "doors/http/request_values.h"
#include "doors/turn/on_pool.h"

namespace cairn::admin {
namespace {

using boost::asio::awaitable;
using doors::QueryNumber;
using doors::RouteCall;
using doors::TextOf;
using house::Role;
using house::RoleName;
using net::HttpReply;

constexpr size_t kKeyBytes = 32;
constexpr int64_t kDefaultAuditPage = 100;

#define CAIRN_GRANTS                                                              \
  R"({"type":"object","additionalProperties":true,"description":"Names by kind )" \
  R"(of resource; what it does not name is closed. Not there: no limits."})"

constexpr std::string_view kStatusSchema =
    R"({"type":"object","required":["auth_required","principal","role","queue_scope","permissions"],)"
    R"("properties":{"auth_required":{"type":"boolean"},"principal":{"type":"string"},)"
    R"("role":{"type":"string"},"queue_scope":{"type":"string"},"grants":)" CAIRN_GRANTS
    R"(,"permissions":{"type":"array","items":{"type":"string"}}}})";

#define CAIRN_KEY_MEMBERS                                                                         \
  R"("key_hash":{"type":"string"},"name":{"type":"string"},"role":{"type":"string"},)"            \
  R"("queue_scope":{"type":"string"},"grants":)" CAIRN_GRANTS R"(,"enabled":{"type":"boolean"},)" \
  R"("created_at":{"type":"string"},"expires_at":{"type":"string"},)"                             \
  R"("last_used_at":{"type":"string"})"
#define CAIRN_KEY_REQUIRED R"("key_hash","name","role","queue_scope","enabled","created_at")"

constexpr std::string_view kKeysSchema =
    R"({"type":"array","items":{"type":"object","required":[)" CAIRN_KEY_REQUIRED
    R"(],"properties":{)" CAIRN_KEY_MEMBERS R"(}}})";
constexpr std::string_view kMadeKeySchema =
    R"({"type":"object","required":["key",)" CAIRN_KEY_REQUIRED
    R"(],"properties":{"key":{"type":"string","description":"Shown this once."},)" CAIRN_KEY_MEMBERS
    R"(}})";
constexpr std::string_view kNewKeySchema =
    R"({"type":"object","required":["name"],"properties":{)"
    R"("name":{"type":"string","description":"Up to 128 printable characters without blanks."},)"
    R"("key":{"type":"string","description":"The key itself, 16 to 256 characters; made up unless given. One that exists is changed."},)"
    R"("role":{"type":"string","enum":["admin","operator","worker","readonly"]},)"
    R"("queue_scope":{"type":"string","description":"Names of queues with commas between them, a * only at the end of one; empty: all. The same as grants.queue."},)"
    R"("grants":{"type":"object","additionalProperties":true,"description":"What the key is limited to, by kind of resource: {\"function\":[\"t_abc123/payments/*\"],\"queue\":[\"emails\"]}. A kind that is not named is closed."},)"
    R"("expires_at":{"type":"string","description":"RFC 3339; never, unless given."},)"
    R"("enabled":{"type":"boolean"}}})";
constexpr std::string_view kDeleteKeySchema =
    R"({"type":"object","required":["key_hash"],"properties":{"key_hash":{"type":"string"}}})";
constexpr std::string_view kDeletedSchema =
    R"({"type":"object","required":["status"],"properties":{"status":{"type":"string"}}})";
constexpr std::string_view kAuditSchema =
    R"({"type":"object","required":["audit_logs","total","limit","offset"],"properties":{)"
    R"("audit_logs":{"type":"array","items":{"type":"object",)"
    R"("required":["id","principal","role","method","path","status","metadata","created_at"],)"
    R"("properties":{"id":{"type":"string"},"principal":{"type":"string"},"role":{"type":"string"},)"
    R"("method":{"type":"string"},"path":{"type":"string"},"status":{"type":"integer"},)"
    R"("metadata":{"type":"object","required":["duration_ms","query"],"properties":{)"
    R"("duration_ms":{"type":"integer"},"query":{"type":"string"},)"
    R"("detail":{"type":"string","description":"Which key was made, where a request came from."},)"
    R"("count":{"type":"integer","description":"Of refusals, which are counted: as many like this, the last at created_at."},)"
    R"("first_at":{"type":"string","description":"When the first of them was."}}},)"
    R"("created_at":{"type":"string"}}}},)"
    R"("total":{"type":"integer"},"limit":{"type":"integer"},"offset":{"type":"integer"}}})";

using SharedParts = std::shared_ptr<const KeyParts>;

Error Bad(std::string text) { return {ErrorCode::kInvalid, std::move(text)}; }

std::string TimeText(Timestamp time) { return FormatTime(static_cast<uint64_t>(time.us) * 1'000); }

std::optional<Timestamp> ParseInstant(std::string_view text) {
  const std::optional<uint64_t> ns = ParseTime(text);
  if (!ns) return std::nullopt;
  return Timestamp{static_cast<int64_t>(*ns / 1'000)};
}

void AppendMember(std::string_view name, std::string_view text, std::string& out) {
  if (out.back() != '{') out.push_back(',');
  out += fmt::format(R"("{}":)", name);
  AppendJsonString(text, out);
}

// The members of a limited key or caller that say so; nothing otherwise.
void AppendGrants(const std::map<std::string, std::string>& grants, std::string& out) {
  if (grants.empty()) return;
  out += R"(,"grants":{)";
  std::string_view comma;
  for (const auto& [kind, text] : grants) {
    out += std::exchange(comma, ",");
    AppendJsonString(kind, out);
    out += ":[";
    std::string_view between;
    for (std::string_view rest = text; !rest.empty();) {
      const size_t end = std::min(rest.find(','), rest.size());
      out += std::exchange(between, ",");
      AppendJsonString(rest.substr(0, end), out);
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    out += "]";
  }
  out += "}";
}

// By kind, queues among them.
std::map<std::string, std::string> AllGrants(const ApiKey& key) {
  std::map<std::string, std::string> all = key.grants;
  if (!key.queue_scope.empty()) all.emplace(kQueueKind, key.queue_scope);
  return all;
}
std::map<std::string, std::string> AllGrants(const doors::Principal* who, const KeyParts& parts) {
  std::map<std::string, std::string> all;
  if (who == nullptr || who->grants() == nullptr) return all;
  for (const std::string_view kind : parts.resource_kinds) {
    const doors::NamePatterns* const names = who->grants()->Find(kind);
    if (names != nullptr) all.emplace(kind, names->Describe());
  }
  return all;
}

// --- Who asks -----------------------------------------------------------------------------------

awaitable<Result<HttpReply>> GetStatus(SharedParts parts, const RouteCall& call) {
  const doors::Principal* const who = call.principal.get();
  const doors::NamePatterns* const queues =
      who == nullptr ? nullptr : doors::NamesOf(who->grants(), kQueueKind);
  std::string text = fmt::format(R"({{"auth_required":{})", parts->instance.acl().auth_required());
  AppendMember("principal", who == nullptr ? doors::kDefaultUser : who->name(), text);
  AppendMember("role", who == nullptr ? RoleName(Role::kAdmin) : who->role(), text);
  AppendMember("queue_scope", queues == nullptr ? "" : queues->Describe(), text);
  AppendGrants(AllGrants(who, *parts), text);
  std::vector<std::string> permissions;
  for (const house::Permission& permission : parts->permissions.all()) {
    if (who != nullptr && !who->Allows(permission.name)) continue;
    permissions.push_back(fmt::format(R"("{}")", permission.name));
  }
  co_return HttpReply(net::HttpResponse::Json(
      200, fmt::format(R"({},"permissions":[{}]}})", text, fmt::join(permissions, ","))));
}

// --- Keys ---------------------------------------------------------------------------------------

// The members of a key without the braces around them.
std::string KeyMembers(const ApiKey& key, std::optional<Timestamp> used) {
  std::string text = "{";
  AppendMember("key_hash", key.hash, text);
  AppendMember("name", key.name, text);
  AppendMember("role", RoleName(key.role), text);
  AppendMember("queue_scope", key.queue_scope, text);
  AppendGrants(AllGrants(key), text);
  text += fmt::format(R"(,"enabled":{})", key.enabled);
  AppendMember("created_at", TimeText(key.created), text);
  if (key.expires) AppendMember("expires_at", TimeText(*key.expires), text);
  if (used) AppendMember("last_used_at", TimeText(*used), text);
  return text.substr(1);
}

awaitable<Result<HttpReply>> GetKeys(SharedParts parts, const RouteCall& /*call*/) {
  std::string text;
  const doors::RouteStore::Task task = [&](store::Transaction& transaction) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(const std::vector<ApiKey> keys, LoadKeys(transaction));
    text = "[";
    for (const ApiKey& key : keys) {
      CAIRN_ASSIGN_OR_RETURN(std::optional<Timestamp> used, LoadLastUse(transaction, key.hash));
      used = std::max(used, parts->keyring.LastUse(key.hash));
      if (text.size() > 1) text.push_back(',');
      text += "{" + KeyMembers(key, used) + "}";
    }
    text.push_back(']');
    return {};
  };
  store::Scopes scopes;
  AddKeysScope(scopes);
  const Result<void> done = co_await parts->store.ReadOnPool(scopes, task);
  if (!done.ok()) co_return done.error();
  co_return HttpReply(net::HttpResponse::Json(200, std::move(text)));
}

bool IsWord(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) { return c > ' ' && c != 0x7F; });
}

Result<std::string> NameOf(const boost::json::value& body) {
  std::string name = TextOf(body, "name");
  if (name.empty() || name.size() > kMaxKeyNameBytes || !IsWord(name)) {
    return Bad(fmt::format("name must be 1 to {} bytes of text without blanks", kMaxKeyNameBytes));
  }
  // It would pass for the one with the password.
  if (name == doors::kDefaultUser) return Bad("name must not be default");
  // And for everybody, in the audit log.
  if (name == "*") return Bad("name must not be *");
  return name;
}

Result<std::string> SecretOf(const boost::json::value& body, Random& random) {
  std::string given = TextOf(body, "key");
  if (given.empty()) return "ck_" + HexEncode(random.NextBytes(kKeyBytes));
  if (given.size() < kMinGivenKeyBytes || given.size() > kMaxGivenKeyBytes || !IsWord(given)) {
    return Bad(fmt::format("key must be {} to {} bytes of text without blanks", kMinGivenKeyBytes,
                           kMaxGivenKeyBytes));
  }
  return given;
}

Result<std::optional<Timestamp>> ExpiryOf(const boost::json::value& body, Timestamp now) {
  const std::string text = TextOf(body, "expires_at");
  if (text.empty()) return std::optional<Timestamp>();
  const std::optional<Timestamp> expires = ParseInstant(text);
  if (!expires) return Bad("expires_at must be a time such as 2030-01-31T12:00:00Z");
  if (*expires <= now) return Bad("expires_at has passed");
  return expires;
}

// The names of one kind, as NamePatterns describes them.
Result<std::string> GrantedNames(std::string_view kind, const boost::json::value& names) {
  const Error bad =
      Bad(fmt::format("grants.{} must be a list of names, a * only at the end of one", kind));
  if (!names.is_array() || names.get_array().empty()) return bad;
  std::string text;
  for (const boost::json::value& name : names.get_array()) {
    if (!name.is_string()) return bad;
    const std::string_view one = name.get_string();
    if (one.empty() || one.find(',') != std::string_view::npos) return bad;
    if (!text.empty()) text.push_back(',');
    text += one;
  }
  const Result<doors::NamePatterns> parsed = doors::NamePatterns::Parse(text);
  if (!parsed.ok()) return Bad(fmt::format("grants.{} {}", kind, parsed.error().message));
  return parsed->Describe();
}

// Adds what `grants` limits the key to. Queues may be in queue_scope instead.
Result<void> AddGrants(const boost::json::value& body, const KeyParts& parts, ApiKey& key) {
  const boost::json::value* const given = body.as_object().if_contains("grants");
  if (given == nullptr) return {};
  if (given->as_object().empty()) return Bad("grants names nothing; leave it out for no limits");
  for (const auto& [kind, names] : given->as_object()) {
    if (std::ranges::find(parts.resource_kinds, std::string_view(kind)) ==
        parts.resource_kinds.end()) {
      return Bad(fmt::format("grants has the unknown kind '{}'; there are: {}",
                             Printable(std::string_view(kind)),
                             fmt::join(parts.resource_kinds, ", ")));
    }
    CAIRN_ASSIGN_OR_RETURN(std::string text, GrantedNames(kind, names));
    if (kind != kQueueKind) {
      key.grants.emplace(kind, std::move(text));
    } else if (key.queue_scope.empty()) {
      key.queue_scope = std::move(text);
    } else {
      return Bad("give queues once: in queue_scope or in grants.queue");
    }
  }
  return {};
}

// All of it but for when it was made.
Result<ApiKey> KeyOf(const boost::json::value& body, const KeyParts& parts, std::string_view secret,
                     Timestamp now) {
  ApiKey key{.hash = doors::SecretHash(secret), .name = {}, .created = now};
  CAIRN_ASSIGN_OR_RETURN(key.name, NameOf(body));
  const std::string role = TextOf(body, "role");
  key.role = house::ParseRole(role).value_or(Role::kReadonly);
  const std::string scope = TextOf(body, "queue_scope");
  if (!scope.empty()) {
    const Result<doors::NamePatterns> parsed = doors::NamePatterns::Parse(scope);
    if (!parsed.ok()) return Bad("queue_scope " + parsed.error().message);
    key.queue_scope = parsed->Describe();
  }
  CAIRN_RETURN_IF_ERROR(AddGrants(body, parts, key));
  CAIRN_ASSIGN_OR_RETURN(key.expires, ExpiryOf(body, now));
  const boost::json::value* const enabled = body.as_object().if_contains("enabled");
  key.enabled = enabled == nullptr || enabled->as_bool();
  return key;
}

bool ManagesKeys(const ApiKey& key, Timestamp now) {
  return key.enabled && key.role == Role::kAdmin && !key.limited() && !key.ExpiredAt(now);
}

// With a key that is enabled nobody is let in without one. Unless there is a password, one of them
// must be able to change the others. And a server that other machines reach is never left open.
Result<void> CheckNotLockedOut(const std::vector<ApiKey>& keys, doors::Instance& instance,
                               Timestamp now) {
  const auto rules = instance.acl().default_user()->rules();
  const bool password = rules->on() && !rules->nopass();
  const bool enabled = std::ranges::any_of(keys, &ApiKey::enabled);
  const auto manages = [&](const ApiKey& key) { return ManagesKeys(key, now); };
  if (!password && !enabled && instance.acl().why_secrets()) {
    return Error{ErrorCode::kConflict, doors::NeedsASecret(*instance.acl().why_secrets())};
  }
  if (password || !enabled || std::ranges::any_of(keys, manages)) return {};
  return Error{
      ErrorCode::kConflict,
      "this would leave nobody able to manage keys: keep an enabled key of the role admin, "
      "without queue_scope and grants, or a password"};
}

// Changes the list of keys and stores that; what it returns is stored of `key`.
using KeyChange = std::function<Result<void>(std::vector<ApiKey>& keys)>;
awaitable<Result<void>> ChangeKeys(SharedParts parts, const KeyChange& change,
                                   const std::function<void(store::Transaction&)>& write) {
  const doors::RouteStore::Task task = [&](store::Transaction& transaction) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(std::vector<ApiKey> keys, LoadKeys(transaction));
    CAIRN_RETURN_IF_ERROR(change(keys));
    CAIRN_RETURN_IF_ERROR(CheckNotLockedOut(keys, parts->instance, transaction.now()));
    write(transaction);
    return {};
  };
  store::Scopes scopes;
  AddKeysScope(scopes);
  const Result<void> done = co_await parts->store.WriteOnPool(scopes, task);
  if (!done.ok()) co_return done;
  // Whoever is told of it can use it, here at once.
  auto reload = [parts] { return parts->keyring.Reload(); };
  co_return co_await doors::OnPool(parts->instance.pools().store, std::move(reload));
}

// The key as the audit log names it.
std::string DetailOf(const ApiKey& key) {
  std::string limits = key.queue_scope;
  for (const auto& [kind, names] : key.grants) {
    limits += fmt::format("{}{} {}", limits.empty() ? "" : "; ", kind, names);
  }
  return fmt::format("key {} ({}{}{}{}) {}", key.name, RoleName(key.role),
                     limits.empty() ? "" : " of ", limits, key.enabled ? "" : ", disabled",
                     key.hash);
}

awaitable<Result<HttpReply>> PostKey(SharedParts parts, const RouteCall& call) {
  const Timestamp now = parts->instance.clock().Now();
  const Result<std::string> secret = SecretOf(call.body, parts->random);
  if (!secret.ok()) co_return secret.error();
  const Result<ApiKey> asked = KeyOf(call.body, *parts, *secret, now);
  if (!asked.ok()) co_return asked.error();
  ApiKey made = *asked;
  bool existed = false;
  const KeyChange change = [&](std::vector<ApiKey>& keys) -> Result<void> {
    made = *asked;
    const auto same = std::ranges::find(keys, made.hash, &ApiKey::hash);
    existed = same != keys.end();
    if (existed) {
      made.created = same->created;
      *same = made;
      return {};
    }
    if (keys.size() >= kMaxKeys) {
      return Error{ErrorCode::kConflict, fmt::format("there are {} keys already", kMaxKeys)};
    }
    keys.push_back(made);
    return {};
  };
  const std::function<void(store::Transaction&)> write = [&](store::Transaction& transaction) {
    PutKey(transaction, made);
  };
  const Result<void> done = co_await ChangeKeys(parts, change, write);
  if (!done.ok()) co_return done.error();
  call.audit_detail = DetailOf(made);
  std::string text = "{";
  AppendMember("key", *secret, text);
  text += "," + KeyMembers(made, parts->keyring.LastUse(made.hash)) + "}";
  co_return HttpReply(net::HttpResponse::Json(existed ? 200 : 201, std::move(text)));
}

awaitable<Result<HttpReply>> DeleteOneKey(SharedParts parts, const RouteCall& call) {
  const std::string hash = TextOf(call.body, "key_hash");
  ApiKey removed;
  const KeyChange change = [&](std::vector<ApiKey>& keys) -> Result<void> {
    const auto found = std::ranges::find(keys, hash, &ApiKey::hash);
    if (found == keys.end()) {
      return Error{ErrorCode::kNotFound, "there is no key with this hash"};
    }
    removed = *found;
    keys.erase(found);
    return {};
  };
  const std::function<void(store::Transaction&)> write = [&](store::Transaction& transaction) {
    DeleteKey(transaction, hash);
  };
  const Result<void> done = co_await ChangeKeys(std::move(parts), change, write);
  if (!done.ok()) co_return done.error();
  call.audit_detail = DetailOf(removed);
  co_return HttpReply(net::HttpResponse::Json(200, R"({"status":"deleted"})"));
}

// --- The audit log ------------------------------------------------------------------------------

struct AuditQuery {
  int64_t limit = kDefaultAuditPage;
  int64_t offset = 0;
  std::string principal;
  std::string method;
  std::string path_prefix;
  std::optional<Timestamp> since;
  std::optional<Timestamp> until;

  bool Fits(const doors::AuditEntry& entry) const {
    return (principal.empty() || entry.principal == principal) &&
           (method.empty() || entry.method == method) && entry.path.starts_with(path_prefix);
  }
};

Result<std::optional<Timestamp>> QueryTime(const net::HttpRequest& request, std::string_view name) {
  const auto text = request.Query(name);
  if (!text) return std::optional<Timestamp>();
  const std::optional<Timestamp> time = ParseInstant(*text);
  if (!time) return Bad(fmt::format("{} must be a time such as 2030-01-31T12:00:00Z", name));
  return time;
}

Result<AuditQuery> AuditQueryOf(const net::HttpRequest& request) {
  AuditQuery query;
  CAIRN_ASSIGN_OR_RETURN(query.limit,
                         QueryNumber(request, "limit", kDefaultAuditPage, 1, kMaxAuditPage));
  CAIRN_ASSIGN_OR_RETURN(query.offset, QueryNumber(request, "offset", 0, 0, INT64_MAX));
  query.principal = request.Query("principal").value_or("");
  query.method = request.Query("method").value_or("");
  query.path_prefix = request.Query("path_prefix").value_or("");
  CAIRN_ASSIGN_OR_RETURN(query.since, QueryTime(request, "since"));
  CAIRN_ASSIGN_OR_RETURN(query.until, QueryTime(request, "until"));
  return query;
}

void AppendAuditRow(const doors::AuditRow& row, std::string& out) {
  std::string text = "{";
  AppendMember("id", fmt::format("{:016x}{:016x}", row.time.us, row.number), text);
  AppendMember("principal", row.entry.principal, text);
  AppendMember("role", row.entry.role, text);
  AppendMember("method", row.entry.method, text);
  AppendMember("path", row.entry.path, text);
  std::string query = "{";
  AppendMember("query", row.entry.query, query);
  if (!row.entry.detail.empty()) AppendMember("detail", row.entry.detail, query);
  if (row.count > 1) {
    query += fmt::format(R"(,"count":{})", row.count);
    AppendMember("first_at", TimeText(row.first), query);
  }
  text += fmt::format(R"(,"status":{},"metadata":{},"duration_ms":{}}})", row.entry.status, query,
                      row.entry.duration_us / 1'000);
  AppendMember("created_at", TimeText(row.time), text);
  out += text + "}";
}

awaitable<Result<HttpReply>> GetAuditLogs(SharedParts parts, const RouteCall& call) {
  const Result<AuditQuery> query = AuditQueryOf(call.request);
  if (!query.ok()) co_return query.error();
  // What was counted until now is shown, too. If it cannot be written, the rest is shown.
  auto flush = [parts] { return parts->instance.observed().audit.Flush(); };
  const Result<void> flushed =
      co_await doors::OnPool(parts->instance.pools().store, std::move(flush));
  if (!flushed.ok()) parts->instance.observed().audit.Failed(flushed.error());
  std::string rows;
  int64_t total = 0;
  const doors::RouteStore::Task task = [&](store::Transaction& transaction) -> Result<void> {
    rows.clear();
    total = 0;
    return doors::AuditLog::Read(
        transaction, query->since, query->until, [&](const doors::AuditRow& row) {
          if (!query->Fits(row.entry)) return true;
          const int64_t place = total++;
          if (place < query->offset || place - query->offset >= query->limit) return true;
          if (!rows.empty()) rows.push_back(',');
          AppendAuditRow(row, rows);
          return true;
        });
  };
  const store::Scopes all = store::Scopes::Exclusive();
  const Result<void> done = co_await parts->store.ReadOnPool(all, task);
  if (!done.ok()) co_return done.error();
  co_return HttpReply(net::HttpResponse::Json(
      200, fmt::format(R"({{"audit_logs":[{}],"total":{},"limit":{},"offset":{}}})", rows, total,
                       query->limit, query->offset)));
}

// Whether nothing was changed. A failure of the server may have come after the change.
bool WasRefused(int status) { return status >= 400 && status < 500; }

awaitable<void> WriteEntry(doors::RouteStore& store, doors::AuditLog& log,
                           doors::AuditEntry entry) {
  if (WasRefused(entry.status)) {
    log.Count(std::move(entry));
    co_return;
  }
  const doors::RouteStore::Task task = [&](store::Transaction& transaction) -> Result<void> {
    log.Append(transaction, entry);
    return {};
  };
  const store::Scopes none;
  const Result<void> done = co_await store.Write(none, task);
  if (done.ok()) co_return;
  log.Failed(done.error());
  log.Keep(std::move(entry));
}

}  // namespace

bool IsAudited(const house::Permissions& permissions, const doors::Route& route) {
  const house::Permission* const permission = permissions.Find(route.permission);
  return permission == nullptr ? route.method != "GET" : permission->unaudited.empty();
}

doors::AuditSink MakeAuditSink(doors::RouteStore& store, doors::AuditLog& log) {
  return
      [&store, &log](doors::AuditEntry entry) { return WriteEntry(store, log, std::move(entry)); };
}

void AddKeyRoutes(const KeyParts& given, doors::RouteTable& table) {
  const auto parts = std::make_shared<const KeyParts>(given);
  using Function = awaitable<Result<HttpReply>> (*)(SharedParts, const RouteCall&);
  const auto add = [&](doors::Route route, Function function) {
    route.tag = "auth";
    route.handler = [parts, function](const RouteCall& call) { return function(parts, call); };
    table.Add(std::move(route));
  };
  const auto wrong = doors::RouteResponse{400, "The request is invalid."};
  const auto conflict = doors::RouteResponse{
      409, "It would leave nobody able to manage keys, or there are too many keys."};
  add({.method = "GET",
       .path = "/api/v1/auth/status",
       .permission = "server.info",
       .touches = doors::Touches::Nothing(),
       .summary = "Who asks, and what they may.",
       .responses = {{200, "The state of access.", kStatusSchema}}},
      GetStatus);
  add({.method = "GET",
       .path = "/api/v1/auth/keys",
       .permission = "keys.read",
       .summary = "All keys, without the keys themselves.",
       .responses = {{200, "They are these.", kKeysSchema}}},
      GetKeys);
  add({.method = "POST",
       .path = "/api/v1/auth/keys",
       .permission = "keys.manage",
       .summary = "Makes a key, or changes the one that is given. Shows it this once.",
       .request_schema = kNewKeySchema,
       .responses = {{201, "It is made.", kMadeKeySchema},
                     {200, "The key existed and was changed.", kMadeKeySchema},
                     wrong,
                     conflict}},
      PostKey);
  add({.method = "DELETE",
       .path = "/api/v1/auth/keys",
       .permission = "keys.manage",
       .summary = "Removes a key, and ends what was begun with it.",
       .request_schema = kDeleteKeySchema,
       .responses = {{200, "Done.", kDeletedSchema},
                     wrong,
                     doors::RouteResponse{404, "There is no such key."},
                     conflict}},
      DeleteOneKey);
  add({.method = "GET",
       .path = "/api/v1/audit-logs",
       .permission = "audit.read",
       .summary = "Who has changed what, newest first.",
       .query = {{"limit", "How many at most, up to 1000; 100 unless given.", "integer"},
                 {"offset", "How many to leave out.", "integer"},
                 {"principal", "By this key, user, or default."},
                 {"method", "POST, DELETE …; RESP for commands."},
                 {"path_prefix", "Only entries whose path or command starts with this."},
                 {"since", "Not before; RFC 3339."},
                 {"until", "Before; RFC 3339."}},
       .responses = {{200, "One page of them.", kAuditSchema}, wrong}},
      GetAuditLogs);
}

}  // namespace cairn::admin
