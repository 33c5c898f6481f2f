// The rules that remove old rows of partners.

import { sql } from "kysely";
import { type Addition, after } from "#core/domain/addition.ts";
import { DAY_MS, QUARTER_MS } from "#core/domain/time.ts";
import {
	MAILS_KEPT_MS,
	type PruneRule,
	type Pruning,
	pruneInBatches,
	removeInBatches,
} from "#core/store/queries/prune.ts";
import type { Store } from "#core/store/store.ts";
import { CLICK_KINDS } from "../domain/click.ts";
import { EVER } from "./clicks.ts";

/**
 * Number of days for which an unanswered application is kept. It contains personal data that strangers have entered.
 */
export const APPLICATIONS_KEPT_DAYS = 90;

export async function pruneApplications({ db }: Pick<Store, "db">, nowMs: number): Promise<void> {
	const olderThanMs = nowMs - APPLICATIONS_KEPT_DAYS * DAY_MS;
	await sql`delete from applications where created_at_ms < ${olderThanMs}`.execute(db);
}

/** Removes news about sales that could not be mailed in time. */
export async function pruneSaleNews({ db }: Pick<Store, "db">, nowMs: number): Promise<void> {
	await sql`delete from sale_news where due_at_ms < ${nowMs - MAILS_KEPT_MS}`.execute(db);
}

/**
 * Number of links whose clicks one statement removes. Each link has up to six rows for a quarter of an hour, and the
 * first run may find thousands of quarters.
 */
const BATCH_LINKS = 20;

/** Removes old counts of clicks. The total of each link stays. Resolves to the number of removed rows. */
export function pruneClicks(...[{ db }, clock, olderThanMs, isStopping]: Pruning): Promise<number> {
	const quarters = db
		.deleteFrom("click_quarters")
		.where("quarter", "<", Math.floor(olderThanMs / QUARTER_MS));
	const old = quarters.where("kind", "in", CLICK_KINDS).where("quarter", ">", EVER);
	let afterId = 0;
	return removeInBatches(clock, isStopping, async () => {
		const links = db.selectFrom("partner_links").select("id").where("id", ">", afterId);
		const ids = (await links.orderBy("id").limit(BATCH_LINKS).execute()).map(({ id }) => id);
		afterId = ids.at(-1) ?? afterId;
		if (ids.length === 0) return null;
		return Number((await old.where("link_id", "in", ids).executeTakeFirst()).numDeletedRows);
	});
}

export const PARTNER_PRUNE_RULES: readonly Addition<PruneRule>[] = [
	after("access", { name: "applications", prune: ({ store, nowMs }) => pruneApplications(store, nowMs) }),
	after("mails", { name: "news about sales", prune: ({ store, nowMs }) => pruneSaleNews(store, nowMs) }),
	after("inbound calls", pruneInBatches("clicks", pruneClicks)),
];
