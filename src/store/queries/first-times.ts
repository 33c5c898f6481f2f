// When something first worked for a programme. Written once, in the transaction of what it tells of: a check that is
// ticked stays ticked, however much comes after it, and nobody reads a history to see it.

import type { Db } from "../store.ts";
import { countUsableKeys } from "./keys.ts";
import type { Programme } from "./programmes.ts";

export type FirstTime = "first_signed_at_ms" | "first_pixel_at_ms" | "first_callback_at_ms";

/** Costs nothing from the second time on. */
export async function noteFirstTime(
	trx: Db,
	programme: Pick<Programme, "id" | FirstTime>,
	what: FirstTime,
	nowMs: number,
): Promise<void> {
	if (programme[what] !== null) return;
	// Again, because another may have been first since the programme was read.
	await trx
		.updateTable("programmes")
		.set({ [what]: nowMs })
		.where("id", "=", programme.id)
		.where(what, "is", null)
		.execute();
}

/** One after the other in the order of their ids: two processes that meet here must not wait for each other. */
export async function noteFirstTimes(
	trx: Db,
	times: readonly { programme: Pick<Programme, "id" | FirstTime>; what: FirstTime }[],
	nowMs: number,
): Promise<void> {
	const first = new Map(times.map((time) => [`${time.programme.id} ${time.what}`, time]));
	const ordered = [...first.values()].sort((a, b) => a.programme.id - b.programme.id);
	for (const { programme, what } of ordered) await noteFirstTime(trx, programme, what, nowMs);
}

/** In the order of their ids, as above. */
export async function noteFirstCallbacks(
	trx: Db,
	programmeIds: readonly number[],
	nowMs: number,
): Promise<void> {
	if (programmeIds.length === 0) return;
	const unanswered = await trx
		.selectFrom("programmes")
		.select(["id", "first_signed_at_ms", "first_pixel_at_ms", "first_callback_at_ms"])
		.where("id", "in", programmeIds)
		.where("first_callback_at_ms", "is", null)
		.orderBy("id")
		.execute();
	for (const programme of unanswered) await noteFirstTime(trx, programme, "first_callback_at_ms", nowMs);
}

/** Whether a programme's integration works, as the page's checks ask it. */
export interface IntegrationChecks {
	hasKey: boolean;
	hasSignedRequest: boolean;
	/** One that counts: that the shop's server confirms, or of a programme that does not park them. */
	hasPixel: boolean;
	hasCallback: boolean;
}

export async function readIntegrationChecks(db: Db, programmeId: number): Promise<IntegrationChecks> {
	const first = await db
		.selectFrom("programmes")
		.select(["first_signed_at_ms", "first_pixel_at_ms", "first_callback_at_ms"])
		.where("id", "=", programmeId)
		.executeTakeFirstOrThrow();
	return {
		hasKey: (await countUsableKeys(db, programmeId)) > 0,
		hasSignedRequest: first.first_signed_at_ms !== null,
		hasPixel: first.first_pixel_at_ms !== null,
		hasCallback: first.first_callback_at_ms !== null,
	};
}
