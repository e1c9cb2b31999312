# How this project's libraries, programs and generated files are built.

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(FlatBuffers REQUIRED)
find_package(hwy REQUIRED)
list(APPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR})
find_package(Antlr4Runtime REQUIRED)
find_program(ANTLR4_TOOL antlr4 REQUIRED)
find_program(FLATC flatc REQUIRED)
find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

add_library(pto_options INTERFACE)
# No contraction: the same bits with and without fused multiply-add. Prefix map: no path of the build machine in a binary.
# g++ 12 sees overlapping copies in `"text" + std::string` that are not there (GCC bug 105651), so no -Wrestrict.
# None of it is for programs that use the installed libraries.
target_compile_options(pto_options INTERFACE $<BUILD_INTERFACE:-Wall> $<BUILD_INTERFACE:-Wextra>
  $<BUILD_INTERFACE:-Wconversion> $<BUILD_INTERFACE:$<$<CXX_COMPILER_ID:GNU>:-Werror>>
  $<BUILD_INTERFACE:$<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>>
  $<BUILD_INTERFACE:-ffp-contract=off> $<BUILD_INTERFACE:-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=>)
target_compile_features(pto_options INTERFACE cxx_std_20)
if(PTO_SANITIZE)
  # For everything, generated code and tests included: a container must not be checked in one half of a program only.
  add_compile_options(-fsanitize=${PTO_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  add_link_options(-fsanitize=${PTO_SANITIZE})
  # With the checks in the code, gcc's flow warnings see paths that are not there.
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-error>)
endif()
if(PTO_BUILD_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)  # libFuzzer is led by what the libraries' code reaches
endif()
target_include_directories(pto_options INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
  $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/generated> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

# pto_library(NAME DIR [EXCLUDE SUBDIR] USES LIBS...): a static library pto_NAME of all sources under DIR.
function(pto_library NAME DIR)
  cmake_parse_arguments(ARG "" "EXCLUDE" "USES" ${ARGN})
  file(GLOB_RECURSE SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${DIR}/*.cc)
  list(FILTER SOURCES EXCLUDE REGEX "_main\\.cc$")
  if(ARG_EXCLUDE)
    list(FILTER SOURCES EXCLUDE REGEX "/${ARG_EXCLUDE}/")
  endif()
  if(NOT SOURCES)
    file(WRITE ${PROJECT_BINARY_DIR}/generated/${NAME}_empty.cc "")
    set(SOURCES ${PROJECT_BINARY_DIR}/generated/${NAME}_empty.cc)
  endif()
  add_library(pto_${NAME} STATIC ${SOURCES})
  target_link_libraries(pto_${NAME} PUBLIC pto_options)
  foreach(LIB ${ARG_USES})
    target_link_libraries(pto_${NAME} PUBLIC pto_${LIB})
  endforeach()
  set_target_properties(pto_${NAME} PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()

# clang refuses the runtime's Vocabulary: constant members without initialisers. It reads a copy that has them instead.
function(pto_antlr_clang_overlay)
  set(OUT ${PROJECT_BINARY_DIR}/generated/antlr_overlay)
  file(READ ${ANTLR4_INCLUDE_DIR}/Vocabulary.h TEXT)
  string(REGEX REPLACE "const (_[a-z]+Names);" "const \\1{};" TEXT "${TEXT}")
  file(CONFIGURE OUTPUT ${OUT}/Vocabulary.h CONTENT "${TEXT}" @ONLY)
  file(CONFIGURE OUTPUT ${OUT}/overlay.yaml CONTENT "{ 'version': 0, 'roots': [ { 'name': '${ANTLR4_INCLUDE_DIR}',
    'type': 'directory', 'contents': [ { 'name': 'Vocabulary.h', 'type': 'file',
    'external-contents': '${OUT}/Vocabulary.h' } ] } ] }" @ONLY)
  target_compile_options(pto_antlr PUBLIC $<BUILD_INTERFACE:-ivfsoverlay$<SEMICOLON>${OUT}/overlay.yaml>)
endfunction()

# The ANTLR lexer and parser of grammar/Pto.g4, as a library of their own: generated code gets none of our warnings, and
# does not compile as C++20 unless char8_t is off.
function(pto_antlr_library)
  set(OUT ${PROJECT_BINARY_DIR}/generated/antlr)
  set(GENERATED ${OUT}/PtoLexer.cpp ${OUT}/PtoParser.cpp ${OUT}/PtoVisitor.cpp ${OUT}/PtoBaseVisitor.cpp)
  add_custom_command(OUTPUT ${GENERATED}
    # A Java machine that finds one of these in the environment says so on every start.
    COMMAND ${CMAKE_COMMAND} -E env --unset=JAVA_TOOL_OPTIONS --unset=_JAVA_OPTIONS ${ANTLR4_TOOL} -Dlanguage=Cpp -visitor -no-listener -Xexact-output-dir -o ${OUT}
            ${PROJECT_SOURCE_DIR}/grammar/Pto.g4
    DEPENDS ${PROJECT_SOURCE_DIR}/grammar/Pto.g4 COMMENT "Generating the parser")
  add_library(pto_antlr STATIC ${GENERATED})
  target_include_directories(pto_antlr SYSTEM PUBLIC $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/generated/antlr>)
  target_compile_options(pto_antlr PRIVATE -w -fno-char8_t)
  target_link_libraries(pto_antlr PUBLIC Antlr4::runtime Threads::Threads)
  if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
    pto_antlr_clang_overlay()
  endif()
  set_target_properties(pto_antlr PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()

# ptob_generated.h from the FlatBuffers schema.
function(pto_flatbuffers_header TARGET)
  set(SCHEMA ${PROJECT_SOURCE_DIR}/include/pto/object/ptob.fbs)
  set(OUT ${PROJECT_BINARY_DIR}/generated/ptob_generated.h)
  add_custom_command(OUTPUT ${OUT}
    COMMAND ${FLATC} --cpp --scoped-enums -o ${PROJECT_BINARY_DIR}/generated ${SCHEMA}
    DEPENDS ${SCHEMA} COMMENT "Generating the object format's header")
  target_sources(${TARGET} PRIVATE ${OUT})
  target_link_libraries(${TARGET} PRIVATE flatbuffers::flatbuffers)
endfunction()

# The target descriptions as string literals: builtin_targets.inc has one PTO_TARGET("name", R"(json)") a file.
function(pto_embed_targets TARGET)
  file(GLOB FILES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/isa/targets/*.json)
  set(TEXT "")
  foreach(FILE ${FILES})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${FILE})
    get_filename_component(NAME ${FILE} NAME_WE)
    file(READ ${FILE} JSON)
    string(APPEND TEXT "PTO_TARGET(\"${NAME}\", R\"~json~(${JSON})~json~\")\n")
  endforeach()
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/builtin_targets.inc CONTENT "${TEXT}" @ONLY)
  target_link_libraries(${TARGET} PRIVATE nlohmann_json::nlohmann_json)
endfunction()
