# `cmake --install`: programs, static libraries, the headers of include/pto, and the CMake package `pto`.

include(CMakePackageConfigHelpers)
set(PTO_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/pto)

set(PTO_LIBRARIES support isa sem timing object ir frontend passes eval codegen driver runtime ptorun_cli antlr options)
set(PTO_INSTALLED "")
foreach(NAME ${PTO_LIBRARIES})
  set_target_properties(pto_${NAME} PROPERTIES EXPORT_NAME ${NAME})
  list(APPEND PTO_INSTALLED pto_${NAME})
endforeach()
foreach(PROGRAM ptoc ptorun)
  if(TARGET ${PROGRAM})
    list(APPEND PTO_INSTALLED ${PROGRAM})
    add_executable(pto::${PROGRAM} ALIAS ${PROGRAM})  # pto_add_kernel works inside this project, too
  endif()
endforeach()

install(TARGETS ${PTO_INSTALLED} EXPORT ptoTargets
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT ptoTargets NAMESPACE pto:: DESTINATION ${PTO_CMAKE_DIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/pto DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN *.h PATTERN *.def PATTERN *.fbs)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/ptoConfig.cmake.in
  ${PROJECT_BINARY_DIR}/ptoConfig.cmake INSTALL_DESTINATION ${PTO_CMAKE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ptoConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ptoConfig.cmake ${PROJECT_BINARY_DIR}/ptoConfigVersion.cmake
  ${PROJECT_SOURCE_DIR}/cmake/PtoKernel.cmake ${PROJECT_SOURCE_DIR}/cmake/FindAntlr4Runtime.cmake
  DESTINATION ${PTO_CMAKE_DIR})
if(EXISTS ${PROJECT_SOURCE_DIR}/samples/lib)
  # `import` finds these with -I.
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/samples/lib DESTINATION ${CMAKE_INSTALL_DATADIR}/pto)
endif()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

include(${PROJECT_SOURCE_DIR}/cmake/PtoKernel.cmake)
