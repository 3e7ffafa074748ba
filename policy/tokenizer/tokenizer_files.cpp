#include "policy/tokenizer/tokenizer_files.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_set>

#include "common/error.h"
#include "common/files/files.h"
#include "policy/files/json_reader.h"
#include "policy/tokenizer/tokenizer_bpe.h"

namespace bicrl {
namespace fs = std::filesystem;
using nlohmann::json;
namespace {

// GPT-2's pattern, which ByteLevel applies by itself.
constexpr const char* kByteLevelPattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr const char* kQwen2Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
// Ids index tables, so a wild one must not size them: neither a large one nor one far beyond the others.
constexpr int64_t kMaxId = int64_t{1} << 24;
constexpr int64_t kMaxUnusedIds = 1 << 16;

void check_id(const JsonReader& reader, const std::string& key, int64_t id) {
  if (id < 0 || id > kMaxId) reader.reject(key, "an id must be between 0 and 2^24");
}

void read_vocabulary(const JsonReader& reader, const json& object, TokenizerSpec& spec) {
  spec.vocabulary.reserve(object.size());
  for (const auto& item : object.items()) {
    const int64_t id = reader.integer(item.key());
    check_id(reader, item.key(), id);
    spec.vocabulary.emplace_back(item.key(), id);
  }
}

std::pair<std::string, std::string> parse_merge(const std::string& line, const std::string& where) {
  const size_t space = line.find(' ');
  if (space == std::string::npos || space == 0 || space + 1 == line.size() ||
      line.find(' ', space + 1) != std::string::npos)
    throw InputError(concat(where, ": expected two tokens with a space between, found \"", line, "\""));
  return {line.substr(0, space), line.substr(space + 1)};
}

void read_merges_text(const std::string& text, const std::string& name, TokenizerSpec& spec) {
  int64_t number = 0;
  for (size_t at = 0; at < text.size();) {
    size_t end = text.find('\n', at);
    if (end == std::string::npos) end = text.size();
    std::string line = text.substr(at, end - at);
    at = end + 1;
    ++number;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.starts_with("#version") || (line.empty() && at >= text.size())) continue;
    spec.merges.push_back(parse_merge(line, concat(name, ":", number)));
  }
}

AddedToken read_added(const JsonReader& reader, int64_t id) {
  AddedToken token;
  token.id = id;
  token.text = reader.text("content");
  token.special = reader.boolean("special", false);
  token.normalized = reader.boolean("normalized", !token.special);
  token.lstrip = reader.boolean("lstrip", false);
  token.rstrip = reader.boolean("rstrip", false);
  if (reader.boolean("single_word", false)) reader.reject("single_word", "not supported for added tokens");
  if (token.text.empty()) reader.reject("content", "an added token must not be empty");
  return token;
}

// ---- tokenizer.json -------------------------------------------------------------------------------------

void read_model(const JsonReader& model, TokenizerSpec& spec) {
  if (model.text("type", "BPE") != "BPE") model.reject("type", "only \"BPE\" is supported");
  if (model.real("dropout", 0) != 0) model.reject("dropout", "not supported");
  if (model.boolean("byte_fallback", false)) model.reject("byte_fallback", "not supported");
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"})
    if (!model.text(key, "").empty()) model.reject(key, "not supported");
  spec.ignore_merges = model.boolean("ignore_merges", false);
  read_vocabulary(model.object("vocab"), model.at("vocab"), spec);
  size_t number = 0;
  for (const auto& merge : model.list("merges")) {
    const std::string where = concat(model.name(), ": merges[", number++, "]");
    if (merge.is_string())
      spec.merges.push_back(parse_merge(merge.get<std::string>(), where));
    else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string())
      spec.merges.emplace_back(merge[0].get<std::string>(), merge[1].get<std::string>());
    else
      throw InputError(concat(where, ": expected \"a b\" or [\"a\", \"b\"]"));
  }
}

void read_normalizer(const JsonReader& root, TokenizerSpec& spec) {
  if (!root.has("normalizer")) return;
  const JsonReader normalizer = root.object("normalizer");
  if (normalizer.text("type") == "Sequence") {
    for (const auto& part : normalizer.list("normalizers")) {
      const JsonReader step(part, normalizer.name() + ": normalizers");
      if (step.text("type") != "NFC") step.reject("type", "only \"NFC\" is supported");
      spec.normalize_nfc = true;
    }
    return;
  }
  if (normalizer.text("type") != "NFC") normalizer.reject("type", "only \"NFC\" is supported");
  spec.normalize_nfc = true;
}

