// A sale is reported: by the shop's signed postback, by a browser pixel, or as a test. One conversion per
// programme, order and event type; the server's word wins over the pixel's in whatever order they arrive.

import { judgeReport, type KnownOrder, type ReportVerdict } from "../domain/conversion.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import { ID_RANDOM_BYTES, makeId } from "../domain/id.ts";
import { type Conversion, findByOrder, insertConversion, insertMoves } from "../store/conversions.ts";
import { noteFirstTime } from "../store/first-times.ts";
import type { Programme } from "../store/programmes.ts";
import { renewExpired } from "../store/renew-expired.ts";
import type { Db } from "../store/store.ts";
import { confirmPixel } from "./confirm.ts";
import type { Decided, InTransaction } from "./deps.ts";
import { oweEvents } from "./owe.ts";
import { type RecordOutcome, type Report, saleOf } from "./report.ts";

type Applied = Extract<ReportVerdict, { kind: "apply" }>;

const OUTCOMES = { record: "RECORDED", park: "PARKED", confirm: "CONFIRMED" } as const;

/** Each look meets what somebody else did since the one before; an order does not change more often at one moment. */
const MAX_LOOKS = 5;

export async function recordConversion(
	trx: Db,
	deps: InTransaction,
	programme: Programme,
	report: Report,
): Promise<Result<Decided<RecordOutcome>>> {
	// Most reports are an order's first, so that nothing is read before it is inserted.
	let known: Conversion | undefined;
	for (let look = 0; look < MAX_LOOKS; look++) {
		const verdict = judgeReport(report.source, programme.parks_pixels === 1, knownOrder(known));
		if (verdict.kind === "duplicate" && known !== undefined) {
			await notePixelAgrees(trx, deps, programme, known, report);
			return succeed({ outcome: "DUPLICATE", conversion: known, owedProgrammeIds: [] });
		}
		if (verdict.kind === "apply") {
			const conversion = await apply(trx, deps, programme, known, report, verdict);
			if (conversion !== undefined) {
				const owedProgrammeIds =
					verdict.announces === null ? [] : await oweEvents(trx, deps, verdict.announces, [conversion]);
				return succeed({ outcome: OUTCOMES[verdict.move], conversion, owedProgrammeIds });
			}
		}
		known = await findByOrder(trx, programme.id, report.orderId, report.eventType);
	}
	return refuse("unavailable", "This order is being changed by others right now. Try again in a moment.");
}

function knownOrder(known: Conversion | undefined): KnownOrder | null {
	if (known === undefined) return null;
	return { status: known.status, source: known.source, isConfirmed: known.confirmed_at_ms !== null };
}

/** Undefined when somebody else reported, moved or removed it since it was read. */
async function apply(
	trx: Db,
	deps: InTransaction,
	programme: Programme,
	known: Conversion | undefined,
	report: Report,
	verdict: Applied,
): Promise<Conversion | undefined> {
	const nowMs = deps.clock.nowMs();
	if (verdict.move === "confirm") {
		return known === undefined ? undefined : confirmPixel(trx, programme, known, report, nowMs);
	}
	const sale = saleOf(programme, report, verdict.to, nowMs);
	const conversion =
		known === undefined
			? await insertConversion(trx, {
					...sale,
					public_id: makeId("cnv", nowMs, deps.random.bytes(ID_RANDOM_BYTES)),
					programme_id: programme.id,
					order_id: report.orderId,
					event_type: report.eventType,
				})
			: await renewExpired(trx, known.id, { ...sale, pixel_basket_value: known.basket_value });
	if (conversion === undefined) return undefined;
	await insertMoves(trx, [
		{ conversion_id: conversion.id, move: verdict.move, to_status: verdict.to, at_ms: nowMs },
	]);
	if (report.source === "pixel" && verdict.move === "record") {
		await noteFirstTime(trx, programme, "first_pixel_at_ms", nowMs);
	}
	return conversion;
}

/** Browser and server agree on an order, whichever came first. */
async function notePixelAgrees(
	trx: Db,
	{ clock }: InTransaction,
	programme: Programme,
	known: Conversion,
	report: Report,
): Promise<void> {
	const isWaiting = known.status === "PARKED" || known.status === "EXPIRED";
	if (report.source !== "pixel" || isWaiting || known.source === "test") return;
	await noteFirstTime(trx, programme, "first_pixel_at_ms", clock.nowMs());
}
