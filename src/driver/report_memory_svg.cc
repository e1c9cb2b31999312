// The picture: a panel for each memory, steps of the program from left to right, addresses from bottom to top, a box
// for each part of a buffer's life. Neither axis is to scale where that would hide a small tile: every box is tall
// enough for its name as long as there are not too many.
#include <algorithm>
#include <cstdio>

#include "src/driver/report_memory.h"

namespace pto::driver {

namespace {

using Core = MemoryReport::Core;
using Memory = MemoryReport::Memory;

constexpr int kLeft = 96;
constexpr int kRight = 24;
constexpr int kLoopHeight = 16;
constexpr int kHeight = 260;       // of a panel with many bands
constexpr int kBandHeight = 64;    // of one with few, for each
constexpr int kLowest = 17;        // a band of addresses that has to hold a name
constexpr size_t kMostBands = 48;  // beyond, addresses are to scale
constexpr double kLetter = 6.4;    // width of a letter, about
constexpr const char* kColours[] = {"#8ecae6", "#ffd6a5", "#b8e0b0", "#e5b3d8", "#ffadad",
                                    "#cdb4f0", "#f2e394", "#a8dadc", "#d8c3a5", "#c3d0e8"};

std::string escaped(const std::string& text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

std::string text_at(double x, double y, const std::string& text, const std::string& more = "") {
  return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\"" + (more.empty() ? "" : " " + more) + ">" +
         escaped(text) + "</text>\n";
}

std::string line(double x1, double y1, double x2, double y2, const std::string& style) {
  return "<line x1=\"" + number(x1) + "\" y1=\"" + number(y1) + "\" x2=\"" + number(x2) + "\" y2=\"" + number(y2) +
         "\" " + style + "/>\n";
}

std::string short_bytes(int64_t bytes) {
  return bytes >= 1024 && bytes % 1024 == 0 ? std::to_string(bytes / 1024) + "K" : std::to_string(bytes);
}

// Addresses to heights: bands between the edges of buffers, each at least tall enough for a name.
class AddressAxis {
 public:
  explicit AddressAxis(const Memory& memory) {
    edges_ = {0, memory.plan.peak};
    for (const MemoryReport::Buffer& buffer : memory.buffers) {
      edges_.push_back(buffer.address);
      edges_.push_back(buffer.address + buffer.bytes);
    }
    std::sort(edges_.begin(), edges_.end());
    edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
    const double whole = std::min<double>(kHeight, kBandHeight * static_cast<double>(edges_.size() - 1));
    const double scale = whole / static_cast<double>(std::max<int64_t>(1, edges_.back()));
    const double least = edges_.size() > kMostBands ? 0 : kLowest;
    heights_.push_back(0);
    for (size_t i = 1; i < edges_.size(); ++i) {
      heights_.push_back(heights_.back() + std::max(least, static_cast<double>(edges_[i] - edges_[i - 1]) * scale));
    }
  }
  double at(int64_t address) const {
    const auto edge = std::lower_bound(edges_.begin(), edges_.end(), address);
    return heights_[static_cast<size_t>(edge - edges_.begin())];
  }
  double height() const { return heights_.back(); }
  const std::vector<int64_t>& edges() const { return edges_; }

 private:
  std::vector<int64_t> edges_;
  std::vector<double> heights_;
};

class Picture {
 public:
  explicit Picture(const MemoryReport& report) : report_(report) {}

  std::string run() {
    for (const Core& core : report_.cores) {
      draw(core);
    }
    if (report_.cores.empty()) {
      body_ += text_at(kLeft, y_ += 24, "no core programs: memory is planned at the Block level");
    }
    y_ += 16;
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + number(width_) + "\" height=\"" + number(y_) +
           "\" viewBox=\"0 0 " + number(width_) + " " + number(y_) +
           "\" font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\" font-size=\"11\" fill=\"#222\">\n"
           "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n" +
           body_ + "</svg>\n";
  }

 private:
  void draw(const Core& core) {
    y_ += 28;
    body_ += "<text x=\"16\" y=\"" + number(y_) + "\"><tspan font-size=\"15\" font-weight=\"bold\">" +
             escaped(core.name) + "</tspan><tspan dx=\"10\" fill=\"#666\">" + escaped(core.kind) + " core of " +
             escaped(report_.target) + "</tspan></text>\n";
    if (!core.placed) {
      body_ += text_at(16, y_ += 20, "buffers have no addresses yet");
    }
    const double steps = static_cast<double>(std::max<size_t>(1, core.steps.size()));
    step_ = std::clamp(960.0 / steps, 2.0, 88.0);
    if (steps * step_ < 420) {
      step_ = 420 / steps;
    }
    width_ = std::max(width_, kLeft + kRight + steps * step_);
    for (const Memory& memory : core.memories) {
      draw(core, memory);
    }
  }

  double x_half(int64_t half) const { return kLeft + static_cast<double>(half) * step_ / 2; }
  double x(int64_t step) const { return kLeft + static_cast<double>(step) * step_; }

  void draw(const Core& core, const Memory& memory) {
    const passes::SpacePlan& plan = memory.plan;
    y_ += 26;
    body_ += text_at(16, y_, std::string(spelling(plan.space)), "font-weight=\"bold\" font-size=\"13\"");
    body_ += text_at(kLeft, y_,
                     std::to_string(plan.peak) + " of " + std::to_string(plan.capacity) + " bytes; most live at once " +
                         std::to_string(plan.bound) + ", gap " + std::to_string(plan.peak - plan.bound) +
                         "; without sharing " + std::to_string(plan.apart));
    width_ = std::max(width_, kLeft + kRight + 560.0);
    y_ += 8;
    draw_loops(core);
    const AddressAxis axis(memory);
    const double bottom = y_ + axis.height();
    const double right = x(static_cast<int64_t>(core.steps.size()));
    body_ += "<rect x=\"" + number(kLeft) + "\" y=\"" + number(y_) + "\" width=\"" + number(right - kLeft) +
             "\" height=\"" + number(axis.height()) + "\" fill=\"#f6f6f4\" stroke=\"#999\"/>\n";
    double last = bottom + 100;
    for (int64_t edge : axis.edges()) {
      const double at = bottom - axis.at(edge);
      body_ += line(kLeft, at, right, at, "stroke=\"#ddd\"");
      if (last - at >= 11) {
        body_ += text_at(kLeft - 6, at + 4, short_bytes(edge), "text-anchor=\"end\" font-size=\"10\" fill=\"#555\"");
        last = at;
      }
    }
    for (size_t i = 0; i < memory.buffers.size(); ++i) {
      draw(memory.buffers[i], axis, bottom, kColours[i % std::size(kColours)]);
    }
    y_ = bottom;
    draw_steps(core);
  }

  void draw(const MemoryReport::Buffer& buffer, const AddressAxis& axis, double bottom, const char* colour) {
    const double top = bottom - axis.at(buffer.address + buffer.bytes);
    const double height = std::max(2.0, bottom - axis.at(buffer.address) - top);
    for (const passes::LiveRange& part : buffer.halves) {
      const double left = x_half(part.begin);
      const double width = x_half(part.end + 1) - left;
      const std::string size = buffer.type + (buffer.slots == 1 ? "" : " x " + std::to_string(buffer.slots));
      body_ +=
          "<g><title>" +
          escaped(buffer.name + " " + size + ", " + std::to_string(buffer.bytes) + " bytes at " +
                  std::to_string(buffer.address) + (buffer.line == 0 ? "" : ", line " + std::to_string(buffer.line))) +
          "</title><rect x=\"" + number(left + 0.5) + "\" y=\"" + number(top + 0.5) + "\" width=\"" +
          number(std::max(1.0, width - 1)) + "\" height=\"" + number(std::max(1.0, height - 1)) +
          "\" rx=\"2\" fill=\"" + colour + "\" stroke=\"#555\" stroke-width=\"0.7\"/>\n";
      const bool both = height >= 28;
      const size_t fits = static_cast<size_t>(std::max(0.0, (width - 6) / kLetter));
      const std::string label =
          !both && buffer.name.size() + size.size() + 1 <= fits ? buffer.name + " " + size : buffer.name;
      if (height >= 12 && label.size() <= fits) {
        const double middle = top + height / 2 + (both && size.size() <= fits ? -2 : 4);
        body_ += text_at(left + width / 2, middle, label, "text-anchor=\"middle\"");
        if (both && size.size() <= fits) {
          body_ +=
              text_at(left + width / 2, middle + 13, size, "text-anchor=\"middle\" font-size=\"10\" fill=\"#444\"");
        }
      }
      body_ += "</g>\n";
    }
  }

  void draw_loops(const Core& core) {
    int deepest = -1;
    for (const MemoryReport::Loop& loop : core.loops) {
      if (loop.begin <= loop.end) {
        const double at = y_ + kLoopHeight * loop.depth;
        deepest = std::max(deepest, loop.depth);
        body_ += "<rect x=\"" + number(x(loop.begin) + 0.5) + "\" y=\"" + number(at) + "\" width=\"" +
                 number(x(loop.end + 1) - x(loop.begin) - 1) + "\" height=\"" + number(kLoopHeight - 3) +
                 "\" rx=\"3\" fill=\"#e4e4ea\"/>\n";
        if (static_cast<double>(loop.text.size()) * kLetter < x(loop.end + 1) - x(loop.begin)) {
          body_ += text_at(x(loop.begin) + 5, at + 10, loop.text, "font-size=\"10\" fill=\"#555\"");
        }
      }
    }
    y_ += kLoopHeight * (deepest + 1);
  }

  // Under the panel: instructions where there is room, and the source line of each where it changes.
  void draw_steps(const Core& core) {
    const bool names = step_ >= 40;
    double last = -100;
    int previous = -1;
    for (size_t i = 0; i < core.steps.size(); ++i) {
      const MemoryReport::Step& step = core.steps[i];
      const double middle = x(static_cast<int64_t>(i)) + step_ / 2;
      if (names) {
        std::string name = step.mnemonic;
        const size_t fits = static_cast<size_t>(step_ / 5.6);
        name = name.size() > fits ? name.substr(0, fits - 1) + "." : name;
        body_ += text_at(middle, y_ + 13, name, "text-anchor=\"middle\" font-size=\"10\" fill=\"#555\"");
      }
      if (step.line != 0 && step.line != previous && middle - last >= 26) {
        body_ += line(x(static_cast<int64_t>(i)), y_, x(static_cast<int64_t>(i)), y_ + 5, "stroke=\"#999\"");
        body_ += text_at(middle, y_ + (names ? 27 : 14), std::to_string(step.line),
                         "text-anchor=\"middle\" font-size=\"10\"");
        last = middle;
      }
      previous = step.line;
    }
    body_ += text_at(kLeft - 6, y_ + (names ? 27 : 14), "line", "text-anchor=\"end\" font-size=\"10\" fill=\"#555\"");
    y_ += names ? 34 : 22;
  }

  const MemoryReport& report_;
  std::string body_;
  double y_ = 0;
  double width_ = 0;
  double step_ = 0;
};

}  // namespace

std::string memory_svg(const MemoryReport& report) {
  return Picture(report).run();
}

std::string memory_html(const MemoryReport& report) {
  return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Memory</title></head>\n<body>\n" +
         memory_svg(report) + "<pre>\n" + escaped(memory_text(report)) + "</pre>\n</body></html>\n";
}

}  // namespace pto::driver
