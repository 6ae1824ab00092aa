#include "tests/layering/tree.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>

namespace cairn::testing {
namespace {

namespace fs = std::filesystem;

struct SourceFile {
  std::string path;  // from the root of the tree: "src/store/rocks/engine.cc"
  std::vector<std::string> lines;
};

// Words that mark unfinished work, spelled in halves so that this file does not find itself.
const std::string kUnfinished[] = {std::string("TO") + "DO", std::string("FIX") + "ME"};

std::vector<std::string> ReadLines(const fs::path& path) {
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// The first word of a path: "doors" of "doors/turn/turn.h".
std::string Top(const std::string& path) { return path.substr(0, path.find('/')); }

// The row that a file belongs to, by its path from src on: the longest that the path begins with.
// Empty if there is none.
std::string RowOf(const std::string& path, const Layers& layers) {
  std::string row = path;
  while (!layers.may_include.contains(row)) {
    const size_t slash = row.rfind('/');
    if (slash == row.npos) return "";
    row.resize(slash);
  }
  return row;
}

std::vector<SourceFile> ReadTree(const fs::path& root) {
  std::vector<SourceFile> files;
  for (const char* top : {"src", "tests", "bench"}) {
    if (!fs::exists(root / top)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".h" && extension != ".cc") continue;
      const std::string path = fs::relative(entry.path(), root).string();
      files.push_back({path, ReadLines(entry.path())});
    }
  }
  std::sort(files.begin(), files.end(),
            [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return files;
}

// The header a line includes: what stands between the quotes or the angle brackets.
std::optional<std::string> IncludedHeader(std::string_view line) {
  const size_t hash = line.find_first_not_of(" \t");
  if (hash == line.npos || line[hash] != '#') return std::nullopt;
  const size_t word = line.find_first_not_of(" \t", hash + 1);
  if (word == line.npos || !line.substr(word).starts_with("include")) return std::nullopt;
  const size_t open = line.find_first_of("<\"", word);
  if (open == line.npos) return std::nullopt;
  const size_t close = line.find(line[open] == '<' ? '>' : '"', open + 1);
  if (close == line.npos) return std::nullopt;
  return std::string(line.substr(open + 1, close - open - 1));
}

bool IsTestCode(std::string_view path) {
  return !path.starts_with("src/") || path.ends_with("_test.cc") ||
         path.find("/testing/") != path.npos;
}

std::string Join(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// The row of a file of the tree. Tests and their helpers see the whole folder that they are part
// of.
std::string RowOf(const SourceFile& file, const Layers& layers) {
  if (!file.path.starts_with("src/")) return Top(file.path);
  const std::string path = file.path.substr(4);
  return IsTestCode(file.path) ? Top(path) : RowOf(path, layers);
}

// Why `file` may not include `header`, or nothing.
std::optional<std::string> WhyForbidden(const SourceFile& file, const std::string& header,
                                        const Layers& layers) {
  if (header.find("..") != header.npos) return "climbs out of its folder: " + header;
  if (!IsTestCode(file.path)) {
    if (header.starts_with("tests/") || header.find("/testing/") != header.npos) {
      return "product code includes a test helper: " + header;
    }
  }
  if (file.path.starts_with("src/")) {
    for (const auto& [prefix, folders] : layers.foreign) {
      if (!header.starts_with(prefix)) continue;
      const bool allowed = std::any_of(folders.begin(), folders.end(), [&](const auto& folder) {
        return file.path.starts_with("src/" + folder + "/");
      });
      if (!allowed) return header + " may only be included in " + Join(folders);
    }
  }
  const std::string target = RowOf(header, layers);
  const std::string folder = RowOf(file, layers);
  const auto row = layers.may_include.find(folder);
  if (target.empty() || target == "tests" || row == layers.may_include.end()) return std::nullopt;
  // Who may include a folder may include its parts.
  if (row->second.contains(target) || row->second.contains(Top(target))) return std::nullopt;
  return folder + " may not include " + header;
}

// --- Time ---------------------------------------------------------------------------------------

// Time comes from a Clock (base/clock.h), so that tests can move it. These files ask the machine:
// most because they wait, and a timer of Asio, a condition variable or a socket knows no other
// time. A new row needs a reason of that kind.
struct OwnTime {
  std::string_view path;
  std::string_view reason;
};
constexpr OwnTime kOwnTime[] = {
    {"src/base/clock.cc", "it is the clock"},
    {"src/app/machine.cc", "measures the machine"},
    {"src/app/migrate.cc", "shows a person how far it is"},
    {"src/doors/turn/deadline.h", "deadlines of timers: how long somebody waits"},
    {"src/functions/engine/activation.cc", "measures a function in a process that has no Clock"},
    {"src/functions/engine/host_functions.cc", "what a function is told of the time"},
    {"src/jobs/cli/bench.cc", "a client that measures a server"},
    {"src/jobs/resp/push_commands.cc", "deadline of a timer: when to look again"},
    {"src/jobs/webhook/webhook_delivery.cc", "its thread sleeps until the next try is due"},
    {"src/net/http/server.cc", "timers of connections"},
    {"src/net/http/session.cc", "timers of connections"},
    {"src/seats/cli_on_sale.cc", "a client that measures a server"},
    {"src/store/postgres/listener.cc", "time-outs of a socket"},
    {"src/store/postgres/postgres_store.cc", "how long a database that is away is waited for"},
    {"src/store/rocks/disk_watch.cc", "its thread sleeps between looks at a disk"},
    {"src/store/rocks/log_files.cc", "lines of RocksDB's own log"},
    {"src/view/bulk.cc", "how long its thread waits for the view"},
    {"src/view/routes.cc", "deadlines of timers and of SQLite"},
    {"src/view/sqlite.cc", "when a query has run for too long"},
    {"src/view/view.cc", "measures how much processor time it leaves to others"},
};

bool AsksTheMachine(std::string_view line) {
  const size_t comment = line.find("//");
  line = line.substr(0, comment);
  for (const std::string_view call :
       {"steady_clock::now", "system_clock::now", "high_resolution_clock", "Steady::now",
        "clock_gettime(", "gettimeofday(", "std::time("}) {
    if (line.find(call) != line.npos) return true;
  }
  return false;
}

void CheckTime(const SourceFile& file, std::vector<std::string>& offences) {
  if (IsTestCode(file.path) || file.path.ends_with("_fuzz.cc")) return;
  const bool may = std::any_of(std::begin(kOwnTime), std::end(kOwnTime),
                               [&](const OwnTime& row) { return row.path == file.path; });
  bool does = false;
  for (size_t i = 0; i < file.lines.size(); ++i) {
    if (!AsksTheMachine(file.lines[i])) continue;
    does = true;
    if (may) continue;
    offences.push_back(file.path + ":" + std::to_string(i + 1) +
                       ": asks the machine for the time; take it from a Clock (base/clock.h)");
  }
  if (may && !does) {
    offences.push_back(file.path + ":1: no longer asks for the time: remove it from kOwnTime");
  }
}

void CheckFile(const SourceFile& file, const Layers& layers, std::vector<std::string>& offences) {
  bool pragma_once = false;
  for (size_t i = 0; i < file.lines.size(); ++i) {
    const std::string& line = file.lines[i];
    const std::string place = file.path + ":" + std::to_string(i + 1) + ": ";
    if (line == "#pragma once") pragma_once = true;
    if (const auto header = IncludedHeader(line)) {
      if (const auto why = WhyForbidden(file, *header, layers)) offences.push_back(place + *why);
    }
    for (const std::string& word : kUnfinished) {
      if (line.find(word) != line.npos) offences.push_back(place + "unfinished: " + line);
    }
  }
  const std::string whole = file.path + ":1: ";
  if (file.path.ends_with(".h") && !pragma_once) offences.push_back(whole + "no #pragma once");
  if (file.lines.size() > kMaxLines) {
    offences.push_back(whole + std::to_string(file.lines.size()) + " lines, more than " +
                       std::to_string(kMaxLines) + ": does it have one subject?");
  }
}

// Whether a line of a class body, as clang-format lays it out, begins a function.
bool BeginsFunction(std::string_view line, std::string_view class_name) {
  if (!line.starts_with("  ") || line.size() < 3 || line[2] == ' ' || line[2] == '/') return false;
  line.remove_prefix(2);
  line = line.substr(0, line.find("//"));
  const size_t parenthesis = line.find('(');
  if (parenthesis == line.npos || line.starts_with("using ") || line.starts_with("friend ")) {
    return false;
  }
  const std::string_view before = line.substr(0, parenthesis);
  if (before.find(" = ") != before.npos || before.find("operator=") != before.npos) return false;
  const size_t name = before.find_last_of(" ~");
  return (name == before.npos ? before : before.substr(name + 1)) != class_name;
}

// Classes of the doors are what every layer sees: one that does everything is found here.
void CheckClasses(const SourceFile& file, std::vector<std::string>& offences) {
  if (!file.path.starts_with("src/doors/") || !file.path.ends_with(".h")) return;
  if (IsTestCode(file.path)) return;  // a fake has what the interface has
  std::string name;
  bool is_public = false;
  int functions = 0;
  for (size_t i = 0; i < file.lines.size(); ++i) {
    const std::string& line = file.lines[i];
    if (line.starts_with("class ") && line.ends_with("{")) {
      name = line.substr(6, line.find_first_of(" {", 6) - 6);
      is_public = false;
      functions = 0;
    } else if (name.empty()) {
      continue;
    } else if (line.starts_with(" public:")) {
      is_public = true;
    } else if (line.starts_with(" private:") || line.starts_with(" protected:")) {
      is_public = false;
    } else if (line == "};") {
      if (functions > kMaxPublicFunctions) {
        offences.push_back(file.path + ":" + std::to_string(i + 1) + ": " + name + " has " +
                           std::to_string(functions) + " public functions, more than " +
                           std::to_string(kMaxPublicFunctions));
      }
      name.clear();
    } else if (is_public && BeginsFunction(line, name)) {
      ++functions;
    }
  }
}

void CheckFolders(const fs::path& root, const Layers& layers, std::vector<std::string>& offences) {
  if (!fs::exists(root / "src")) return;
  for (const auto& entry : fs::directory_iterator(root / "src")) {
    if (!entry.is_directory()) continue;
    const std::string name = entry.path().filename().string();
    const std::string place = "src/" + name + ": ";
    if (!layers.may_include.contains(name)) offences.push_back(place + "no row in layers.txt");
    if (!fs::exists(entry.path() / "README.md")) offences.push_back(place + "no README.md");
  }
}

}  // namespace

Layers ReadLayers(const fs::path& layers_file) {
  Layers layers;
  for (const std::string& line : ReadLines(layers_file)) {
    std::istringstream words(line);
    std::string keyword;
    std::string subject;
    words >> keyword >> subject;
    if (keyword != "layer" && keyword != "foreign") continue;
    auto& names = (keyword == "layer" ? layers.may_include : layers.foreign)[subject];
    if (keyword == "layer") names.insert(subject);
    for (std::string name; words >> name;) names.insert(name);
  }
  return layers;
}

std::vector<std::string> FindOffences(const fs::path& root, const Layers& layers) {
  std::vector<std::string> offences;
  for (const SourceFile& file : ReadTree(root)) {
    CheckFile(file, layers, offences);
    CheckTime(file, offences);
    CheckClasses(file, offences);
  }
  CheckFolders(root, layers, offences);
  return offences;
}

std::vector<LayerUse> FindLayerUses(const fs::path& root) {
  std::map<std::string, LayerUse> uses;
  for (const auto& entry : fs::directory_iterator(root / "src")) {
    const std::string name = entry.path().filename().string();
    if (name == "house" || !fs::exists(entry.path() / "layer.h")) continue;
    uses[name].layer = name;
  }
  for (const SourceFile& file : ReadTree(root)) {
    if (IsTestCode(file.path)) continue;
    for (size_t i = 0; i < file.lines.size(); ++i) {
      const std::string place = file.path + ":" + std::to_string(i + 1);
      for (auto& [name, use] : uses) {
        if (file.path.starts_with("src/" + name + "/")) continue;
        const std::string header = IncludedHeader(file.lines[i]).value_or("");
        // Who asks is found by admin's header, before any layer is asked.
        const bool wired = file.path.starts_with("src/app/") && name != "admin";
        if (header == name + "/layer.h" || (wired && header.starts_with(name + "/"))) {
          use.included_at.push_back(place);
        }
        const size_t make = file.lines[i].find(name + "::Make");
        if (make != std::string::npos && file.lines[i].find("Layer(", make) != std::string::npos) {
          use.made_at.push_back(place);
        }
      }
    }
  }
  std::vector<LayerUse> found;
  for (auto& [name, use] : uses) found.push_back(std::move(use));
  return found;
}

}  // namespace cairn::testing
