#include "functions/model/source_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "functions/model/json_object.h"
#include "functions/model/json_writer.h"

namespace cairn::functions {
namespace {

constexpr size_t kMaxSources = 100'000;
constexpr size_t kMaxSourceBytes = 4'096;
constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr uint64_t kMoreDigits = 32;
constexpr unsigned kDigitBits = 5;
// What a delta can be: no text is longer.
constexpr unsigned kMaxShift = 30;

constexpr std::array<int8_t, 128> DigitValues() {
  std::array<int8_t, 128> values = {};
  values.fill(-1);
  for (size_t i = 0; i < kDigits.size(); ++i) {
    values[static_cast<unsigned char>(kDigits[i])] = static_cast<int8_t>(i);
  }
  return values;
}

// One number in base 64, its low bits first, its sign in the lowest; nullopt if there is none.
std::optional<int64_t> TakeNumber(std::string_view& text) {
  static constexpr std::array<int8_t, 128> kValues = DigitValues();
  uint64_t value = 0;
  for (unsigned shift = 0; shift <= kMaxShift && !text.empty(); shift += kDigitBits) {
    const auto letter = static_cast<unsigned char>(text.front());
    if (letter >= kValues.size() || kValues[letter] < 0) return std::nullopt;
    text.remove_prefix(1);
    const auto digit = static_cast<uint64_t>(static_cast<uint8_t>(kValues[letter]));
    value |= (digit & (kMoreDigits - 1)) << shift;
    if ((digit & kMoreDigits) != 0) continue;
    const auto size = static_cast<int64_t>(value >> 1U);
    return (value & 1U) != 0 ? -size : size;
  }
  return std::nullopt;
}

void AppendNumber(int64_t number, std::string& out) {
  uint64_t value = number < 0 ? (static_cast<uint64_t>(-number) << 1U) | 1U
                              : static_cast<uint64_t>(number) << 1U;
  do {
    uint64_t digit = value & (kMoreDigits - 1);
    value >>= kDigitBits;
    if (value != 0) digit |= kMoreDigits;
    out.push_back(kDigits[digit]);
  } while (value != 0);
}

// One segment of a line: from `column` on, the code came from there. Counted from 0.
struct Segment {
  int64_t column = 0;
  int64_t source = -1;  // none: the code was made up
  int64_t source_line = 0;
  int64_t source_column = 0;
};

// Reads mappings segment by segment; numbers are differences from the segment before.
class SegmentReader {
 public:
  explicit SegmentReader(std::string_view text) : rest_(text) {}

  // The next segment and its line (from 0); nullopt at the end, or where the text makes no sense.
  std::optional<std::pair<int64_t, Segment>> Next() {
    while (!rest_.empty() && (rest_.front() == ';' || rest_.front() == ',')) {
      if (rest_.front() == ';') {
        ++line_;
        segment_.column = 0;
      }
      rest_.remove_prefix(1);
    }
    if (rest_.empty()) return std::nullopt;
    const std::optional<int64_t> column = TakeNumber(rest_);
    if (!column || *column < 0) return Fail();
    segment_.column += *column;
    Segment found{.column = segment_.column};
    if (!AtSegmentEnd()) {
      const std::optional<int64_t> source = TakeNumber(rest_);
      const std::optional<int64_t> line = TakeNumber(rest_);
      const std::optional<int64_t> place = TakeNumber(rest_);
      if (!source || !line || !place) return Fail();
      source_ += *source;
      segment_.source_line += *line;
      segment_.source_column += *place;
      if (!AtSegmentEnd() && !TakeNumber(rest_)) return Fail();  // a name
      if (!AtSegmentEnd()) return Fail();
      if (source_ < 0 || segment_.source_line < 0 || segment_.source_column < 0) return Fail();
      found = segment_;
      found.source = source_;
    }
    return std::pair(line_, found);
  }
  bool failed() const { return failed_; }

 private:
  bool AtSegmentEnd() const {
    return rest_.empty() || rest_.front() == ',' || rest_.front() == ';';
  }
  std::optional<std::pair<int64_t, Segment>> Fail() {
    failed_ = true;
    return std::nullopt;
  }

