# bicrl_program_version(TARGET): a source of the target with the program's version and the commit that it was
# built from (trainer/run/reports/program_version.h). Looked up at each build, and written where it has changed.
function(bicrl_program_version target)
  set(source ${CMAKE_BINARY_DIR}/generated/program_version.cpp)
  add_custom_target(bicrl_program_version BYPRODUCTS ${source}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${source} -DSOURCE=${CMAKE_SOURCE_DIR} -DVERSION=${PROJECT_VERSION}
            -P ${CMAKE_SOURCE_DIR}/cmake/WriteProgramVersion.cmake
    COMMENT "Looking up the commit" VERBATIM)
  add_dependencies(${target} bicrl_program_version)
  target_sources(${target} PRIVATE ${source})
  set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON)
endfunction()
