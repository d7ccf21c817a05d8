/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Histograms of sizes: each size is counted once, where the public header says.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tapbatch_sizes.h"

static void
size_has_its_place(void **state)
{
	static const struct {
		uint32_t size;
		unsigned int place;
	} table[] = {
		{ 1, 0 },   { 2, 1 },   { 3, 1 },     { 4, 2 },          { 7, 2 },  { 8, 3 },
		{ 15, 3 },  { 16, 4 },  { 31, 4 },    { 32, 5 },         { 63, 5 }, { 64, 6 },
		{ 127, 6 }, { 128, 7 }, { 65535, 7 }, { UINT32_MAX, 7 },
	};
	unsigned int i, j;

	(void)state;
	for (i = 0; i < RTE_DIM(table); i++) {
		uint64_t sizes[RTE_PMD_TAPBATCH_SIZES] = { 0 };

		tapbatch_count_size(sizes, table[i].size);
		for (j = 0; j < RTE_DIM(sizes); j++)
			if (sizes[j] != (j == table[i].place))
				fail_msg("size %u: expected in place %u alone, place %u has %u",
					 table[i].size, table[i].place, j, (unsigned int)sizes[j]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(size_has_its_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
