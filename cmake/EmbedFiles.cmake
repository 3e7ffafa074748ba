# cmake -DOUTPUT=FILE.cpp -DHEADER=PATH -DNAMES=a;b -DFILES=x;y -P EmbedFiles.cmake
# Writes a source with the bytes of each file and their SHA-256, which a content security policy names.
file(WRITE ${OUTPUT}.new "#include \"${HEADER}\"\n\nnamespace bicrl::report {\n")
foreach(name file IN ZIP_LISTS NAMES FILES)
  file(READ ${file} bytes HEX)
  file(SHA256 ${file} hash)
  string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${bytes}")
  file(APPEND ${OUTPUT}.new "static constexpr char ${name}_bytes[] = {${bytes}};\n"
       "const EmbeddedFile ${name} = {{${name}_bytes, sizeof ${name}_bytes}, \"${hash}\"};\n")
endforeach()
file(APPEND ${OUTPUT}.new "}  // namespace bicrl::report\n")
file(RENAME ${OUTPUT}.new ${OUTPUT})
