// A sale is reported: by the shop's signed postback, by a browser pixel, or as a test. One conversion per
// programme, order and event type; the server's word wins over the pixel's in whatever order they arrive.

import { judgeArrival } from "../domain/conversion.ts";
import { type Result, succeed } from "../domain/fault.ts";
import { ID_RANDOM_BYTES, makeId } from "../domain/id.ts";
import { findByOrder, insertConversion, insertMoves } from "../store/conversions.ts";
import { noteFirstTime } from "../store/first-times.ts";
import type { Programme } from "../store/programmes.ts";
import type { Db } from "../store/store.ts";
import { confirmParked } from "./confirm.ts";
import type { Decided, InTransaction } from "./deps.ts";
import { oweEvents } from "./owe.ts";
import { amountsOf, DAY_MS, type RecordOutcome, type Report } from "./report.ts";

export async function recordConversion(
	trx: Db,
	deps: InTransaction,
	programme: Programme,
	report: Report,
): Promise<Result<Decided<RecordOutcome>>> {
	const arrival = judgeArrival(report.source, programme.parks_pixels === 1);
	const nowMs = deps.clock.nowMs();
	const waitDays = arrival.status === "PARKED" ? programme.parked_days : programme.approval_days;
	const conversion = await insertConversion(trx, {
		...amountsOf(programme, report.basketValue),
		public_id: makeId("cnv", nowMs, deps.random.bytes(ID_RANDOM_BYTES)),
		programme_id: programme.id,
		order_id: report.orderId,
		event_type: report.eventType,
		status: arrival.status,
		test: report.isTest ? 1 : 0,
		source: report.source,
		occurred_at_ms: report.occurredAtMs ?? nowMs,
		created_at_ms: nowMs,
		updated_at_ms: nowMs,
		window_ends_at_ms: nowMs + waitDays * DAY_MS,
	});
	if (conversion === undefined) return meetExisting(trx, deps, programme, report);
	const isParked = arrival.status === "PARKED";
	await insertMoves(trx, [
		{
			conversion_id: conversion.id,
			move: isParked ? "park" : "record",
			to_status: arrival.status,
			at_ms: nowMs,
		},
	]);
	if (report.source === "pixel" && !isParked) await noteFirstTime(trx, programme, "first_pixel_at_ms", nowMs);
	const owedProgrammeIds =
		arrival.announces === null ? [] : await oweEvents(trx, deps, arrival.announces, [conversion]);
	return succeed({ outcome: isParked ? "PARKED" : "RECORDED", conversion, owedProgrammeIds });
}

async function meetExisting(
	trx: Db,
	deps: InTransaction,
	programme: Programme,
	report: Report,
): Promise<Result<Decided<RecordOutcome>>> {
	const existing = await findByOrder(trx, programme.id, report.orderId, report.eventType);
	if (existing === undefined) throw new Error("a conversion that was in the way has vanished");
	const isWaiting = existing.status === "PARKED" || existing.status === "EXPIRED";
	// Browser and server agree on an order, whichever came first.
	if (report.source === "pixel" && !isWaiting && existing.source !== "test") {
		await noteFirstTime(trx, programme, "first_pixel_at_ms", deps.clock.nowMs());
	}
	// A pixel after anything, and a postback after a postback, change nothing.
	if (report.source === "pixel" || !isWaiting) {
		return succeed({ outcome: "DUPLICATE", conversion: existing, owedProgrammeIds: [] });
	}
	return confirmParked(trx, deps, programme, existing, report);
}
