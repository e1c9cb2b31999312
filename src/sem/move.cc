// Data movement: between global memory and tiles, and between tiles. Layouts are converted on the way, and element
// types where they differ (out of an accumulator, to a bias): see convert_rows.h.
#include <algorithm>

#include "src/sem/exec.h"
#include "src/sem/surface.h"

namespace pto::sem {

void exec_TLoad(const Args& args) {
  const TileView& dst = args.tiles[0];
  const Valid domain = clamp(dst.valid, dst.desc);
  copy_region(surface_of(dst), surface_of(args.gm), domain.rows, domain.cols);
}

void exec_TStore(const Args& args) {
  const TileView& src = args.tiles[0];
  const Valid domain = clamp(src.valid, src.desc);
  copy_region(surface_of(args.gm), surface_of(src), domain.rows, domain.cols);
}

void exec_TMov(const Args& args) {
  const TileView& dst = args.tiles[0];
  const TileView& src = args.tiles[1];
  const Valid domain = clamp(clamp(dst.valid, dst.desc), src.desc);
  copy_region(surface_of(dst), surface_of(src), domain.rows, domain.cols);
}

void exec_TExtract(const Args& args) {
  const TileView& dst = args.tiles[0];
  const TileView& src = args.tiles[1];
  const int64_t row = std::clamp<int64_t>(args.index[0], 0, src.desc.rows);
  const int64_t col = std::clamp<int64_t>(args.index[1], 0, src.desc.cols);
  const Valid domain = clamp(dst.valid, dst.desc);
  copy_region(surface_of(dst), surface_of(src).window(row, col), std::min(domain.rows, src.desc.rows - row),
              std::min(domain.cols, src.desc.cols - col));
}

}  // namespace pto::sem
