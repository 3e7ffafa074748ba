# bicrl_embed_page(VARIABLE): a source with the page's style sheet and script, made in this build folder.
function(bicrl_embed_page variable)
  set(page ${CMAKE_SOURCE_DIR}/report/page)
  set(embedded ${CMAKE_CURRENT_BINARY_DIR}/embedded_files.cpp)
  add_custom_command(OUTPUT ${embedded}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${embedded} -DHEADER=report/page/embedded_files.h "-DNAMES=kStyleSheet;kScript"
            "-DFILES=${page}/report.css;${page}/report.js" -P ${CMAKE_SOURCE_DIR}/cmake/EmbedFiles.cmake
    DEPENDS ${page}/report.css ${page}/report.js ${CMAKE_SOURCE_DIR}/cmake/EmbedFiles.cmake COMMENT "Embedding the page's style sheet and script" VERBATIM)
  set_source_files_properties(${embedded} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set(${variable} ${embedded} PARENT_SCOPE)
endfunction()
