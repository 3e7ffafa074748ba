// From YAML text and overrides to the tree of config_node.h. The only file that knows yaml-cpp.
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <optional>
#include <set>
#include <sstream>

#include "common/config/config_node.h"
#include "common/error.h"

namespace bicrl {
namespace {

using Kind = ConfigNode::Kind;
using Pointer = ConfigNode::Pointer;

// Aliases can nest a small file into an endless or exponentially large tree.
constexpr int kMaxDepth = 64;
constexpr int kMaxNodes = 20000;
// Every node keeps its path, its place and its text, and aliases repeat all three.
constexpr size_t kMaxTreeBytes = 16 << 20;

// Reads the events of a document without keeping any. After some malformed texts yaml-cpp reports one empty
// document after the other without end, so loading starts only when there is known to be a single document.
class DocumentCheck : public YAML::EventHandler {
 public:
  // The place where a second document begins, if there is one.
  static std::optional<YAML::Mark> second_document(const std::string& yaml) {
    std::istringstream stream(yaml);
    YAML::Parser parser(stream);
    DocumentCheck check;
    while (check.documents_ < 2 && parser.HandleNextDocument(check)) {
    }
    return check.documents_ < 2 ? std::nullopt : std::optional(check.latest_);
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    ++documents_;
    latest_ = mark;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
  }
  void OnMapEnd() override {}

 private:
  int documents_ = 0;
  YAML::Mark latest_;
};

class TreeBuilder {
 public:
  // `fixed_place` is set for overrides, whose values have no line.
  TreeBuilder(std::string name, std::string fixed_place)
      : name_(std::move(name)), fixed_place_(std::move(fixed_place)) {}

  Pointer parse(const std::string& yaml, const std::string& path) {
    if (yaml.size() > kMaxConfigBytes)
      fail(YAML::Mark(), concat("has ", yaml.size(), " bytes; a configuration may have ", kMaxConfigBytes));
    try {
      if (const auto mark = DocumentCheck::second_document(yaml))
        fail(*mark, "the YAML document ends before this");
      const YAML::Node document = YAML::Load(yaml);
      return convert(document, path, document.Mark(), 0);
    } catch (const YAML::Exception& e) {
      fail(e.mark, concat("YAML syntax: ", e.msg));
    }
  }

 private:
  std::string place(const YAML::Mark& mark) const {
    return fixed_place_.empty() ? concat(name_, ":", std::max(mark.line, 0) + 1) : fixed_place_;
  }

  [[noreturn]] void fail(const YAML::Mark& mark, const std::string& reason) const {
    throw InputError(concat(place(mark), ": ", reason));
  }

  Pointer convert(const YAML::Node& yaml, const std::string& path, const YAML::Mark& mark, int depth) {
    if (depth > kMaxDepth || ++nodes_ > kMaxNodes)
      fail(mark, "is nested too deeply or grows too large by its aliases");
    grow(path.size() + name_.size() + fixed_place_.size() + (yaml.IsScalar() ? yaml.Scalar().size() : 0),
         mark);
    auto node = std::make_shared<ConfigNode>();
    node->path = path;
    node->place = place(mark);
    switch (yaml.Type()) {
      case YAML::NodeType::Undefined:
      case YAML::NodeType::Null:
        break;
      case YAML::NodeType::Scalar:
        convert_scalar(yaml, mark, *node);
        break;
      case YAML::NodeType::Sequence:
        node->kind = Kind::kList;
        for (const YAML::Node& item : yaml)
          node->items.push_back(
              convert(item, node->child_path(std::to_string(node->items.size())), item.Mark(), depth + 1));
        break;
      case YAML::NodeType::Map:
        convert_mapping(yaml, depth, *node);
        break;
    }
    return node;
  }

  void grow(size_t bytes, const YAML::Mark& mark) {
    tree_bytes_ += bytes;
    if (tree_bytes_ > kMaxTreeBytes)
      fail(mark, "holds too much text (long keys, or texts repeated by aliases)");
  }

  void convert_scalar(const YAML::Node& yaml, const YAML::Mark& mark, ConfigNode& node) const {
    static constexpr const char* kStandard = "tag:yaml.org,2002:";
    const std::string& tag = yaml.Tag();
    // yaml-cpp's tags of untagged scalars: "?" where plain, "!" where quoted.
    const bool standard = tag.rfind(kStandard, 0) == 0;
    if (!tag.empty() && tag != "?" && tag != "!" && !standard)
      fail(mark, concat("the YAML tag ", tag, " is not supported"));
    node.kind = Kind::kScalar;
    node.scalar = yaml.Scalar();
    node.plain = tag != "!" && tag != std::string(kStandard) + "str";
  }