void read_split(const JsonReader& step, TokenizerSpec& spec) {
  const JsonReader pattern = step.object("pattern");
  if (!pattern.has("Regex")) step.reject("pattern", "only {\"Regex\": ...} is supported");
  if (step.text("behavior") != "Isolated") step.reject("behavior", "only \"Isolated\" is supported");
  if (step.boolean("invert", false)) step.reject("invert", "not supported");
  spec.split_patterns.push_back(pattern.text("Regex"));
}

void read_byte_level(const JsonReader& step, TokenizerSpec& spec) {
  if (step.boolean("add_prefix_space", true)) step.reject("add_prefix_space", "only false is supported");
  if (step.boolean("use_regex", true)) spec.split_patterns.push_back(kByteLevelPattern);
}

void read_pre_tokenizer(const JsonReader& pre, TokenizerSpec& spec) {
  if (pre.text("type") == "ByteLevel") return read_byte_level(pre, spec);
  if (pre.text("type") != "Sequence") pre.reject("type", "only \"ByteLevel\" and \"Sequence\" are supported");
  bool bytes = false;
  for (const auto& part : pre.list("pretokenizers")) {
    const JsonReader step(part, pre.name() + ": pretokenizers");
    const std::string type = step.text("type");
    if (bytes) step.reject("type", "ByteLevel must be the last step");
    if (type == "Split")
      read_split(step, spec);
    else if (type == "ByteLevel")
      read_byte_level(step, spec), bytes = true;
    else
      step.reject("type", "only \"Split\" and \"ByteLevel\" are supported");
  }
  if (!bytes) pre.reject("pretokenizers", "the last step must be ByteLevel");
}

void read_tokenizer_json(const std::string& text, TokenizerSpec& spec) {
  const json document = parse_json(text, spec.name);
  const JsonReader root(document, spec.name);
  read_model(root.object("model"), spec);
  read_normalizer(root, spec);
  read_pre_tokenizer(root.object("pre_tokenizer"), spec);
  const JsonReader decoder = root.object("decoder");
  if (decoder.text("type") != "ByteLevel") decoder.reject("type", "only \"ByteLevel\" is supported");
  if (!root.has("added_tokens")) return;
  for (const auto& item : root.list("added_tokens")) {
    const JsonReader reader(item, spec.name + ": added_tokens");
    const int64_t id = reader.integer("id");
    check_id(reader, "id", id);
    spec.added.push_back(read_added(reader, id));
  }
}

// ---- vocab.json, merges.txt and what stands beside them ---------------------------------------------------

// Texts of every special token that special_tokens_map.json names.
std::set<std::string> read_special_texts(const json& document, const std::string& name) {
  std::set<std::string> texts;
  const auto add = [&](const json& value, const std::string& key) {
    if (value.is_string())
      texts.insert(value.get<std::string>());
    else
      texts.insert(JsonReader(value, name + ": " + key).text("content"));
  };
  for (const auto& item : document.items()) {
    if (item.value().is_array())
      for (const auto& value : item.value()) add(value, item.key());
    else if (!item.value().is_null())
      add(item.value(), item.key());
  }
  return texts;
}

// tokenizer_config.json has the flags and decides the spelling; added_tokens.json alone has only text and id.
void read_added_tokens(TokenizerSpec& spec, const std::map<std::string, json>& beside,
                       const fs::path& folder) {
  const auto named = [&](const char* file) { return (folder / file).string(); };
  std::map<int64_t, AddedToken> by_id;
  if (const auto config = beside.find("tokenizer_config.json"); config != beside.end()) {
    const JsonReader root(config->second, named("tokenizer_config.json"));
    if (root.boolean("add_prefix_space", false)) root.reject("add_prefix_space", "only false is supported");
    if (root.has("added_tokens_decoder")) {
      const JsonReader decoder = root.object("added_tokens_decoder");
      for (const auto& item : root.at("added_tokens_decoder").items()) {
        int64_t id = 0;
        for (const char digit : item.key()) {
          if (digit < '0' || digit > '9' || id > kMaxId)
            decoder.reject(item.key(), "the key must be a token id");
          id = 10 * id + (digit - '0');
        }
        check_id(decoder, item.key(), id);
        by_id[id] = read_added(decoder.object(item.key()), id);
      }
    }
  }
  std::set<std::string> specials;
  if (const auto map = beside.find("special_tokens_map.json"); map != beside.end())
    specials = read_special_texts(map->second, named("special_tokens_map.json"));
  if (const auto added = beside.find("added_tokens.json"); added != beside.end()) {
    const JsonReader root(added->second, named("added_tokens.json"));
    for (const auto& item : added->second.items()) {
      const int64_t id = root.integer(item.key());
      check_id(root, item.key(), id);
      if (item.key().empty()) root.reject(item.key(), "an added token must not be empty");
      const auto [slot, fresh] = by_id.try_emplace(id);
      if (fresh)
        slot->second = {id, item.key(), specials.contains(item.key()), false, false, false};
      else if (slot->second.text != item.key())
        spec.aliases[item.key()] = id;
    }
  }
  for (auto& [id, token] : by_id) spec.added.push_back(std::move(token));
}

