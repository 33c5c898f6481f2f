// Migration that adds the index for the list of decided conversions over all programmes.

import type { Dialect } from "./dialect.ts";

export function decidedConversions({ thenId }: Dialect): readonly string[] {
	return [
		// This index serves the list and export of all programmes by the day of the decision, with or without tests. A new sale
		// is not decided, so recording it does not write the index.
		`create index conversions_decided on conversions (test, decided_at_ms${thenId}) where decided_at_ms is not null`,
	];
}
