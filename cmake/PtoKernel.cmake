# pto_add_kernel(NAME SOURCES k.pto... [TARGET a2a3] [DEFINES N=1000...] [INCLUDES dir...] [OPTIONS --flag...])
#
# Compiles each source into an object when it, a file it imports, or ptoc itself changes; NAME is built with `all`.
# One source gives NAME.ptobin, several give STEM.ptobin each. $<TARGET_PROPERTY:NAME,PTO_OBJECTS> lists them.

# Paths in dependency files are relative to the build folder, whatever the policies of the calling project.
cmake_policy(PUSH)
cmake_policy(SET CMP0116 NEW)

function(pto_add_kernel NAME)
  cmake_parse_arguments(ARG "" "TARGET" "SOURCES;DEFINES;INCLUDES;OPTIONS" ${ARGN})
  if(ARG_UNPARSED_ARGUMENTS OR ARG_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "pto_add_kernel(${NAME}): not understood: ${ARG_UNPARSED_ARGUMENTS} ${ARG_KEYWORDS_MISSING_VALUES}")
  endif()
  if(NOT ARG_SOURCES)
    message(FATAL_ERROR "pto_add_kernel(${NAME}): no SOURCES")
  endif()
  if(NOT ARG_TARGET)
    set(ARG_TARGET a2a3)
  endif()
  set(FLAGS --target ${ARG_TARGET})
  foreach(DEFINE ${ARG_DEFINES})
    list(APPEND FLAGS -D ${DEFINE})
  endforeach()
  foreach(FOLDER ${ARG_INCLUDES})
    cmake_path(ABSOLUTE_PATH FOLDER BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    list(APPEND FLAGS -I ${FOLDER})
  endforeach()
  list(LENGTH ARG_SOURCES COUNT)
  set(OBJECTS "")
  foreach(SOURCE ${ARG_SOURCES})
    cmake_path(GET SOURCE STEM STEM)
    if(COUNT EQUAL 1)
      set(STEM ${NAME})
    endif()
    cmake_path(ABSOLUTE_PATH SOURCE BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    set(OBJECT ${CMAKE_CURRENT_BINARY_DIR}/${STEM}.ptobin)
    add_custom_command(OUTPUT ${OBJECT}
      COMMAND pto::ptoc ${SOURCE} -o ${OBJECT} ${FLAGS} ${ARG_OPTIONS} -MD -MF ${OBJECT}.d
      DEPENDS ${SOURCE} pto::ptoc
      DEPFILE ${OBJECT}.d
      COMMENT "Compiling ${STEM}.ptobin for ${ARG_TARGET}"
      VERBATIM)
    list(APPEND OBJECTS ${OBJECT})
  endforeach()
  add_custom_target(${NAME} ALL DEPENDS ${OBJECTS})
  set_target_properties(${NAME} PROPERTIES PTO_OBJECTS "${OBJECTS}")
endfunction()

cmake_policy(POP)
