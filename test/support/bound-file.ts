// `node --import ./test/support/bound-file.ts --test …`: a test file that does not end fails by its name and says what
// keeps it. Node's own bound is for a test, a suite or a hook; what stays open after them holds up the run for ever.

import { MINUTE_MS } from "../../src/domain/time.ts";

/** The longest takes four of them on two busy cores. */
const BOUND_MS = 10 * MINUTE_MS;

// The runner loads this, too, and may take longer than any file.
if (process.env["NODE_TEST_CONTEXT"] !== undefined) {
	setTimeout(() => {
		const kept = [...new Set(process.getActiveResourcesInfo())].join(", ");
		console.error(
			`${process.argv[1]} has not ended within ${BOUND_MS / MINUTE_MS} minutes. Still open: ${kept}.`,
		);
		// With an end of its own: what it started hears of it.
		process.exit(1);
	}, BOUND_MS).unref();
}
