// The shop's server confirms what a pixel reported, parked or not. No event: the answer to this very postback carries
// the result (contract section 3, rule 1), and what was recorded without parking was announced before. The server's
// amount and time replace the pixel's, whose amount stays on record.

import { composeEvent } from "../domain/event.ts";
import {
	type Conversion,
	insertMoves,
	keepAnnouncedBody,
	updateIfUnconfirmed,
} from "../store/conversions.ts";
import { noteFirstTime } from "../store/first-times.ts";
import type { Programme } from "../store/programmes.ts";
import type { Db } from "../store/store.ts";
import { subjectOf } from "./owe.ts";
import { type Report, saleOf } from "./report.ts";

/** Undefined when somebody else confirmed, expired or decided it between our read and our write. */
export async function confirmPixel(
	trx: Db,
	programme: Programme,
	reported: Conversion,
	report: Report,
	nowMs: number,
): Promise<Conversion | undefined> {
	const { source: _, created_at_ms: __, ...sale } = saleOf(programme, report, "RECORDED", nowMs);
	const conversion = await updateIfUnconfirmed(trx, reported.id, reported.status, {
		...sale,
		pixel_basket_value: reported.basket_value,
		confirmed_at_ms: nowMs,
	});
	if (conversion === undefined) return undefined;
	if (reported.status === "RECORDED") {
		const body = composeEvent("conversion.recorded", subjectOf(reported, programme.public_id));
		await keepAnnouncedBody(trx, reported.id, "record", body);
	}
	await insertMoves(trx, [
		{ conversion_id: reported.id, move: "confirm", to_status: "RECORDED", decided_by: "shop", at_ms: nowMs },
	]);
	await noteFirstTime(trx, programme, "first_pixel_at_ms", nowMs);
	return conversion;
}
