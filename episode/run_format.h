// The format of run directories, which the trainer writes and other rooms read.
#pragma once

namespace bicrl {

// Changes when files of a run directory change their meaning.
inline constexpr int kRunDirectoryFormat = 6;

}  // namespace bicrl
