#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::testing {

// The law of includes, as cmake/layers.txt states it.
struct Layers {
  // For each folder, the folders it may include, itself among them. A part of a folder that has a
  // row of its own is named "folder/part"; who may include the folder may include its parts.
  std::map<std::string, std::set<std::string>> may_include;
  // For each prefix of a third-party header, the folders of src where it may be included.
  std::map<std::string, std::set<std::string>> foreign;
};

Layers ReadLayers(const std::filesystem::path& layers_file);

// Reads every source file under src, tests and bench of the tree at `root`, and names each place
// that breaks a rule, as "path:line: what is wrong":
//  - an #include that the layers forbid, climbs with "..", or reaches test helpers from product
//  code;
//  - product code that asks the machine for the time itself, where it is not one of the few files
//    that must (kOwnTime in tree.cc), and such a file that no longer does;
//  - a header without #pragma once, an unfinished spot, a file of more than kMaxLines lines;
//  - a class of src/doors with more than kMaxPublicFunctions public functions, beside those that
//    make, copy or destroy it;
//  - a folder of src without a README.md, or without a row in the layers.
// An empty answer means that the tree keeps all of them.
std::vector<std::string> FindOffences(const std::filesystem::path& root, const Layers& layers);

// Where product code outside of a layer's folder has to do with the layer as such, as "path:line".
struct LayerUse {
  std::string layer;                     // a folder of src with a layer.h: "seats"
  std::vector<std::string> made_at;      // seats::MakeSeatsLayer(
  std::vector<std::string> included_at;  // #include "seats/layer.h"; in app, anything of it
};

// Of every layer of the tree, in the order of their names.
std::vector<LayerUse> FindLayerUses(const std::filesystem::path& root);

inline constexpr int kMaxLines = 800;
inline constexpr int kMaxPublicFunctions = 20;

}  // namespace cairn::testing
