# Writes the wrappers of the drop-in library from the table of intercepted functions:
#   cmake -DTABLE=functions.txt -DFOLDER=out -P dropin_functions.cmake
# - wrappers.cpp, exports.map: of the library of an MPI family
# - stubs.inc, stubs.map: of the loader, which knows no MPI: name, number of words, form; of short
#   calls also the words that hold the count and the datatype
# - stubs_messages.inc, stubs_messages.map: the same with the functions for messages
#
# Large counts are passed on as numbers. The functions of Fortran go on to the MPI library's, which
# call those of C.

cmake_minimum_required(VERSION 3.22)

# Sets as_c and as_large (declarations) of a parameter.
macro(latecomer_parameter kind name)
  if(kind STREQUAL "in")
    set(as_c "const void* ${name}")
  elseif(kind STREQUAL "out")
    set(as_c "void* ${name}")
  elseif(kind STREQUAL "count")
    set(as_c "int ${name}")
    set(as_large "MPI_Count ${name}")
  elseif(kind STREQUAL "counts")
    set(as_c "const int ${name}[]")
    set(as_large "const MPI_Count ${name}[]")
  elseif(kind STREQUAL "displs")
    set(as_c "const int ${name}[]")
    set(as_large "const MPI_Aint ${name}[]")
  elseif(kind STREQUAL "aints")
    set(as_c "const MPI_Aint ${name}[]")
  elseif(kind STREQUAL "types")
    set(as_c "const MPI_Datatype ${name}[]")
  elseif(kind STREQUAL "int")
    set(as_c "int ${name}")
  elseif(kind STREQUAL "type")
    set(as_c "MPI_Datatype ${name}")
  elseif(kind STREQUAL "op")
    set(as_c "MPI_Op ${name}")
  elseif(kind STREQUAL "comm")
    set(as_c "MPI_Comm ${name}")
  elseif(kind STREQUAL "newcomm")
    set(as_c "MPI_Comm* ${name}")
  elseif(kind STREQUAL "argc")
    set(as_c "int* ${name}")
  elseif(kind STREQUAL "argv")
    set(as_c "char*** ${name}")
  elseif(kind STREQUAL "ints")
    set(as_c "const int ${name}[]")
  elseif(kind STREQUAL "group")
    set(as_c "MPI_Group ${name}")
  elseif(kind STREQUAL "handler")
    set(as_c "MPI_Errhandler ${name}")
  elseif(kind STREQUAL "info")
    set(as_c "MPI_Info ${name}")
  elseif(kind STREQUAL "request")
    set(as_c "MPI_Request* ${name}")
  elseif(kind STREQUAL "requests")
    set(as_c "MPI_Request ${name}[]")
  elseif(kind STREQUAL "message")
    set(as_c "MPI_Message* ${name}")
  elseif(kind STREQUAL "status")
    set(as_c "MPI_Status* ${name}")
  elseif(kind STREQUAL "statuses")
    set(as_c "MPI_Status ${name}[]")
  elseif(kind STREQUAL "value")
    set(as_c "MPI_Request ${name}")
  elseif(kind STREQUAL "win")
    set(as_c "MPI_Win ${name}")
  elseif(kind STREQUAL "newwin")
    set(as_c "MPI_Win* ${name}")
  elseif(kind STREQUAL "file")
    set(as_c "MPI_File ${name}")
  elseif(kind STREQUAL "newfile")
    set(as_c "MPI_File* ${name}")
  elseif(kind STREQUAL "offset")
    set(as_c "MPI_Offset ${name}")
  elseif(kind STREQUAL "aint")
    set(as_c "MPI_Aint ${name}")
  elseif(kind STREQUAL "unit")
    set(as_c "int ${name}")
    set(as_large "MPI_Aint ${name}")
  elseif(kind STREQUAL "text")
    set(as_c "const char* ${name}")
  elseif(kind STREQUAL "texts")
    set(as_c "char* ${name}[]")
  elseif(kind STREQUAL "lists")
    set(as_c "char** ${name}[]")
  elseif(kind STREQUAL "infos")
    set(as_c "const MPI_Info ${name}[]")
  elseif(kind STREQUAL "results")
    set(as_c "int ${name}[]")
  elseif(kind STREQUAL "result")
    set(as_c "int* ${name}")
  else()
    message(FATAL_ERROR "${TABLE}: kind '${kind}' is not usable; right would be one of in, out, "
      "count, counts, displs, aint, aints, int, ints, unit, type, types, op, comm, newcomm, argc, "
      "argv, group, handler, info, request, requests, value, message, status, statuses, result, results, win, "
      "newwin, file, newfile, offset, text, texts")
  endif()
  if(NOT kind MATCHES "^(count|counts|displs|unit)$")
    set(as_large "${as_c}")
  endif()
