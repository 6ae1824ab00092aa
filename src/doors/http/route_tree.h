#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cairn::doors {

// Whether a segment of a row's path stands for any segment: "{id}".
bool IsParameter(std::string_view segment);

// The rows of a route table by method and path, found segment by segment: looking one up costs the
// length of its path, however many rows there are.
//
//   GET /v1/jobs/{id}          v1 ─ jobs ─┬─ stats  GET
//   GET /v1/jobs/stats                    └─ {…}    GET
//
// Filled by one thread; a constant one is safe to use from any thread.
class RouteTree {
 public:
  // The texts outlive the tree. False, and nothing is added, if the method and path are taken.
  bool Add(std::span<const std::string_view> path, std::string_view method, size_t row);

  // The row for this path and method; with the fewest parameters, if several fit.
  std::optional<size_t> Find(std::span<const std::string> path, std::string_view method) const;
  // The methods of all rows that fit the path.
  std::vector<std::string_view> MethodsOf(std::span<const std::string> path) const;

 private:
  struct Node {
    std::map<std::string_view, std::unique_ptr<Node>> literals;
    std::unique_ptr<Node> parameter;
    std::vector<std::pair<std::string_view, size_t>> rows;  // by method
  };
  // Calls visit(node, parameters on the way) for every node that fits the path.
  template <typename Visit>
  static void ForEachFit(const Node& node, std::span<const std::string> path, size_t parameters,
                         const Visit& visit);

  Node root_;
};

}  // namespace cairn::doors
