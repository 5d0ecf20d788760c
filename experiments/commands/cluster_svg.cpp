#include "experiments/commands/cluster_svg.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "core/base/index.hpp"
#include "core/base/units.hpp"

namespace orrery {
namespace {

// All lengths in SVG's pixels.
constexpr double kPitch = 96, kBoxWidth = 76, kBoxHeight = 34, kMargin = 40;
constexpr double kRow = 100;         // between rows of a server
constexpr double kGroupWidth = 150;  // box of servers that are not drawn whole
constexpr double kLegendLine = 26;
constexpr int kDevicesDrawn = 16, kServersDrawn = 8;  // most of a cluster that is drawn whole

constexpr std::array<const char*, 8> kLinkColours{"#3b6fb6", "#c8553d", "#3f8f5b", "#8a5fb0",
                                                  "#b8860b", "#2a9d9d", "#9c4f77", "#666666"};

const char* fill_of(NodeKind kind) {
  switch (kind) {
    case NodeKind::kDevice:
      return "#d7ecd9";
    case NodeKind::kHost:
      return "#f3e3c3";
    case NodeKind::kNic:
      return "#d5e3f5";
    case NodeKind::kNetworkSwitch:
      return "#e4dcf1";
    case NodeKind::kLocalSwitch:
      return "#ececec";
  }
  return "#ffffff";
}

struct Point {
  double x = 0, y = 0;
};

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text)
    out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  return out;
}

std::string text_at(Point at, const std::string& text, double size, const char* anchor = "middle",
                    const char* weight = "normal") {
  return fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{}\" text-anchor=\"{}\" font-weight=\"{}\" "
      "fill=\"#222\">{}</text>\n",
      at.x, at.y, size, anchor, weight, escaped(text));
}

std::string box_at(Point centre, double width, double height, const char* fill,
                   const char* stroke = "#555") {
  return fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"5\" fill=\"{}\" "
      "stroke=\"{}\"/>\n",
      centre.x - width / 2, centre.y - height / 2, width, height, fill, stroke);
}

/// Pixels for a rate: 1.6 for 1 GB/s, a third more for twice the rate.
double width_of(double bytes_per_second) {
  return std::clamp(1.6 * std::pow(bytes_per_second / 1e9, 0.4), 1.2, 12.0);
}

/// Moves wishes apart to at least `gap`, in their order, and back around their mean.
void spread(std::vector<double>& x, double gap) {
  std::vector<std::size_t> order(x.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return x[a] < x[b]; });
  const double before = std::accumulate(x.begin(), x.end(), 0.0);
  for (std::size_t i = 1; i < order.size(); ++i)
    x[order[i]] = std::max(x[order[i]], x[order[i - 1]] + gap);
  const double shift = (std::accumulate(x.begin(), x.end(), 0.0) - before) /
                       static_cast<double>(std::max<std::size_t>(1, x.size()));
  for (double& value : x) value -= shift;
}

class Drawing {
 public:
  explicit Drawing(const Cluster& cluster)
      : cluster_(cluster), at_(cluster.nodes.size()), placed_(cluster.nodes.size(), false) {
    for (const ClusterLink& link : cluster.links) {
      neighbours_[link.from].push_back(link.to);
      neighbours_[link.to].push_back(link.from);
      if (!colour_.contains(link.type)) {
        colour_[link.type] = kLinkColours[legend_.size() % kLinkColours.size()];
        legend_.push_back(&link);
      }
    }
    const bool small = static_cast<int>(cluster.devices.size()) <= kDevicesDrawn &&
                       cluster.servers() <= kServersDrawn;
    const int whole = small ? cluster.servers() : 1;
    place_network_levels();
    for (int s = 0; s < whole; ++s) place_server(s);
    place_groups(whole);
    place_network();
  }

  std::string svg() {
    std::string boxes, links;
    for (const auto& frame : frames_) boxes += frame;
    for (const ClusterLink& link : cluster_.links)
      if (placed(link.from) && placed(link.to)) links += line(link);
    links += group_lines_;
    std::string nodes;
    for (std::size_t n = 0; n < cluster_.nodes.size(); ++n)
      if (placed_[n]) nodes += node_box(n);
    const double legend_top = bottom_ + 46;
    const double height =
        legend_top + kLegendLine * static_cast<double>((legend_.size() + 1) / 2 + 1) + 24;
    const double width = std::max(right_ + kMargin, 760.0);
    return fmt::format(
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
               "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"Helvetica, Arial, sans-serif\">\n"
               "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
               width, height) +
           text_at({kMargin, 34}, title(), 19, "start", "bold") + boxes + links + nodes +
           legend(legend_top) + "</svg>\n";
  }