endmacro()

set(wrappers "")
set(exports "")
set(stubs "")
set(profiling "")
set(fortran "")
foreach(list exports stubs profiling fortran)
  set(${list}_of_messages "")
endforeach()
file(STRINGS ${TABLE} lines REGEX "^[A-Z]")
foreach(line ${lines})
  if(NOT line MATCHES "^([A-Za-z_]+) *\\|([^|]*)\\| *([a-z0-9 ]+)$")
    message(FATAL_ERROR "${TABLE}: '${line}' is not usable; right would be NAME | parameters | forms")
  endif()
  set(name ${CMAKE_MATCH_1})
  set(parameters "${CMAKE_MATCH_2}")
  separate_arguments(forms UNIX_COMMAND "${CMAKE_MATCH_3}")
  string(TOLOWER ${name} lower)
  string(TOUPPER ${name} upper)
  string(REPLACE "," ";" parameters "${parameters}")
  foreach(list c_list large_list c_values kinds)
    set(${list} "")
  endforeach()
  set(fortran_words 1)  # ierror; at the end the lengths of texts
  foreach(parameter ${parameters})
    string(STRIP "${parameter}" parameter)
    if(NOT parameter)
      continue()
    endif()
    string(REPLACE " " ";" parameter "${parameter}")
    list(GET parameter 0 kind)
    list(GET parameter 1 word)
    latecomer_parameter(${kind} ${word})
    list(APPEND kinds ${kind})
    list(LENGTH c_list place)
    string(SUBSTRING "abcdefghijklm" ${place} 1 ${kind}_letter)  # as the loader calls its words
    list(APPEND c_list "${as_c}")
    list(APPEND large_list "${as_large}")
    if(NOT kind MATCHES "^arg[cv]$")  # Fortran's MPI_Init has none
      math(EXPR fortran_words "${fortran_words} + 1")
    endif()
    if(kind MATCHES "^(text|texts|lists)$")
      math(EXPR fortran_words "${fortran_words} + 1")
    endif()
    list(APPEND c_values "${word}")
  endforeach()
  list(LENGTH c_list words)
  string(REPLACE ";" ", " passed_values "${c_values}")
  list(APPEND c_values "latecomer::call_site(__builtin_return_address(0))")
  foreach(list c_list large_list c_values)
    string(REPLACE ";" ", " ${list} "${${list}}")
  endforeach()
  # Persistent collectives and MPI_Isendrecv came with MPI 4, as large counts did.
  set(passes "")
  foreach(kind watched nonblocking persistent neighbour makes apart begins message object timed
      polling)
    if(kind IN_LIST forms)
      set(passes ${kind})
      list(REMOVE_ITEM forms ${kind})
    endif()
  endforeach()
  # Places of calls that are counted only are of no use but beside messages.
  set(of "")
  if(passes MATCHES "^(nonblocking|persistent|neighbour|message|object|timed|polling)$")
    set(of _of_messages)
  endif()
  set(f08 mpi_${lower}_f08)
  set(mangled_names mpi_${lower}_ mpi_${lower} mpi_${lower}__ MPI_${upper} ${f08}_ ${f08}ts_)
  if("large" IN_LIST forms)
    list(APPEND mangled_names ${f08}_large_ ${f08}ts_large_)
  endif()
  if(name MATCHES "^Win_allocate")  # those that return a C_PTR
    list(APPEND mangled_names mpi_${lower}_cptr_ mpi_${lower}_cptr mpi_${lower}_cptr__)
  endif()
  foreach(mangled ${mangled_names})
    string(APPEND fortran${of} "    ${mangled};\n")
    string(APPEND stubs${of} "FORTRAN(${mangled}, ${fortran_words})\n")
  endforeach()
  foreach(form ${forms})
    if(passes AND NOT form MATCHES "^(c|large)$")
      message(FATAL_ERROR "${TABLE}: form '${form}' of MPI_${name} is not usable; right would be c "
        "or large for a function that is passed on")
    elseif(passes)
      set(symbol MPI_${name})
      string(CONCAT watched "wrapped::watched(comm, \"${lower}\",\n"
        "      latecomer::call_site(__builtin_return_address(0)),\n"
        "      [&] { return native(${passed_values}); })")
      if(passes STREQUAL "makes")
        set(pass "  return wrapped::made(comm, newcomm, ${watched});\n")
      elseif(passes STREQUAL "apart")
        set(words_of_tag 0)
        if(";${parameters};" MATCHES "; *(text|int) tag;")
          set(words_of_tag "wrapped::word_of(tag)")
        endif()
        string(CONCAT pass "  return wrapped::made_apart(\n"
          "      ${words_of_tag}, newcomm, latecomer::call_site(__builtin_return_address(0)),\n"
          "      [&] { return native(${passed_values}); });\n")
      elseif(passes STREQUAL "begins")
        set(pass "  return wrapped::duplicated(comm, [&] { return native(${passed_values}); });\n")
      elseif(passes STREQUAL "watched")
        set(pass "  return ${watched};\n")
      elseif(passes STREQUAL "message")
        string(CONCAT pass "  if (!messages::are_traced()) return native(${passed_values});\n"
          "  return messages::${lower}(native, ${c_values});\n")
      elseif(passes STREQUAL "object")
        # A collective that makes a window or a file of a communicator, ends one, or is on one.
        string(REGEX MATCH "(new)?(win|file) [a-z]+" made "${parameters}")
        string(REGEX MATCH "[a-z]+$" handle "${made}")
        set(is_new FALSE)
        if(made MATCHES "^new")
          set(is_new TRUE)
        endif()
        string(REGEX REPLACE "_.*" "" made "${lower}")  # win or file
        string(REPLACE "win" "window" made "objects::${made}")
        set(rest "latecomer::call_site(__builtin_return_address(0)),\n      [&] { return native(${passed_values}); });\n")
        set(pass "  if (!messages::are_traced()) return native(${passed_values});\n")
        if(is_new AND "comm" IN_LIST kinds)
          string(APPEND pass "  const int code = ${watched};\n"
            "  return code == MPI_SUCCESS ? objects::made(comm, ${made}(*${handle}), code) : code;\n")
        elseif(is_new)
          string(APPEND pass "  if (${handle} == nullptr) return native(${passed_values});\n"
            "  return objects::end(${made}(*${handle}), \"${lower}\", ${rest}")
        else()
          set(bytes -1)
          if(name STREQUAL "Win_fence")
            set(bytes "(assert & MPI_MODE_NOPRECEDE) != 0 ? 0 : -1")
          endif()
          string(APPEND pass
            "  return objects::together(${made}(${handle}), \"${lower}\", ${bytes}, ${rest}")
        endif()
      elseif(name MATCHES "^Win_(post|start|complete|wait|test)$")
        string(CONCAT pass "  if (!messages::are_traced()) return native(${passed_values});\n"
          "  return objects::${lower}(native, ${c_values});\n")
      elseif(passes MATCHES "^(timed|polling)$")
        set(calls messages)
        if(name MATCHES "^Win_")
          set(calls windows)
        elseif(name MATCHES "^File_")
          set(calls files)
        elseif(name MATCHES "^(Comm|Intercomm)_")
          set(calls communicators)
        elseif(passes STREQUAL "polling")
          set(calls polling)
        endif()
        set(bits "OtherCalls::${calls}")
        if(passes STREQUAL "polling" AND NOT calls STREQUAL "polling")
          string(APPEND bits " | OtherCalls::polling")
        endif()
        string(CONCAT pass "  if (!messages::are_traced()) return native(${passed_values});\n"
          "  return latecomer::unseen::in(\n"
          "      ${bits}, latecomer::call_site(__builtin_return_address(0)),\n"
          "      [&] { return native(${passed_values}); });\n")
      elseif(name MATCHES "^I?[Nn]eighbor_")
        string(REGEX MATCH "sendcounts?" sendcount "${passed_values}")
        string(REGEX MATCH "recvcounts?" recvcount "${passed_values}")
        string(REGEX MATCH "sendtypes?" sendtype "${passed_values}")
        string(REGEX MATCH "recvtypes?" recvtype "${passed_values}")
        set(begins "among_neighbours")
        set(more "comm, latecomer::call_site(__builtin_return_address(0))")
        if(NOT passes STREQUAL "neighbour")
          set(begins "begin_among_neighbours")
          set(more "latecomer::trace::${passes}, comm, request")
        endif()
        string(CONCAT pass "  latecomer::count_unhandled(latecomer::Unhandled::${passes});\n"
          "  if (!messages::are_traced()) return native(${passed_values});\n"
          "  return messages::${begins}(\n"
          "      messages::parts(${sendcount}, ${sendtype}), messages::parts(${recvcount}, ${recvtype}),\n"
          "      ${more},\n"
          "      [&] { return native(${passed_values}); });\n")
      else()
        set(root -1)
        if(passed_values MATCHES "(^|, )root(,|$)")
          set(root root)
        endif()
        string(CONCAT pass "  latecomer::count_unhandled(latecomer::Unhandled::${passes});\n"
          "  if (!messages::are_traced()) return native(${passed_values});\n"
          "  return messages::begin_together(\n"
          "      \"${lower}\", latecomer::trace::${passes}, ${root}, comm, request,\n"
          "      latecomer::call_site(__builtin_return_address(0)),\n"
          "      [&] { return native(${passed_values}); });\n")
      endif()
      set(list "${c_list}")
      set(stub STUB)
      if(form STREQUAL "large")
        set(symbol MPI_${name}_c)
        set(list "${large_list}")
      endif()
      set(needs 1)
      if(form STREQUAL "large" OR passes STREQUAL "persistent" OR
         name MATCHES "^(Isendrecv.*|Parrived|Comm_idup_with_info|.*_from_groups?)$")
        set(needs LATECOMER_LARGE_COUNTS)
        # MPICH calls its own large functions of files, see there.
        if(NOT name MATCHES "^File_")
          set(stub LARGE)
        endif()
      endif()
      # Weak: an older MPI library than that of the build may lack it.
      string(APPEND wrappers "#if ${needs}\n#pragma weak P${symbol}\n"
        "LATECOMER_WRAPPER int ${symbol}(${list}) {\n"
        "  static const auto native = latecomer::next(\"${symbol}\", P${symbol});\n"
        "${pass}}\n#endif\n")
      set(of "")
      if(passes MATCHES "^(message|object|timed|polling)$")
        set(of _of_messages)
      endif()
      string(APPEND exports${of} "    ${symbol};\n")
      string(APPEND stubs${of} "${stub}(${symbol}, ${words})\n")
      string(APPEND profiling${of} "    P${symbol};\n")
    elseif(form STREQUAL "c")
      string(APPEND wrappers "LATECOMER_WRAPPER int MPI_${name}(${c_list}) {\n"
        "  return wrapped::${lower}(${c_values});\n}\n")
      string(APPEND exports "    MPI_${name};\n")
      string(APPEND profiling "    PMPI_${name};\n")
      if("short" IN_LIST forms)
        string(APPEND stubs
          "SHORT(MPI_${name}, ${words}, ${count_letter}, ${type_letter}, ${lower})\n")
      else()
        string(APPEND stubs "STUB(MPI_${name}, ${words})\n")
      endif()
    elseif(form STREQUAL "large")
      string(APPEND wrappers "#if LATECOMER_LARGE_COUNTS\n"
        "LATECOMER_WRAPPER int MPI_${name}_c(${large_list}) {\n"
        "  return wrapped::${lower}(${c_values});\n}\n#endif\n")
      string(APPEND exports "    MPI_${name}_c;\n")
      string(APPEND profiling "    PMPI_${name}_c;\n")
      string(APPEND stubs "LARGE(MPI_${name}_c, ${words})\n")
    elseif(form STREQUAL "short")  # of the C function, see there
    else()
      message(FATAL_ERROR
        "${TABLE}: form '${form}' is not usable; right would be one of c, short, large, makes, apart, begins, watched, nonblocking, persistent, neighbour, message, object, timed, polling")
    endif()
  endforeach()
  string(APPEND wrappers "\n")
