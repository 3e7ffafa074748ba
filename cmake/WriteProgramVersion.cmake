# cmake -DOUTPUT=FILE.cpp -DSOURCE=FOLDER -DVERSION=X.Y.Z -P WriteProgramVersion.cmake
# The commit is empty where the source is not a git repository, or git is absent or refuses.
execute_process(COMMAND git -C ${SOURCE} rev-parse --short=12 HEAD
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failure)
if(failure)
  set(commit "")
else()
  # Without the lock that would stop a commit made meanwhile.
  execute_process(COMMAND git --no-optional-locks -C ${SOURCE} status --porcelain --untracked-files=no
                  OUTPUT_VARIABLE changes OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(changes)
    string(APPEND commit " with changes")
  endif()
endif()
set(text "#include \"common/program_version.h\"\n\nnamespace bicrl {\n\
const ProgramVersion kProgramVersion = {\"${VERSION}\", \"${commit}\"};\n}  // namespace bicrl\n")
set(before "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} before)
endif()
if(NOT before STREQUAL text)
  file(WRITE ${OUTPUT} "${text}")
endif()
