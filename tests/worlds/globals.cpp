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
  return 1;
}

}  // namespace

Globals::Globals(const std::string& name) {
  Search search{name, {}};
  if (dl_iterate_phdr(visit, &search) == 0) {
    throw std::runtime_error("library " + name + " is not loaded");
  }
  for (const auto& [begin, end] : search.found) {
    ranges_.push_back({begin, static_cast<std::size_t>(end - begin)});
  }
  save(fresh_);
}

void Globals::save(std::vector<char>& into) const {
  std::size_t size = 0;
  for (const auto& range : ranges_) size += range.size;
  into.resize(size);
  char* to = into.data();
  for (const auto& range : ranges_) {
    std::memcpy(to, range.begin, range.size);
    to += range.size;
  }
}

void Globals::load(const std::vector<char>& from) const {
  const char* at = from.data();
  for (const auto& range : ranges_) {
    std::memcpy(range.begin, at, range.size);
    at += range.size;
  }
}

}  // namespace latecomer::worlds