 private:
  const ClusterNode& node(int n) const { return cluster_.nodes[orrery::at(n)]; }
  Point& at(int n) { return at_[orrery::at(n)]; }
  bool placed(int n) const { return placed_[orrery::at(n)]; }
  void put(int n, Point where) {
    at(n) = where;
    placed_[orrery::at(n)] = true;
  }

  std::string title() const {
    return fmt::format("{}: {} server{}, {} device{}", cluster_.name, cluster_.servers(),
                       cluster_.servers() == 1 ? "" : "s", cluster_.devices.size(),
                       cluster_.devices.size() == 1 ? "" : "s");
  }

  /// Levels of the network: 0 is linked to servers.
  void place_network_levels() {
    std::vector<int> open;
    for (int n = 0; n < static_cast<int>(cluster_.nodes.size()); ++n) {
      if (node(n).server != kNoServer) continue;
      const auto& others = neighbours_[n];
      if (std::any_of(others.begin(), others.end(),
                      [&](int o) { return node(o).server != kNoServer; })) {
        level_[n] = 0;
        open.push_back(n);
      }
    }
    for (std::size_t i = 0; i < open.size(); ++i)
      for (const int other : neighbours_[open[i]])
        if (node(other).server == kNoServer && !level_.contains(other)) {
          level_[other] = level_[open[i]] + 1;
          open.push_back(other);
        }
    int levels = 0;
    for (const auto& [unused, level] : level_) levels = std::max(levels, level + 1);
    top_ = 60 + kRow * levels;
  }

  std::vector<int> nodes_of(int server, NodeKind kind) const {
    std::vector<int> found;
    for (int n = 0; n < static_cast<int>(cluster_.nodes.size()); ++n)
      if (node(n).server == server && node(n).kind == kind) found.push_back(n);
    return found;
  }

  /// Mean position of the neighbours that are placed, in the same server.
  double mean_of_neighbours(int n, double otherwise) {
    double sum = 0;
    int count = 0;
    for (const int other : neighbours_[n])
      if (placed(other) && node(other).server == node(n).server) {
        sum += at(other).x;
        ++count;
      }
    return count == 0 ? otherwise : sum / count;
  }

  bool linked_to(int n, NodeKind kind) {
    const auto& others = neighbours_[n];
    return std::any_of(others.begin(), others.end(), [&](int o) { return node(o).kind == kind; });
  }

  void place_row(const std::vector<int>& row, double y, double otherwise) {
    std::vector<double> x;
    for (const int n : row) x.push_back(mean_of_neighbours(n, otherwise));
    spread(x, kBoxWidth + 8);
    for (std::size_t i = 0; i < row.size(); ++i) put(row[i], {x[i], y});
  }

