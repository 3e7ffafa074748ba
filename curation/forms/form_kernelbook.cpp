// KernelBook: modules from repositories, each with a Triton program. The module's class has a name of its
// own, and get_init_inputs() returns [[positional arguments], {named arguments}].
#include "common/error.h"
#include "common/json.h"
#include "curation/code/model_class.h"
#include "curation/form.h"

namespace bicrl::curation {
namespace {

const std::vector<std::string> kKernelBookLabels = {"entry_point", "repo_name", "module_name", "synthetic",
                                                    "uuid",        "stars",     "sha",         "repo_link"};

// A text, or a list of texts.
std::string licence_in(const nlohmann::json& entry) {
  for (const char* field : {"licenses", "license"}) {
    const auto found = entry.find(field);
    if (found == entry.end() || found->is_null()) continue;
    if (found->is_string()) return found->get<std::string>();
    if (!found->is_array()) continue;
    std::string all;
    for (const auto& name : *found)
      if (name.is_string()) all += (all.empty() ? "" : ", ") + name.get<std::string>();
    return all;
  }
  return "";
}

class KernelBookForm : public Form {
 public:
  std::vector<std::string> fields() const override {
    return {"entry_point", "python_code", "triton_code", "repo_name", "module_name"};
  }
  std::string licence() const override {
    return "MIT up to revision 1576375b, Researcher Reciprocity after it; each module has its repository's";
  }

  Record read(const nlohmann::json& entry) const override {
    Record record;
    const std::string code = text_of(entry, "python_code");
    record.pytorch_code = with_model_class(code, text_of(entry, "entry_point"));
    record.name = text_or(entry, "module_name");
    record.provenance.licence = licence_in(entry);
    keep_labels(entry, kKernelBookLabels, record);
    record.labels["python_code"] = code;
    record.labels["triton_code"] = text_or(entry, "triton_code");
    record.labels["original_triton_code"] = text_or(entry, "original_triton_code");
    return record;
  }

  nlohmann::ordered_json write(const Record& record, const WritingOptions&) const override {
    const std::string code = label_of(record, "python_code");
    return {{"entry_point", code.empty() ? "Model" : label_of(record, "entry_point")},
            {"original_triton_code", label_of(record, "original_triton_code")},
            {"python_code", code.empty() ? needed(record.pytorch_code, "a task's code") : code},
            {"triton_code", label_of(record, "triton_code")},
            {"repo_name", label_of(record, "repo_name")},
            {"module_name", record.name},
            {"synthetic", label_of(record, "synthetic") == "true"},
            {"uuid", label_of(record, "uuid").empty() ? record.id : label_of(record, "uuid")},
            {"licenses", record.provenance.licence}};
  }
};

const FormRegistration kKernelbookRegistered("kernelbook", std::make_unique<KernelBookForm>());

}  // namespace
}  // namespace bicrl::curation
