#include "worlds/globals.hpp"

#include <link.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace latecomer::worlds {
namespace {

struct Search {
  std::string name;
  std::vector<std::pair<char*, char*>> found;
};

int visit(dl_phdr_info* library, std::size_t /*size*/, void* data) {
  auto& search = *static_cast<Search*>(data);
  if (std::string(library->dlpi_name).find(search.name) == std::string::npos) return 0;
  const auto at = [&](ElfW(Addr) address) {
    return reinterpret_cast<char*>(library->dlpi_addr + address);
  };
  char* fixed = nullptr;  // the end of what is writable while the library is loaded alone
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const auto& part = library->dlpi_phdr[i];
    if (part.p_type == PT_GNU_RELRO) fixed = at(part.p_vaddr + part.p_memsz);
  }
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const auto& part = library->dlpi_phdr[i];
    if (part.p_type == PT_LOAD && (part.p_flags & PF_W) != 0) {
      search.found.emplace_back(std::max(at(part.p_vaddr), fixed), at(part.p_vaddr + part.p_memsz));
    }
    if (part.p_type == PT_TLS) {
      if (library->dlpi_tls_data == nullptr) throw std::runtime_error("no variables of the thread");
      auto* const begin = static_cast<char*>(library->dlpi_tls_data);
      search.found.emplace_back(begin, begin + part.p_memsz);
    }
  }
  return 0;
}

}  // namespace

Globals::Globals(const std::string& name) {
  Search search{name, {}};
  dl_iterate_phdr(visit, &search);
  if (search.found.empty()) {
    throw std::runtime_error("library " + name + " is not loaded");
  }
  for (const auto& [begin, end] : search.found) {
    unchanged_.push_back({begin, static_cast<std::size_t>(end - begin), fresh_.size()});
    fresh_.insert(fresh_.end(), begin, end);
  }
}

bool Globals::is_fresh(const Part& part) const {
  return std::memcmp(part.begin, fresh_.data() + part.at, part.size) == 0;
}

void Globals::note_changes() {
  constexpr std::size_t kLine = 64;  // bytes that count as changed together
  std::vector<Part> unchanged;
  for (const Part& part : unchanged_) {
    for (std::size_t i = 0; i < part.size; i += kLine) {
      const Part line{part.begin + i, std::min(kLine, part.size - i), part.at + i};
      auto& parts = is_fresh(line) ? unchanged : changed_;
      if (!parts.empty() && parts.back().begin + parts.back().size == line.begin) {
        parts.back().size += line.size;
      } else {
        parts.push_back(line);
      }
    }
  }
  unchanged_ = std::move(unchanged);
}

void Globals::save(std::vector<char>& into) {
  if (!std::all_of(unchanged_.begin(), unchanged_.end(),
                   [&](const Part& part) { return is_fresh(part); })) {
    note_changes();
  }
  for (const Part& part : changed_) std::memcpy(into.data() + part.at, part.begin, part.size);
}

void Globals::load(const std::vector<char>& from) const {
  for (const Part& part : changed_) std::memcpy(part.begin, from.data() + part.at, part.size);
}

}  // namespace latecomer::worlds
