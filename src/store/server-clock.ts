// How far this machine's clock is from the database server's, by which the clocks of all processes can be compared.

import { sql } from "kysely";
import type { Clock } from "../ports.ts";
import type { Store } from "./store.ts";

/**
 * Above zero: our clock is ahead. What the question itself took is not counted, so a busy database does not look like a
 * clock that is off. Null on SQLite, where there is no other clock.
 */
export async function measureClockOffset(
	{ kind, db }: Pick<Store, "kind" | "db">,
	clock: Pick<Clock, "nowMs">,
): Promise<number | null> {
	if (kind === "sqlite") return null;
	const askedAtMs = clock.nowMs();
	const { rows } = await sql<{ ms: number }>`
		select (extract(epoch from clock_timestamp()) * 1000)::bigint as ms`.execute(db);
	const answeredAtMs = clock.nowMs();
	const serverMs = rows[0]?.ms ?? 0;
	if (serverMs < askedAtMs) return askedAtMs - serverMs;
	return serverMs > answeredAtMs ? answeredAtMs - serverMs : 0;
}