  void convert_mapping(const YAML::Node& yaml, int depth, ConfigNode& node) {
    node.kind = Kind::kMapping;
    std::vector<YAML::Node> merged;
    std::set<std::string> own_keys;
    for (const auto& entry : yaml) {
      const YAML::Mark mark = entry.first.Mark();
      if (!entry.first.IsScalar() || entry.first.Scalar().empty()) fail(mark, "a key must be text");
      const std::string& key = entry.first.Scalar();
      if (key == "<<" && entry.first.Tag() != "!") {
        merged.push_back(entry.second);
        continue;
      }
      if (!own_keys.insert(key).second)
        fail(mark, concat(node.child_path(key), ": the key appears twice (first at ",
                          (*node.find(key))->place, ")"));
      node.entries.emplace_back(key, convert(entry.second, node.child_path(key), mark, depth + 1));
    }
    for (const YAML::Node& source : merged) merge(source, depth, node);
  }

  // YAML merge key: the mapping's own keys win, then earlier sources over later ones.
  void merge(const YAML::Node& source, int depth, ConfigNode& node) {
    if (source.IsSequence()) {
      for (const YAML::Node& one : source) merge_one(one, depth, node);
    } else {
      merge_one(source, depth, node);
    }
  }

  void merge_one(const YAML::Node& source, int depth, ConfigNode& node) {
    if (!source.IsMap()) fail(source.Mark(), "'<<' must name a mapping or a list of mappings");
    const Pointer other = convert(source, node.path, source.Mark(), depth + 1);
    for (auto& entry : other->entries)
      if (!node.find(entry.first)) node.entries.push_back(std::move(entry));
  }

  std::string name_;
  std::string fixed_place_;
  int nodes_ = 0;
  size_t tree_bytes_ = 0;
};

void mark_overridden(ConfigNode& node) {
  node.overridden = true;
  for (const Pointer& item : node.items) mark_overridden(*item);
  for (const auto& [key, child] : node.entries) mark_overridden(*child);
}

std::vector<std::string> split_path(const std::string& path) {
  std::vector<std::string> parts(1);
  for (char c : path) {
    if (c == '.')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

class Override {
 public:
  explicit Override(const std::string& text) : place_("command line: " + text) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos) fail("an override has the form key.path=value");
    path_ = text.substr(0, equals);
    parts_ = split_path(path_);
    for (const std::string& part : parts_)
      if (part.empty() || part.find_first_of(" \t\n") != std::string::npos)
        fail(concat("'", path_, "' is no key path of the form a.b.c"));
    const std::string written = text.substr(equals + 1);
    deletes_ = written == "~" || written == "null";
    value_ = TreeBuilder("", place_).parse(written, path_);
    mark_overridden(*value_);
  }

  void apply(ConfigNode& root) const {
    ConfigNode* node = &root;
    node->overridden = true;
    for (size_t i = 0; i + 1 < parts_.size(); ++i) {
      node = slot(*node, parts_[i]).get();
      node->overridden = true;
    }
    if (deletes_ && node->kind != Kind::kList)
      remove(*node);
    else
      slot(*node, parts_.back()) = value_;
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const { throw InputError(concat(place_, ": ", reason)); }

  // A key without a value is as if the file did not have it.
  void remove(ConfigNode& node) const {
    const size_t removed =
        std::erase_if(node.entries, [&](const auto& entry) { return entry.first == parts_.back(); });
    if (removed == 0)
      fail(concat("the configuration does not have ", path_, ", so there is nothing to delete"));
  }

  // The place of a child, made if there is none. An unknown key is found by finish() like any other.
  Pointer& slot(ConfigNode& node, const std::string& part) const {
    if (node.kind == Kind::kScalar) fail(concat(node.path, " (", node.place, ") is a value and has no keys"));
    if (node.kind == Kind::kList) return item(node, part);
    node.kind = Kind::kMapping;
    if (Pointer* found = node.find(part)) return *found;
    auto made = std::make_shared<ConfigNode>();
    made->path = node.child_path(part);
    made->place = place_;
    return node.entries.emplace_back(part, std::move(made)).second;
  }

  Pointer& item(ConfigNode& node, const std::string& part) const {
    const bool number =
        part.size() < 9 && std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!number || std::stoul(part) >= node.items.size())
      fail(concat("'", part, "' is no index of the list ", node.path, ", which has ", node.items.size(),
                  " items"));
    return node.items[std::stoul(part)];
  }

  std::string place_;
  std::string path_;
  std::vector<std::string> parts_;
  Pointer value_;
  bool deletes_ = false;
};

}  // namespace

ConfigNode::Pointer load_config_tree(const std::string& yaml, const std::string& name,
                                     const std::vector<std::string>& overrides) {
  Pointer root = TreeBuilder(name, "").parse(yaml, "");
  if (root->kind == Kind::kScalar || root->kind == Kind::kList)
    throw InputError(concat(root->place, ": the document must be a mapping of keys to values"));
  for (const std::string& text : overrides) Override(text).apply(*root);
  return root;
}

}  // namespace bicrl
