#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/http/message.h"
#include "store/store.h"

// What a layer keeps, as lines of text and back, whatever engine is underneath. Streamed: neither
// side holds all of it. Resumable: a restore says which lines it has, and lines that are sent again
// are passed over.
namespace cairn::house {

// A dump under way, as of one moment. Used by one thread at a time, which may wait.
class Dump {
 public:
  virtual ~Dump() = default;
  // Some of the lines, each with its line break; empty at the end. After an error the dump is not
  // complete, and no restore takes it for a complete one.
  virtual Result<std::string> Next() = 0;
};

struct RestoreProgress {
  bool finished = false;        // else more lines are to come
  int64_t lines = 0;            // that are there so far
  boost::json::object summary;  // of a finished one: what was restored, and whether it is sound
};

// How a layer is dumped and restored, and the two routes for it: a GET gives the lines, a POST
// takes them.
struct LayerDump {
  std::string_view layer = {};  // Declarations::AddDump sets it

  // Both wait for the disk, and are called from any thread.
  std::function<Result<std::unique_ptr<Dump>>(store::Store& store)> begin;
  // Takes lines, the first of which has the number `first_line`; 1 begins a restore. With the last
  // line the restore is carried out before this returns.
  std::function<Result<RestoreProgress>(store::Store& store, int64_t first_line,
                                        std::string_view lines)>
      restore;

  std::string_view backup_path;  // of the GET
  std::string_view backup_permission;
  std::string_view backup_summary;  // in the reference
  std::string_view restore_path;    // of the POST
  std::string_view restore_permission;
  std::string_view restore_summary;
  std::string_view restored_schema;  // JSON schema of {"status":"restored","lines":…, SUMMARY…}
  // Errors as the layer's API tells them.
  std::function<net::HttpResponse(const Error& error)> error_reply;
  std::string_view error_schema;
};

}  // namespace cairn::house
