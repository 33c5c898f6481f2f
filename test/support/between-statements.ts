// Lets a test do something at the worst moment: between two statements of somebody else's transaction.

import type { KyselyPlugin } from "kysely";
import type { Db } from "../../src/store/store.ts";

/** Runs `interrupt` once, after the transaction's statement number `after` (counted from one). */
export function interruptAfter(trx: Db, after: number, interrupt: () => Promise<unknown>): Db {
	let statements = 0;
	const plugin: KyselyPlugin = {
		transformQuery: ({ node }) => node,
		async transformResult({ result }) {
			statements++;
			if (statements === after) await interrupt();
			return result;
		},
	};
	return trx.withPlugin(plugin);
}
