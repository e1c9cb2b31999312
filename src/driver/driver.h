// The driver's one function is part of what embedders use.
#pragma once

#include "pto/compiler.h"  // IWYU pragma: export
