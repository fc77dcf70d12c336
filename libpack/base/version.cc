#include "packhorse/version.h"

namespace packhorse {

std::string version() { return PACKHORSE_VERSION; }

}  // namespace packhorse
