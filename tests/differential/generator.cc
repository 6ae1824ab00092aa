#include "tests/differential/generator.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>
#include <string_view>

namespace cairn::testing {
namespace {

// Forms of requests, one per line: K a key, V a value, N an integer, F a float, R a place in a
// string, X a time to live far away, T a time far away, P a pattern, D a database; (a|b|) one of
// the words, or none; everything else as it stands.
constexpr std::string_view kForms = R"(GET K
GET K
GET K
SET K V
SET K V
SET K V
SET K V (NX|XX|GET)
SET K V (NX|XX) GET
SET K V EX X
SET K V PX X
SET K V KEEPTTL
SET K V EXAT T
SET K V (NX|XX) (EX|PX) X
SET K V (EX|PX) X (EX|PX) X
SETNX K V
SETEX K X V
PSETEX K X V
GETSET K V
GETDEL K
GETEX K
GETEX K (EX|PX) X
GETEX K PERSIST
GETEX K EXAT T
MGET K K K
MGET K
MSET K V K V
MSET K V
MSETNX K V K V
MSETNX K V
APPEND K V
STRLEN K
SETRANGE K R V
GETRANGE K R R
SUBSTR K R R
INCR K
DECR K
INCRBY K N
DECRBY K N
INCRBYFLOAT K F
LCS K K
LCS K K LEN
LCS K K IDX
LCS K K IDX MINMATCHLEN R WITHMATCHLEN
DEL K
DEL K K
UNLINK K
EXISTS K K
TYPE K
TOUCH K K
RENAME K K
RENAMENX K K
COPY K K
COPY K K REPLACE
COPY K K DB D
COPY K K DB D REPLACE
MOVE K D
EXPIRE K X
EXPIRE K X (NX|XX|GT|LT)
EXPIRE K X (NX|XX) (GT|LT)
EXPIRE K (0|-1|-100)
PEXPIRE K X (NX|XX|GT|LT)
EXPIREAT K T
PEXPIREAT K T000 (NX|XX|GT|LT)
PEXPIREAT K (1|-5)
PERSIST K
TTL K
PTTL K
EXPIRETIME K
PEXPIRETIME K
DBSIZE
KEYS P
FLUSHDB (ASYNC|SYNC|)
OBJECT FREQ K
OBJECT IDLETIME nosuch
OBJECT ENCODING nosuch
MEMORY USAGE nosuch
PING
PING V
ECHO V
SELECT D
CLIENT GETNAME
CLIENT SETNAME (me|you)
COMMAND GETKEYS SET K V
COMMAND GETKEYS MSET K V K V
COMMAND GETKEYSANDFLAGS RENAME K K
COMMAND COUNTS
CONFIG GET databases
ROLE
WAIT 0 0
LATENCY LATEST
SLOWLOG RESET
UNWATCH
NOSUCH K V)";

constexpr std::string_view kChanges = R"(SET K V
SET K V XX
SETNX K V
DEL K
APPEND K V
INCR K
EXPIRE K X
EXPIRE K -1
PERSIST K
RENAME K K
COPY K K REPLACE
GETDEL K
GETEX K PERSIST
SETRANGE K 0 V
FLUSHDB
MOVE K D
GET K
MSETNX K V K V)";

std::vector<std::string> Lines(std::string_view text) {
  std::vector<std::string> lines;
  std::istringstream stream{std::string(text)};
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// What clients get wrong. The numbers are harmless as seconds and as milliseconds.
constexpr std::array<const char*, 14> kMistakes = {"",
                                                   "abc",
                                                   "-1",
                                                   "0",
                                                   "300000",
                                                   "1.5",
                                                   "99999999999999999999",
                                                   " 1",
                                                   "+5",
                                                   "0123",
                                                   "NX",
                                                   "-9223372036854775808",
                                                   "9223372036854775807",
                                                   "EX"};

// A time that has passed leaves a key in Redis that counts until it is looked at; a WAIT for
// replicas that do not exist does not end; what COMMAND says depends on which commands there are,
// and what OBJECT and MEMORY say on how Redis keeps values.
bool BearsNoMistake(const Request& request) {
  static constexpr std::array<std::string_view, 6> kWords = {"EXAT",    "PXAT",   "WAIT",
                                                             "COMMAND", "OBJECT", "MEMORY"};
  return std::ranges::any_of(request, [](const std::string& arg) {
    return std::ranges::find(kWords, arg) != kWords.end();
  });
}

}  // namespace

