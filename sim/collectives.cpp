#include "sim/collectives.hpp"

namespace orrery {

std::string_view name_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::send_recv:
      return "send_recv";
    case CollectiveKind::broadcast:
      return "broadcast";
    case CollectiveKind::reduce:
      return "reduce";
    case CollectiveKind::all_reduce:
      return "all_reduce";
    case CollectiveKind::reduce_scatter:
      return "reduce_scatter";
    case CollectiveKind::all_gather:
      return "all_gather";
    case CollectiveKind::all_to_all:
      return "all_to_all";
  }
  return "";
}

}  // namespace orrery
