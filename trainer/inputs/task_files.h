// The task files of a run: each has a short name, which qualifies the ids of its tasks, and no task is both
// trained on and held out without being asked for. Pure functions but for the files that they read.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "tasks/task.h"
#include "tasks/task_set.h"

namespace bicrl {

// Names by which a run tells its files apart, in their order: the name without ending ("kernel_infilling"),
// and of files that share it as many folders before it as tell them apart ("a/tasks", "b/tasks"). A path that
// occurs twice has one name.
std::vector<std::string> task_file_names(const std::vector<std::filesystem::path>& files);

// A run's tasks, their ids qualified by the names of their files.
struct LoadedFiles {
  std::vector<Task> train;
  std::vector<Task> held_out;
};
// Throws InputError for a file that is named twice in one of the lists, and for entries that are broken or
// cannot serve `use` if `strict`; otherwise these are reported as warnings and left out.
LoadedFiles load_task_files(const std::vector<std::filesystem::path>& train,
                            const std::vector<std::filesystem::path>& held_out, bool strict, TaskUse use);

// Which held-out tasks are training tasks as well, in a sentence for a person: those of a file that is both,
// and those whose module has the same text, white space aside. Empty if none is.
std::string overlap_of(const std::vector<Task>& train, const std::vector<Task>& held_out);

}  // namespace bicrl