Generator::Generator(uint64_t seed)
    : random_(seed), forms_(Lines(kForms)), changes_(Lines(kChanges)) {}

std::string Generator::Key() {
  static const std::array<std::string, 9> kKeys = {
      "a", "b", "c", "key:1", "key:2", "key:10", "KEY", std::string("z\0\xff", 3), "longer key"};
  return kKeys[random_.Below(kKeys.size())];
}

std::string Generator::Value() {
  static const std::array<std::string, 14> kValues = {"",
                                                      "1",
                                                      "-7",
                                                      "10",
                                                      "3.25",
                                                      "9223372036854775807",
                                                      "-9223372036854775808",
                                                      "hello",
                                                      "hello world",
                                                      std::string("\0\r\n\xfe", 4),
                                                      "0.1",
                                                      "1e10",
                                                      "inf",
                                                      "007"};
  if (OneIn(8)) return std::string(random_.Below(300), static_cast<char>('a' + random_.Below(3)));
  return kValues[random_.Below(kValues.size())];
}

std::string Generator::Expiry() { return std::to_string(300'000 + random_.Below(100'000)); }

std::string Generator::Pattern() {
  // Not "**": in Redis 7.0 it matches every key but the empty one.
  static const std::array<const char*, 10> kPatterns = {"*",   "key:*", "key:?",  "[ab]",  "[^ab]",
                                                        "*1*", "K*",    "nosuch", "*e*y*", "\\a"};
  return kPatterns[random_.Below(kPatterns.size())];
}

Request Generator::Fill(const std::string& form) {
  Request request;
  std::istringstream words(form);
  for (std::string word; words >> word;) {
    if (word == "K") {
      word = Key();
    } else if (word == "V") {
      word = Value();
    } else if (word == "N") {
      word = OneIn(4) ? Value() : std::to_string(static_cast<int64_t>(random_.Below(100)) - 50);
    } else if (word == "F") {
      word = OneIn(4) ? Value() : std::to_string(random_.Below(1000)) + ".5";
    } else if (word == "R") {
      word = std::to_string(static_cast<int64_t>(random_.Below(30)) - 10);
    } else if (word == "X") {
      word = Expiry();
    } else if (word.front() == 'T' && (word.size() == 1 || word[1] == '0')) {
      word = std::to_string(4'000'000'000 + random_.Below(1000)) + word.substr(1);
    } else if (word == "P") {
      word = Pattern();
    } else if (word == "D") {
      word = std::to_string(random_.Below(OneIn(10) ? 40 : 3));
    } else if (word.front() == '(') {
      std::vector<std::string> choices(1);
      for (const char c : word.substr(1, word.size() - 2)) {
        if (c == '|') {
          choices.emplace_back();
        } else {
          choices.back() += c;
        }
      }
      word = choices[random_.Below(choices.size())];
      if (word.empty()) continue;
    }
    request.push_back(std::move(word));
  }
  return request;
}

Request Generator::WithMistake(Request request) {
  if (request.size() < 2 || BearsNoMistake(request)) return request;
  const size_t at = 1 + random_.Below(request.size() - 1);
  switch (random_.Below(4)) {
    case 0:
      request.erase(request.begin() + static_cast<std::ptrdiff_t>(at));
      break;
    case 1:
      request.push_back(kMistakes[random_.Below(kMistakes.size())]);
      break;
    case 2:
      std::swap(request[at], request.back());
      break;
    default:
      request[at] = kMistakes[random_.Below(kMistakes.size())];
  }
  return request;
}

Request Generator::Any() {
  Request request = Fill(forms_[random_.Below(forms_.size())]);
  if (OneIn(8)) request = WithMistake(std::move(request));
  if (OneIn(10)) {
    std::string& name = request.front();
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  }
  return request;
}

Request Generator::Change() { return Fill(changes_[random_.Below(changes_.size())]); }

Request Generator::Watch() { return Fill(OneIn(2) ? "WATCH K" : "WATCH K K"); }

}  // namespace cairn::testing
