#include "tests/differential/generator.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <map>
#include <sstream>
#include <string_view>

#include "tests/differential/forms.h"

namespace cairn::testing {
namespace {

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

// In the place of a time to live another number could be over between one server and the other.
bool NamesATime(const Request& request) {
  static constexpr std::array<std::string_view, 4> kWords = {"SETEX", "PSETEX", "EX", "PX"};
  return std::ranges::any_of(request, [](const std::string& arg) {
    return std::ranges::find(kWords, arg) != kWords.end();
  });
}

// A time that has passed leaves a key in Redis that counts until it is looked at; a WAIT for
// replicas that do not exist does not end, nor does a blocked client with a wrong time-out; what
// COMMAND says depends on which commands there are, what OBJECT and MEMORY say on how Redis keeps
// values, what is picked at random on chance, and ranges of members are undefined unless all have
// the same score.
bool BearsNoMistake(const Request& request) {
  static constexpr std::array<std::string_view, 19> kWords = {
      "EXAT",       "PXAT",        "WAIT",     "COMMAND",  "OBJECT",     "MEMORY", "BLPOP",
      "BRPOP",      "BLMOVE",      "BLMPOP",   "BZMPOP",   "BRPOPLPUSH", "SPOP",   "SRANDMEMBER",
      "HRANDFIELD", "ZRANDMEMBER", "BZPOPMIN", "BZPOPMAX", "SORT"};
  return std::ranges::any_of(request, [](const std::string& arg) {
    return arg.starts_with("lex:") || std::ranges::find(kWords, arg) != kWords.end();
  });
}

// Keys of which each type has its own few, so that commands mostly find what they expect.
const std::map<char, std::vector<std::string>>& TypedKeys() {
  static const std::map<char, std::vector<std::string>> kKeys = {
      {'H', {"hash:1", "hash:2"}}, {'S', {"set:1", "set:2", "set:3"}}, {'Z', {"zset:1", "zset:2"}},
      {'L', {"list:1", "list:2"}}, {'Q', {"stream:1", "s:2"}},         {'B', {"bits:1", "bits:2"}},
      {'G', {"geo:1", "geo:2"}}};
  return kKeys;
}

}  // namespace

Generator::Generator(uint64_t seed, const std::vector<std::string>& without)
    : random_(seed), changes_(Lines(kChangeForms)) {
  for (const std::string_view forms :
       {kStringForms, kKeyForms, kBitForms, kHashForms, kSetForms, kSortedSetForms, kListForms,
        kStreamForms, kOtherForms, kServerForms}) {
    for (std::string& form : Lines(forms)) forms_.push_back(std::move(form));
  }
  for (const std::string& prefix : without) {
    const auto named = [&](const std::string& form) { return form.starts_with(prefix); };
    std::erase_if(forms_, named);
    std::erase_if(changes_, named);
  }
}

std::string Generator::Key() {
  static const std::array<std::string, 9> kKeys = {
      "a", "b", "c", "key:1", "key:2", "key:10", "KEY", std::string("z\0\xff", 3), "longer key"};
  if (!OneIn(4)) return kKeys[random_.Below(kKeys.size())];
  auto typed = TypedKeys().begin();
  std::advance(typed, random_.Below(TypedKeys().size()));
  return typed->second[random_.Below(typed->second.size())];
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

std::string Generator::OneOf(std::initializer_list<const char*> choices) {
  return *(choices.begin() + random_.Below(choices.size()));
}

std::string Generator::Number(int64_t low, int64_t high) {
  return std::to_string(low +
                        static_cast<int64_t>(random_.Below(static_cast<uint64_t>(high - low + 1))));
}

// What a word of one letter in a form stands for.
std::string Generator::Letter(char letter) {
  if (const auto typed = TypedKeys().find(letter); typed != TypedKeys().end()) {
    return OneIn(25) ? Key() : typed->second[random_.Below(typed->second.size())];
  }
  switch (letter) {
    case 'K':
      return Key();
    case 'W':
      return OneOf({"lex:1", "lex:2"});
    case 'Y':
      // Apart from all others: PFCOUNT changes bytes that GET would show.
      return OneOf({"hll:1", "hll:2"});
    case 'V':
      return Value();
    case 'N':
      return OneIn(4) ? Value() : Number(-50, 49);
    case 'F':
      return OneIn(4) ? Value() : Number(0, 999) + ".5";
    case 'R':
      return Number(-10, 19);
    case 'X':
      return Expiry();
    case 'P':
      return Pattern();
    case 'D':
      return std::to_string(random_.Below(OneIn(10) ? 40 : 3));
    case 'm':
      return OneIn(10) ? Value() : "m" + Number(0, 11);
    case 's':
      return OneIn(12) ? OneOf({"inf", "-inf", "nan", "x", "1e300", "-0"})
                       : Number(-20, 20) + OneOf({"", ".5", ".25"});
    case 'b':
      return OneIn(4) ? OneOf({"-inf", "+inf", "(1", "(-3.5", "x", "(inf"}) : Number(-20, 20);
    case 'i':
      return Number(-8, 8);
    case 'c':
      return OneIn(12) ? OneOf({"0", "-1", "x"}) : Number(1, 5);
    case 'x':
      return OneIn(3) ? OneOf({"-", "+", "m", "(m"}) : OneOf({"[m", "(m"}) + Number(0, 11);
    case 'o':
      return OneIn(20) ? Number(0, 70'000) : Number(0, 80);
    case 't':
      return OneOf({"u1", "u2", "u4", "u8", "i8", "i5", "u16", "i32", "u63", "i64"});
    case 'd':
      return OneIn(8) ? OneOf({"0", "0-0", "5", "-", "x-1", "18446744073709551615-1", "$"})
                      : Number(1, 9) + "-" + Number(0, 9);
    case 'g':
      return OneOf({"g1", "g2"});
    case 'u':
      return OneOf({"alice", "bob"});
    default:
      return std::string(1, letter);
  }
}

std::string Generator::Choice(std::string_view word) {
  std::vector<std::string> choices(1);
  for (const char c : word.substr(1, word.size() - 2)) {
    if (c == '|') {
      choices.emplace_back();
    } else {
      choices.back() += c;
    }
  }
  return choices[random_.Below(choices.size())];
}

Request Generator::Fill(const std::string& form) {
  Request request;
  std::istringstream words(form);
  for (std::string word; words >> word;) {
    if (word == "p") {
      request.push_back(Number(-170, 170) + ".25");
      request.push_back(Number(-80, 80) + ".5");
    } else if (word.front() == 'T' && (word.size() == 1 || word[1] == '0')) {
      request.push_back(std::to_string(4'000'000'000 + random_.Below(1000)) + word.substr(1));
    } else if (word.size() == 1) {
      request.push_back(Letter(word.front()));
    } else if (word.front() == '(') {
      if (std::string chosen = Choice(word); !chosen.empty()) request.push_back(std::move(chosen));
    } else {
      request.push_back(word);
    }
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
      if (!NamesATime(request)) std::swap(request[at], request.back());
      break;
    default:
      request[at] = kMistakes[random_.Below(kMistakes.size())];
  }
  return request;
}

Request Generator::Any() {
  // A type for a while, then another: commands of one type on few keys meet more often so.
  if (OneIn(20)) first_form_ = random_.Below(forms_.size());
  const size_t near = first_form_ + random_.Below(40);
  Request request =
      Fill(OneIn(3) ? forms_[random_.Below(forms_.size())] : forms_[near % forms_.size()]);
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