  std::string_view rest_;
  int64_t line_ = 0;
  Segment segment_;  // the last numbers of each kind
  int64_t source_ = 0;
  bool failed_ = false;
};

// --- Stacks --------------------------------------------------------------------------------------

// FILE:LINE:COLUMN in a line of a stack.
struct Frame {
  size_t begin = 0;  // in the text
  size_t end = 0;
  std::string_view file;
  TextPlace at;
};

// Takes ":digits" off the end of `text`.
std::optional<int64_t> TakeLastNumber(std::string_view& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view digits = text.substr(colon + 1);
  int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), number);
  if (error != std::errc() || end != digits.end() || number < 1) return std::nullopt;
  text.remove_suffix(text.size() - colon);
  return number;
}

std::optional<Frame> FrameOf(std::string_view text, size_t begin, size_t end) {
  constexpr std::string_view kAt = "at ";
  std::string_view line = text.substr(begin, end - begin);
  const size_t first = line.find_first_not_of(' ');
  if (first == std::string_view::npos || !line.substr(first).starts_with(kAt)) return std::nullopt;
  line.remove_prefix(first + kAt.size());
  if (line.ends_with(')')) {
    const size_t open = line.rfind('(');
    if (open == std::string_view::npos) return std::nullopt;
    line = line.substr(open + 1, line.size() - open - 2);
  }
  Frame frame{.begin = static_cast<size_t>(line.data() - text.data()),
              .end = static_cast<size_t>(line.data() - text.data()) + line.size(),
              .file = line};
  const std::optional<int64_t> column = TakeLastNumber(frame.file);
  if (!column) return std::nullopt;
  const std::optional<int64_t> row = TakeLastNumber(frame.file);
  if (!row || frame.file.empty()) return std::nullopt;
  frame.at = {.line = *row, .column = *column};
  return frame;
}

std::vector<Frame> FramesOf(std::string_view text) {
  std::vector<Frame> frames;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    if (std::optional<Frame> frame = FrameOf(text, begin, end)) frames.push_back(*frame);
    begin = end + 1;
  }
  return frames;
}

bool IsWord(char c) {
  const auto letter = static_cast<unsigned char>(c);
  return std::isalnum(letter) != 0 || c == '_' || c == '$' || letter >= 0x80U;
}

}  // namespace

Result<SourceMap> SourceMap::Parse(std::string_view text) {
  const auto read = [](ObjectReader& object) {
    SourceMap map;
    object.Integer("version", 3, 3);
    if (object.Has("sections")) object.Fail("sections", "are not understood");
    const std::string root = object.OptionalText("sourceRoot", {0, kMaxSourceBytes}).value_or("");
    map.sources_ = object.Texts("sources", kMaxSources, {0, kMaxSourceBytes});
    if (!root.empty()) {
      const std::string_view slash = root.ends_with('/') ? "" : "/";
      for (std::string& source : map.sources_) source = fmt::format("{}{}{}", root, slash, source);
    }
    const std::string_view mappings = object.Raw("mappings");
    if (mappings.size() < 2 || !mappings.starts_with('"') ||
        mappings.find('\\') != std::string_view::npos) {
      object.Fail("mappings", "must be a string in base 64");
    } else {
      map.mappings_ = mappings.substr(1, mappings.size() - 2);
    }
    return map;
  };
  return ReadObject(text, Code::kValidation, read);
}

std::vector<std::optional<SourcePlace>> SourceMap::Find(
    const std::vector<TextPlace>& generated) const {
  std::vector<size_t> order(generated.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&](size_t a, size_t b) { return generated[a] < generated[b]; });
  std::vector<std::optional<SourcePlace>> found(generated.size());
  SegmentReader reader(mappings_);
  int64_t line = -1;  // of `last`
  Segment last;
  const auto settle = [&](size_t wanted) {
    if (line != generated[wanted].line - 1 || last.source < 0) return;
    if (static_cast<size_t>(last.source) >= sources_.size()) return;
    found[wanted] = SourcePlace{sources_[static_cast<size_t>(last.source)],
                                {last.source_line + 1, last.source_column + 1}};
  };
  size_t next = 0;
  while (next < order.size()) {
    const auto segment = reader.Next();
    if (!segment) break;
    const TextPlace begin{segment->first + 1, segment->second.column + 1};
    while (next < order.size() && generated[order[next]] < begin) settle(order[next++]);
    line = segment->first;
    last = segment->second;
  }
  if (reader.failed()) return std::vector<std::optional<SourcePlace>>(generated.size());
  while (next < order.size()) settle(order[next++]);
  return found;
}

