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

// A segment of a row's path that stands for any text:
//
//   {id}           a segment
//   {name}:invoke  a segment with this end, which is not part of the value
//   {path...}      all that follows, also nothing; the last segment
struct RouteParameter {
  std::string_view name;
  std::string_view suffix;  // ":invoke"
  bool rest = false;

  friend bool operator==(const RouteParameter&, const RouteParameter&) = default;
};
// nullopt for a segment that stands for itself.
std::optional<RouteParameter> ParseParameter(std::string_view segment);

// The rows of a route table by method and path, found segment by segment: looking one up costs the
// length of its path, however many rows there are.
//
//   GET /v1/jobs/{id}          v1 ─ jobs ─┬─ stats  GET
//   GET /v1/jobs/stats                    └─ {…}    GET
//
// If several rows fit, the one with the fewest parameters is found; a parameter with a suffix goes
// before one without, and {path...} last.
//
// Filled by one thread; a constant one is safe to use from any thread.
class RouteTree {
 public:
  // The texts outlive the tree. False, and nothing is added, if the method and path are taken.
  bool Add(std::span<const std::string_view> path, std::string_view method, size_t row);

  // The row for this path and method.
  std::optional<size_t> Find(std::span<const std::string> path, std::string_view method) const;
  // The methods of all rows that fit the path.
  std::vector<std::string_view> MethodsOf(std::span<const std::string> path) const;

 private:
  struct Node {
    std::map<std::string_view, std::unique_ptr<Node>> literals;
    std::map<std::string_view, std::unique_ptr<Node>> suffixed;  // parameters, by suffix
    std::unique_ptr<Node> parameter;
    std::unique_ptr<Node> rest;
    std::vector<std::pair<std::string_view, size_t>> rows;  // by method
  };
  static std::unique_ptr<Node>& NextOf(Node& node, std::string_view segment);
  // Calls visit(node, parameters on the way) for every node that fits the path.
  template <typename Visit>
  static void ForEachFit(const Node& node, std::span<const std::string> path, size_t parameters,
                         const Visit& visit);

  Node root_;
};

}  // namespace cairn::doors
