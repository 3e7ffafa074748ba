# Target `bicrl_version`: the program's version and the commit that it was built from
# (common/program_version.h). Looked up at each build, and written where it has changed. A static library of the
# program and the learner's module, so that no other room is linked anew behind a commit.
set(source ${CMAKE_BINARY_DIR}/generated/program_version.cpp)
add_custom_target(bicrl_version_source BYPRODUCTS ${source}
  COMMAND ${CMAKE_COMMAND} -DOUTPUT=${source} -DSOURCE=${CMAKE_SOURCE_DIR} -DVERSION=${PROJECT_VERSION}
          -P ${CMAKE_SOURCE_DIR}/cmake/WriteProgramVersion.cmake
  COMMENT "Looking up the commit" VERBATIM)
add_library(bicrl_version STATIC ${source})
add_dependencies(bicrl_version bicrl_version_source)
target_include_directories(bicrl_version PUBLIC ${CMAKE_SOURCE_DIR})