  /// Rows from above: NICs, hosts, switches towards the hosts, devices, switches of devices alone.
  void place_server(int s) {
    const auto devices = nodes_of(s, NodeKind::kDevice), hosts = nodes_of(s, NodeKind::kHost),
               nics = nodes_of(s, NodeKind::kNic);
    std::vector<int> inner, fabric;
    for (const int n : nodes_of(s, NodeKind::kLocalSwitch))
      (linked_to(n, NodeKind::kHost) || linked_to(n, NodeKind::kNic) ? inner : fabric).push_back(n);
    const double widest =
        static_cast<double>(std::max({devices.size(), nics.size(), hosts.size(), std::size_t{2}}));
    const double left = frames_.empty() ? kMargin : right_ + 24, width = widest * kPitch + 24;
    const double middle = left + width / 2;

    double y = top_ + 62;
    const double nic_y = y, host_y = nics.empty() ? y : y += kRow * 0.8;
    const double inner_y = hosts.empty() ? y : y += kRow * 0.8;
    const double device_y = inner.empty() ? y : y += kRow * 0.8;
    const double fabric_y = device_y + 1.5 * kRow;  // clears the boxes of the devices between
    double x = middle - (static_cast<double>(devices.size()) - 1) * kPitch / 2;
    for (const int n : devices) {
      put(n, {x, device_y});
      x += kPitch;
    }
    place_row(inner, inner_y, middle);
    place_row(hosts, host_y, middle);
    place_row(nics, nic_y, middle);
    place_row(fabric, fabric_y, middle);
    const double end = (fabric.empty() ? device_y + depth_of_arcs(s) : fabric_y) + 52;
    frames_.push_back(
        fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
                    "rx=\"10\" fill=\"#fafafa\" stroke=\"#999\"/>\n",
                    left, top_, width, end - top_) +
        text_at({left + 12, end - 12}, fmt::format("server s{}", s), 14, "start", "bold"));
    right_ = left + width;
    bottom_ = std::max(bottom_, end);
  }

  /// How far the arc of a link between two nodes of one row leaves it at its control points.
  double sag_of(const ClusterLink& link) {
    const bool below = node(link.from).kind == NodeKind::kDevice;
    const double steps = std::abs(at(link.from).x - at(link.to).x) / kPitch;
    return kBoxHeight / 2 + 22 + (below ? 17 * steps : 0);
  }

  /// How far the arcs between the devices of a server hang below them.
  double depth_of_arcs(int server) {
    double depth = 0;
    for (const ClusterLink& link : cluster_.links)
      if (node(link.from).server == server && node(link.from).kind == NodeKind::kDevice &&
          node(link.to).kind == NodeKind::kDevice)
        depth = std::max(depth, 0.75 * sag_of(link));  // a cubic reaches 3/4 of its controls
    return depth;
  }

  /// Network switches that a server is linked to, with the rate of all its links.
  std::map<int, std::pair<double, const ClusterLink*>> uplinks(int server) const {
    std::map<int, std::pair<double, const ClusterLink*>> found;
    for (const ClusterLink& link : cluster_.links)
      for (const auto& [inside, outside] :
           {std::pair{link.from, link.to}, std::pair{link.to, link.from}})
        if (node(inside).server == server && node(outside).server == kNoServer) {
          found[outside].first += link.bytes_per_second;
          found[outside].second = &link;
        }
    return found;
  }

  /// Runs of further servers on the same switches, a box each.
  void place_groups(int first) {
    for (int s = first; s < cluster_.servers();) {
      const auto links = uplinks(s);
      int end = s + 1;
      const auto same = [&](int other) {
        const auto theirs = uplinks(other);
        return theirs.size() == links.size() &&
               std::equal(theirs.begin(), theirs.end(), links.begin(),
                          [](const auto& a, const auto& b) { return a.first == b.first; });
      };
      while (end < cluster_.servers() && same(end)) ++end;
      groups_.push_back({s, end, {right_ + 24 + kGroupWidth / 2, top_ + 46}});
      right_ += 24 + kGroupWidth;
      s = end;
    }
  }

  void draw_group(int first, int end, Point centre) {
    int devices = 0;
    for (const Device& device : cluster_.devices)
      devices += node(device.node).server == first ? 1 : 0;
    std::string text = end - first == 1 ? fmt::format("server s{}", first)
                                        : fmt::format("servers s{} to s{}", first, end - 1);
    frames_.push_back(box_at(centre, kGroupWidth, 92, "#fafafa", "#999") +
                      text_at({centre.x, centre.y - 14}, text, 13, "middle", "bold") +
                      text_at({centre.x, centre.y + 6},
                              fmt::format("{} device{} each", devices, devices == 1 ? "" : "s"),
                              12) +
                      text_at({centre.x, centre.y + 24}, "wired as s0", 12));
    for (const auto& [outside, rate] : uplinks(first)) {
      const ClusterLink& link = *rate.second;
      group_lines_ += fmt::format(
          "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" "
          "stroke=\"{}\" stroke-width=\"{:.1f}\"/>\n",
          centre.x, centre.y - 46, at(outside).x, at(outside).y, colour_.at(link.type),
          width_of(rate.first));
    }
  }

  /// Switches above what hangs on them.
  void place_network() {
    std::map<int, std::vector<int>> rows;
    for (const auto& [n, level] : level_) rows[level].push_back(n);
    for (const auto& [level, row] : rows) {
      std::vector<double> x;
      for (const int n : row) x.push_back(mean_below(n, level));
      spread(x, kBoxWidth + 30);
      for (std::size_t i = 0; i < row.size(); ++i)
        put(row[i], {x[i], top_ - kRow * (level + 0.55)});
    }
    for (const auto& group : groups_) draw_group(group.first, group.end, group.centre);
  }

  /// Mean position of the boxes below a network switch that hang on it.
  double mean_below(int n, int level) {
    std::vector<double> x;
    std::set<int> servers;
    for (const int other : neighbours_[n]) {
      if (node(other).server != kNoServer && servers.insert(node(other).server).second &&
          placed(other))
        x.push_back(middle_of(node(other).server));
      if (node(other).server == kNoServer && level_[other] == level - 1) x.push_back(at(other).x);
    }
    for (const auto& group : groups_)
      if (servers.contains(group.first)) x.push_back(group.centre.x);
    return x.empty() ? right_ / 2
                     : std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
  }

  double middle_of(int server) {
    double low = 1e18, high = -1e18;
    for (int n = 0; n < static_cast<int>(cluster_.nodes.size()); ++n)
      if (node(n).server == server && placed(n)) {
        low = std::min(low, at(n).x);
        high = std::max(high, at(n).x);
      }
    return (low + high) / 2;
  }

  /// Straight, but between two nodes of one row an arc: below devices, above others.
  std::string line(const ClusterLink& link) {
    const Point a = at(link.from), b = at(link.to);
    const std::string style =
        fmt::format("stroke=\"{}\" stroke-width=\"{:.1f}\" fill=\"none\" stroke-opacity=\"0.85\"",
                    colour_.at(link.type), width_of(link.bytes_per_second));
    if (node(link.from).server != node(link.to).server) {
      // Upright out of its server, so that it crosses no other.
      const Point inner = node(link.from).server == kNoServer ? b : a,
                  outer = inner.x == a.x && inner.y == a.y ? b : a;
      return fmt::format(
          "<polyline points=\"{:.1f},{:.1f} {:.1f},{:.1f} {:.1f},{:.1f}\" "
          "stroke-linejoin=\"round\" {}/>\n",
          inner.x, inner.y, inner.x, top_ - 4, outer.x, outer.y, style);
    }
    if (a.y != b.y)
      return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n",
                         a.x, a.y, b.x, b.y, style);
    const double sag = (node(link.from).kind == NodeKind::kDevice ? 1 : -1) * sag_of(link);
    return fmt::format(
        "<path d=\"M {:.1f} {:.1f} C {:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}\" {}/>\n", a.x, a.y,
        a.x, a.y + sag, b.x, b.y + sag, b.x, b.y, style);
  }

  std::string node_box(std::size_t n) const {
    const ClusterNode& node = cluster_.nodes[n];
    const std::string shown = node.name.substr(node.name.find('/') + 1);
    for (std::size_t rank = 0; rank < cluster_.devices.size(); ++rank)
      if (cluster_.devices[rank].node == static_cast<int>(n))
        return box_at(at_[n], kBoxWidth, kBoxHeight, fill_of(node.kind)) +
               text_at({at_[n].x, at_[n].y - 2}, shown, 12, "middle", "bold") +
               text_at({at_[n].x, at_[n].y + 12}, fmt::format("rank {}", rank), 10.5);
    return box_at(at_[n], kBoxWidth, kBoxHeight, fill_of(node.kind)) +
           text_at({at_[n].x, at_[n].y + 4}, shown, 12);
  }

  std::string legend(double top) const {
    std::string text = text_at({kMargin, top}, "Links (rate per direction unless shared, latency)",
                               13, "start", "bold");
    for (std::size_t i = 0; i < legend_.size(); ++i) {
      const ClusterLink& link = *legend_[i];
      const double x = kMargin + (i % 2 == 0 ? 0 : 370),
                   y = top + kLegendLine * static_cast<double>(i / 2 + 1);
      const double one = link.bytes_per_second / link.count;
      text += fmt::format(
          "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" "
          "stroke-width=\"{:.1f}\"/>\n",
          x, y - 4, x + 40, y - 4, colour_.at(link.type), width_of(link.bytes_per_second));
      text += text_at(
          {x + 50, y},
          fmt::format("{}: {}B/s{}{}, {}", link.type, human_count(one),
                      link.duplex == Duplex::kShared ? " shared"
                      : most(link.type) > 1 ? fmt::format(" a cable, up to {}", most(link.type))
                                            : "",
                      directions_meet(link)
                          ? fmt::format(" ({}B/s both ways)",
                                        human_count(both_directions(link) / link.count))
                          : "",
                      human_seconds(link.latency_seconds)),
          12.5, "start");
    }
    return text +
           text_at({kMargin, top + kLegendLine * static_cast<double>((legend_.size() + 1) / 2 + 1)},
                   "Width grows with the rate to the power of 0.4, up to about 150 GB/s.", 11.5,
                   "start");
  }

  int most(const std::string& type) const {
    int count = 1;
    for (const ClusterLink& link : cluster_.links)
      if (link.type == type) count = std::max(count, link.count);
    return count;
  }

  struct Group {
    int first, end;
    Point centre;
  };

  const Cluster& cluster_;
  std::vector<Point> at_;
  std::vector<bool> placed_;
  std::map<int, std::vector<int>> neighbours_;
  std::map<std::string, const char*> colour_;
  std::vector<const ClusterLink*> legend_;  // the first of each type
  std::map<int, int> level_;
  std::vector<Group> groups_;
  std::vector<std::string> frames_;
  std::string group_lines_;
  double top_ = 0, right_ = 0, bottom_ = 0;
};

}  // namespace

std::string draw_cluster(const Cluster& cluster) { return Drawing(cluster).svg(); }

}  // namespace orrery
