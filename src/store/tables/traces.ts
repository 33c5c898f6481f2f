// Which trace a conversion belongs to, for as long as callbacks about it may go out.

import type { Dialect } from "./dialect.ts";

/** Written only while traces are taken. */
export interface TracesTable {
	conversion_id: number;
	/** As W3C's traceparent: the span that stored the last call about it. */
	traceparent: string;
	at_ms: number;
}

export function traceTables({ givenId, rewritten }: Dialect): readonly string[] {
	return [
		`create table traces (
			conversion_id ${givenId}, traceparent text not null, at_ms bigint not null) ${rewritten}`,
		"create index traces_by_age on traces (at_ms)",
	];
}
