#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cairn::house {

// Where a layer writes its figures when somebody asks for /metrics. The calls of one name follow
// each other, with the same help text and different labels.
class MetricsWriter {
 public:
  using Labels = std::vector<std::pair<std::string, std::string>>;  // name and value

  virtual ~MetricsWriter() = default;
  // Only ever grows while the process runs; the name ends with _total.
  virtual void Counter(std::string_view name, std::string_view help, double value,
                       Labels labels = {}) = 0;
  virtual void Gauge(std::string_view name, std::string_view help, double value,
                     Labels labels = {}) = 0;
  // counts[i] is the number of values in (bounds[i - 1], bounds[i]]; one more count, the last, is
  // that of the values above all bounds.
  struct Distribution {
    std::span<const double> bounds;
    std::span<const uint64_t> counts;
    double sum = 0;
  };
  virtual void Histogram(std::string_view name, std::string_view help,
                         const Distribution& distribution, Labels labels = {}) = 0;
};

// Called on a thread that may wait; by several at once. One that cannot read its figures writes
// none.
using MetricsSource = std::function<void(MetricsWriter& writer)>;

}  // namespace cairn::house