std::string MapStack(std::string_view text, const FindFile& find) {
  const std::vector<Frame> frames = FramesOf(text);
  std::map<std::string_view, std::vector<size_t>> by_file;
  for (size_t i = 0; i < frames.size(); ++i) by_file[frames[i].file].push_back(i);
  std::vector<std::optional<SourcePlace>> places(frames.size());
  for (const auto& [file, indexes] : by_file) {
    const std::optional<std::string_view> map_text =
        find(fmt::format("{}{}", file, kSourceMapSuffix));
    if (!map_text) continue;
    const Result<SourceMap> map = SourceMap::Parse(*map_text);
    if (!map.ok()) continue;
    std::vector<TextPlace> wanted;
    wanted.reserve(indexes.size());
    for (const size_t index : indexes) wanted.push_back(frames[index].at);
    std::vector<std::optional<SourcePlace>> found = map->Find(wanted);
    for (size_t i = 0; i < indexes.size(); ++i) places[indexes[i]] = std::move(found[i]);
  }
  std::string mapped;
  size_t copied = 0;
  for (size_t i = 0; i < frames.size(); ++i) {
    if (!places[i]) continue;
    mapped += text.substr(copied, frames[i].begin - copied);
    mapped += fmt::format("{}:{}:{}", places[i]->file, places[i]->at.line, places[i]->at.column);
    copied = frames[i].end;
  }
  mapped += text.substr(copied);
  return mapped;
}

std::string SameTextMap(std::string_view source_file, std::string_view generated) {
  std::string mappings;
  int64_t line = 0;
  int64_t column = 0;        // UTF-16 units
  int64_t last_line = 0;     // of the last segment, in the source
  int64_t last_column = 0;   // likewise
  int64_t last_on_line = 0;  // likewise, in the generated text
  bool first_on_line = true;
  char before = ' ';
  for (const char c : generated) {
    if (c == '\n') {
      mappings.push_back(';');
      ++line;
      column = last_on_line = 0;
      first_on_line = true;
      before = ' ';
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xC0U) == 0x80U) continue;  // goes on with a character
    const bool begins = c != ' ' && c != '\t' && c != '\r' && !(IsWord(c) && IsWord(before));
    if (begins) {
      if (!std::exchange(first_on_line, false)) mappings.push_back(',');
      AppendNumber(column - last_on_line, mappings);
      AppendNumber(0, mappings);
      AppendNumber(line - last_line, mappings);
      AppendNumber(column - last_column, mappings);
      last_on_line = last_column = column;
      last_line = line;
    }
    before = c;
    column += byte >= 0xF0U ? 2 : 1;
  }
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Integer("version", 3);
  json.Texts("sources", {std::string(source_file)});
  json.Texts("names", {});
  json.Text("mappings", mappings);
  json.EndObject();
  return text;
}

Result<std::string> CompactMap(std::string_view text) {
  CAIRN_ASSIGN_OR_RETURN(const SourceMap map, SourceMap::Parse(text));
  std::string mappings;
  const auto read = [&](ObjectReader& object) {
    mappings = object.Raw("mappings");
    return true;
  };
  CAIRN_ASSIGN_OR_RETURN(const bool whole, ReadObject(text, Code::kValidation, read));
  (void)whole;
  std::string compact;
  JsonWriter json(compact);
  json.BeginObject();
  json.Integer("version", 3);
  json.Texts("sources", map.sources());
  json.Texts("names", {});
  json.Raw("mappings", mappings);
  json.EndObject();
  return compact;
}

}  // namespace cairn::functions
