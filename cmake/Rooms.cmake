# Several files are compiled as one: what they include is read once (bench/build.md). So a name of an unnamed
# namespace is unique in its room, and in the tests of a room, also the name of a registration.
# BICRL_UNITY=OFF compiles each file alone.
option(BICRL_UNITY "Compile several files of a room at once" ON)
function(bicrl_compile_together target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${BICRL_UNITY} UNITY_BUILD_BATCH_SIZE 8)
  # The warning is for types with local parts unless they stand in the very file that is compiled. CMake includes files by
  # absolute paths: without the map __FILE__ had them, and ccache would not find what another clone compiled.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage -fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=>)
endfunction()

# bicrl_room(NAME [TOGETHER] [FOLDER dir] [PARTS subfolders...] [GLOB patterns...] [EXCLUDE prefix] PUBLIC_LIBS ... PRIVATE_LIBS ...)
# Makes the shared library bicrl_NAME of the .cpp files directly in the room's folder and in its parts. TOGETHER:
# several files at once.
function(bicrl_room name)
  cmake_parse_arguments(ROOM "TOGETHER" "FOLDER;EXCLUDE" "PARTS;GLOB;PUBLIC_LIBS;PRIVATE_LIBS" ${ARGN})
  if(NOT ROOM_FOLDER)
    set(ROOM_FOLDER ${name})
  endif()
  if(NOT ROOM_GLOB)
    set(ROOM_GLOB ${ROOM_FOLDER}/*.cpp)
    foreach(part ${ROOM_PARTS})
      list(APPEND ROOM_GLOB ${ROOM_FOLDER}/${part}/*.cpp)
    endforeach()
  endif()
  list(TRANSFORM ROOM_GLOB PREPEND ${CMAKE_SOURCE_DIR}/)
  file(GLOB sources CONFIGURE_DEPENDS ${ROOM_GLOB})
  if(ROOM_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX "/${ROOM_EXCLUDE}[^/]*$")
  endif()
  if(NOT sources)
    add_library(bicrl_${name} INTERFACE)
    target_link_libraries(bicrl_${name} INTERFACE ${ROOM_PUBLIC_LIBS})
    return()
  endif()
  add_library(bicrl_${name} SHARED ${sources})
  if(ROOM_TOGETHER)
    bicrl_compile_together(bicrl_${name})
  endif()
  target_include_directories(bicrl_${name} PUBLIC ${CMAKE_SOURCE_DIR})
  target_link_libraries(bicrl_${name} PUBLIC ${ROOM_PUBLIC_LIBS} PRIVATE ${ROOM_PRIVATE_LIBS})
endfunction()
