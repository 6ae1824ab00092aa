#include "doors/http/route_tree.h"

#include <algorithm>

namespace cairn::doors {

namespace {

constexpr std::string_view kRestMark = "...";
// More parameters than any path has.
constexpr size_t kRestWeight = 1'000;

}  // namespace

std::optional<RouteParameter> ParseParameter(std::string_view segment) {
  const size_t end = segment.find('}');
  if (!segment.starts_with('{') || end == std::string_view::npos) return std::nullopt;
  RouteParameter parameter{.name = segment.substr(1, end - 1), .suffix = segment.substr(end + 1)};
  parameter.rest = parameter.name.ends_with(kRestMark);
  if (parameter.rest) parameter.name.remove_suffix(kRestMark.size());
  return parameter;
}

std::unique_ptr<RouteTree::Node>& RouteTree::NextOf(Node& node, std::string_view segment) {
  const std::optional<RouteParameter> parameter = ParseParameter(segment);
  if (!parameter) return node.literals[segment];
  if (parameter->rest) return node.rest;
  return parameter->suffix.empty() ? node.parameter : node.suffixed[parameter->suffix];
}

bool RouteTree::Add(std::span<const std::string_view> path, std::string_view method, size_t row) {
  Node* node = &root_;
  for (const std::string_view segment : path) {
    std::unique_ptr<Node>& next = NextOf(*node, segment);
    if (next == nullptr) next = std::make_unique<Node>();
    node = next.get();
  }
  const auto same_method = [&](const auto& taken) { return taken.first == method; };
  if (std::ranges::any_of(node->rows, same_method)) return false;
  node->rows.emplace_back(method, row);
  return true;
}

template <typename Visit>
void RouteTree::ForEachFit(const Node& node, std::span<const std::string> path, size_t parameters,
                           const Visit& visit) {
  if (node.rest != nullptr) visit(*node.rest, parameters + kRestWeight);
  if (path.empty()) return visit(node, parameters);
  const std::string_view segment = path.front();
  const auto literal = node.literals.find(segment);
  if (literal != node.literals.end()) {
    ForEachFit(*literal->second, path.subspan(1), parameters, visit);
  }
  for (const auto& [suffix, next] : node.suffixed) {
    if (segment.size() > suffix.size() && segment.ends_with(suffix)) {
      ForEachFit(*next, path.subspan(1), parameters + 1, visit);
    }
  }
  if (node.parameter != nullptr) {
    ForEachFit(*node.parameter, path.subspan(1), parameters + 1, visit);
  }
}

std::optional<size_t> RouteTree::Find(std::span<const std::string> path,
                                      std::string_view method) const {
  std::optional<size_t> found;
  size_t fewest = 0;
  ForEachFit(root_, path, 0, [&](const Node& node, size_t parameters) {
    if (found && parameters >= fewest) return;
    for (const auto& [its_method, row] : node.rows) {
      if (its_method != method) continue;
      found = row;
      fewest = parameters;
    }
  });
  return found;
}

std::vector<std::string_view> RouteTree::MethodsOf(std::span<const std::string> path) const {
  std::vector<std::string_view> methods;
  ForEachFit(root_, path, 0, [&](const Node& node, size_t /*parameters*/) {
    for (const auto& [method, row] : node.rows) methods.push_back(method);
  });
  return methods;
}

}  // namespace cairn::doors
