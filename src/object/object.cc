#include "pto/object.h"

#include "pto/result.h"

namespace pto::object {
namespace {

// The `index`-th tensor parameter; null if there are not so many.
const Param* tensor_param(const Core& core, uint32_t index) {
  for (const Param& param : core.params) {
    if (param.is_tensor && index-- == 0) {
      return &param;
    }
  }
  return nullptr;
}

const View& view_of(const Core& core, isa::TensorId id) {
  const size_t index = id.index() - (core.tensor_count() - core.views.size());
  PTO_CHECK(index < core.views.size(), "a tensor that the core doesn't have");
  return core.views[index];
}

}  // namespace

size_t Core::tensor_count() const {
  size_t count = views.size();
  for (const Param& param : params) {
    count += param.is_tensor ? 1 : 0;
  }
  return count;
}

std::vector<isa::TensorInfo> Core::tensor_infos() const {
  std::vector<isa::TensorInfo> infos;
  for (const Param& param : params) {
    if (param.is_tensor) {
      infos.push_back({param.dtype, static_cast<int>(param.dims.size())});
    }
  }
  for (const View& view : views) {
    PTO_CHECK(view.base.index() < infos.size(), "a view of a later tensor");
    infos.push_back({infos[view.base.index()].dtype, static_cast<int>(view.dims.size())});
  }
  return infos;
}

const std::vector<ExprId>& Core::tensor_dims(isa::TensorId id) const {
  const Param* param = tensor_param(*this, id.index());
  return param != nullptr ? param->dims : view_of(*this, id).dims;
}

const std::string& Core::tensor_name(isa::TensorId id) const {
  const Param* param = tensor_param(*this, id.index());
  return param != nullptr ? param->name : view_of(*this, id).name;
}

}  // namespace pto::object
