/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Gives the files named on the command line to a fuzzer, once each: for inputs
 * that are kept, in builds without libFuzzer.
 */

#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_INPUT (1 << 20) /* bytes; longer files are cut */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
main(int argc, char **argv)
{
	static uint8_t whole[MAX_INPUT];
	int i;

	for (i = 1; i < argc; i++) {
		FILE *f = fopen(argv[i], "rb");
		uint8_t *data;
		size_t size;

		if (f == NULL)
			err(1, "%s", argv[i]);
		size = fread(whole, 1, sizeof(whole), f);
		fclose(f);
		/* In memory of exactly its size, for the address sanitizer's sake. */
		data = malloc(size + (size == 0));
		if (data == NULL)
			err(1, "%s: %zu bytes", argv[i], size);
		for (size_t j = 0; j < size; j++)
			data[j] = whole[j];
		LLVMFuzzerTestOneInput(data, size);
		free(data);
	}
	return 0;
}