endforeach()

set(made "Made by cmake/dropin_functions.cmake from src/dropin/functions.txt.")
file(CONFIGURE OUTPUT ${FOLDER}/wrappers.cpp @ONLY CONTENT [[
// @made@
#include "dropin/fast_path.hpp"
#include "dropin/messages.hpp"
#include "dropin/next.hpp"
#include "dropin/unseen.hpp"
#include "dropin/windows_and_files.hpp"
#include "dropin/wrapped.hpp"

#define LATECOMER_WRAPPER __attribute__((visibility("default")))

namespace messages = latecomer::messages;
namespace objects = latecomer::objects;
namespace wrapped = latecomer::wrapped;
using latecomer::trace::OtherCalls;

extern "C" {

@wrappers@}  // extern "C"
]])
file(CONFIGURE OUTPUT ${FOLDER}/exports.map @ONLY CONTENT [[
/* @made@ */
{
  global:
@exports@@exports_of_messages@    latecomer_dropin_follow;
    latecomer_count_stats;
    latecomer_get_*;
    latecomer_last_error;
  local: *;
};
]])
file(CONFIGURE OUTPUT ${FOLDER}/stubs.inc @ONLY CONTENT [[
/* @made@ */
@stubs@]])
file(CONFIGURE OUTPUT ${FOLDER}/stubs.map @ONLY CONTENT [[
/* @made@ */
{
  global:
@exports@@fortran@@profiling@  local: *;
};
]])
file(CONFIGURE OUTPUT ${FOLDER}/stubs_messages.inc @ONLY CONTENT [[
/* @made@ */
@stubs@@stubs_of_messages@]])
file(CONFIGURE OUTPUT ${FOLDER}/stubs_messages.map @ONLY CONTENT [[
/* @made@ */
{
  global:
@exports@@exports_of_messages@@fortran@@fortran_of_messages@@profiling@@profiling_of_messages@  local: *;
};
]])