// A list of merges that was cut off at the end of a line looks whole. But tokens that no merge makes could
// never appear, so a vocabulary that has such tokens gives the cut away.
void check_every_token_is_made(const TokenizerSpec& spec, const std::string& merges_name) {
  std::unordered_set<std::string> made;
  for (const auto& [left, right] : spec.merges) made.insert(left + right);
  for (const AddedToken& token : spec.added) made.insert(token.text);
  for (const auto& [text, id] : spec.aliases) made.insert(text);
  for (const auto& [text, id] : spec.vocabulary)
    if (bytes_of_spelling(text).size() > 1 && !made.contains(text))
      throw InputError(
          concat(merges_name, ": no merge makes the token ", text, " (id ", id,
                 ") of vocab.json: the file has been cut off, or belongs to another vocabulary"));
}

void check_id_range(const TokenizerSpec& spec) {
  int64_t highest = -1;
  for (const auto& [text, id] : spec.vocabulary) highest = std::max(highest, id);
  for (const AddedToken& token : spec.added) highest = std::max(highest, token.id);
  const auto tokens = static_cast<int64_t>(spec.vocabulary.size() + spec.added.size());
  if (highest >= 2 * tokens + kMaxUnusedIds)
    throw InputError(
        concat(spec.name, ": vocab: id ", highest, " is far beyond the ", tokens, " tokens there are"));
}

}  // namespace

TokenizerFiles load_tokenizer_files(const fs::path& folder) {
  std::vector<const char*> names = {"tokenizer_config.json", "special_tokens_map.json",
                                    "chat_template.jinja"};
  if (fs::exists(folder / "tokenizer.json"))
    names.push_back("tokenizer.json");
  else
    names.insert(names.end(), {"vocab.json", "merges.txt", "added_tokens.json"});
  TokenizerFiles files;
  for (const char* name : names)
    if (fs::exists(folder / name)) files[name] = read_file(folder / name);
  return files;
}

TokenizerSpec parse_tokenizer_files(TokenizerFiles files, const fs::path& folder) {
  TokenizerSpec spec;
  if (const auto single = files.find("tokenizer.json"); single != files.end()) {
    spec.name = (folder / "tokenizer.json").string();
    read_tokenizer_json(single->second, spec);
  } else {
    if (!files.contains("vocab.json") || !files.contains("merges.txt"))
      throw InputError(concat(folder.string(), ": has neither tokenizer.json nor vocab.json and merges.txt"));
    spec.name = (folder / "vocab.json").string();
    const json vocabulary = parse_json(files["vocab.json"], spec.name);
    read_vocabulary(JsonReader(vocabulary, spec.name), vocabulary, spec);
    read_merges_text(files["merges.txt"], (folder / "merges.txt").string(), spec);
    std::map<std::string, json> beside;
    for (const char* name : {"added_tokens.json", "tokenizer_config.json", "special_tokens_map.json"}) {
      if (!files.contains(name)) continue;
      beside[name] = parse_json(files[name], (folder / name).string());
      if (!beside[name].is_object())
        throw InputError(concat((folder / name).string(), ": expected a JSON object"));
    }
    read_added_tokens(spec, beside, folder);
    check_every_token_is_made(spec, (folder / "merges.txt").string());
    spec.normalize_nfc = true;
    spec.split_patterns = {kQwen2Pattern};
  }
  check_id_range(spec);
  spec.files = std::move(files);
  return spec;
}

}  // namespace bicrl
