# The C++ runtime of ANTLR 4 as Antlr4::runtime. Its own CMake package has had wrong paths in several distributions.
find_path(ANTLR4_INCLUDE_DIR antlr4-runtime.h PATH_SUFFIXES antlr4-runtime)
find_library(ANTLR4_LIBRARY antlr4-runtime)
mark_as_advanced(ANTLR4_INCLUDE_DIR ANTLR4_LIBRARY)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Antlr4Runtime REQUIRED_VARS ANTLR4_LIBRARY ANTLR4_INCLUDE_DIR)
if(Antlr4Runtime_FOUND AND NOT TARGET Antlr4::runtime)
  add_library(Antlr4::runtime UNKNOWN IMPORTED)
  set_target_properties(Antlr4::runtime PROPERTIES IMPORTED_LOCATION ${ANTLR4_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${ANTLR4_INCLUDE_DIR})
endif()
