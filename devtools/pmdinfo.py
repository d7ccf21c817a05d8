#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Writes the C source that makes dpdk-pmdinfo.py list the drivers in some object
# files. DPDK's build does this for its own drivers, its SDK has no tool for others'.
#
# RTE_PMD_REGISTER_VDEV(N, ...) leaves a string this_pmd_name<number> = "N" in the
# object, RTE_PMD_REGISTER_PARAM_STRING(N, ...) one called __N_param_string_export.
# dpdk-pmdinfo.py looks for "PMD_INFO_STRING= " and JSON in .rodata.
#
#   pmdinfo.py OUTPUT OBJECT...
import json
import re
import sys

from elftools.elf.elffile import ELFFile


def strings_of(path):
    """Name and text of each string constant in an object file that has a symbol."""
    found = {}
    with open(path, "rb") as f:
        elf = ELFFile(f)
        symbols = elf.get_section_by_name(".symtab")
        for symbol in symbols.iter_symbols() if symbols else ():
            section = symbol["st_shndx"]
            if symbol["st_info"]["type"] == "STT_OBJECT" and isinstance(section, int):
                start = symbol["st_value"]
                data = elf.get_section(section).data()[start : start + symbol["st_size"]]
                found[symbol.name] = data.split(b"\0")[0].decode("latin-1")
    return found


def drivers_in(strings):
    for symbol, name in sorted(strings.items()):
        if re.fullmatch(r"this_pmd_name\d+", symbol):
            info = {"name": name, "pci_ids": []}
            for key, tag in ("params", "param_string_export"), ("kmod", "kmod_dep_export"):
                text = strings.get(f"__{name}_{tag}")
                if text is not None:
                    info[key] = text
            yield info


def main(output, *objects):
    drivers = [info for path in objects for info in drivers_in(strings_of(path))]
    with open(output, "w", encoding="ascii") as out:
        for i, info in enumerate(drivers):
            text = json.dumps("PMD_INFO_STRING= " + json.dumps(info))  # C's escapes too
            out.write(f"const char tapbatch_pmd_info_{i}[] __attribute__((used)) =\n\t{text};\n")


main(*sys.argv[1:])
