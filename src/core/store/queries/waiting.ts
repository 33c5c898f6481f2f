// Conversions of a programme that wait for a decision, for the weekly mail to the people who decide.

import { addAmounts } from "../../domain/money.ts";
import type { Db } from "../store.ts";
import { readAllConversions } from "./conversion-list.ts";

/**
 * Returns a programme whose weekly mail is due, or undefined if no mail is due. Uses the index
 * programmes_by_weekly_mail.
 */
export async function findProgrammeToRemind(db: Db, dueAtMs: number): Promise<number | undefined> {
	const found = await db
		.selectFrom("programmes")
		.select("id")
		.where("weekly_mail_at_ms", "<", dueAtMs)
		.orderBy("weekly_mail_at_ms")
		.limit(1)
		.executeTakeFirst();
	return found?.id;
}

/** Claims the weekly mail of a programme. Returns false if another process was faster. */
export async function claimWeeklyMail(
	trx: Db,
	programmeId: number,
	dueAtMs: number,
	nowMs: number,
): Promise<boolean> {
	const { numUpdatedRows } = await trx
		.updateTable("programmes")
		.set({ weekly_mail_at_ms: nowMs })
		.where("id", "=", programmeId)
		.where("weekly_mail_at_ms", "<", dueAtMs)
		.executeTakeFirst();
	return numUpdatedRows > 0n;
}

export interface WaitingSales {
	count: number;
	basket: string;
	commission: string;
	/**
	 * Time at which the first of these conversions is approved automatically, or null if none is approved
	 * automatically.
	 */
	firstEndsAtMs: number | null;
}

/** Number of conversions that one statement reads. Other reads can run between two statements. */
const BATCH_ROWS = 1_000;

/**
 * Adds up the conversions that wait for a decision. Test conversions are left out. Returns null if no conversion
 * waits.
 */
export async function sumWaiting(db: Db, programmeId: number): Promise<WaitingSales | null> {
	const filter = { programmeId, status: "RECORDED", isTest: false } as const;
	let sum: WaitingSales | null = null;
	for await (const batch of readAllConversions(db, filter, BATCH_ROWS)) {
		for (const { basket_value: basket, commission, window_ends_at_ms: endsAtMs } of batch) {
			sum =
				sum === null
					? { count: 1, basket, commission, firstEndsAtMs: endsAtMs }
					: {
							count: sum.count + 1,
							basket: addAmounts(sum.basket, basket),
							commission: addAmounts(sum.commission, commission),
							firstEndsAtMs: earlier(sum.firstEndsAtMs, endsAtMs),
						};
		}
	}
	return sum;
}

function earlier(one: number | null, other: number | null): number | null {
	return one === null || other === null ? (one ?? other) : Math.min(one, other);
}
