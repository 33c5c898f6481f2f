// The shop's server confirms what a pixel reported. No event: the answer to this very postback carries
// the result (contract section 3, rule 1). The server's amount replaces the pixel's, which stays on record.

import { judgeMove } from "../domain/conversion.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import { type Conversion, findByPublicId, insertMoves, updateIfStill } from "../store/conversions.ts";
import { noteFirstTime } from "../store/first-times.ts";
import type { Programme } from "../store/programmes.ts";
import type { Db } from "../store/store.ts";
import type { Decided, InTransaction } from "./deps.ts";
import { amountsOf, DAY_MS, type RecordOutcome, type Report } from "./report.ts";

export async function confirmParked(
	trx: Db,
	{ clock }: InTransaction,
	programme: Programme,
	parked: Conversion,
	report: Report,
): Promise<Result<Decided<RecordOutcome>>> {
	const verdict = judgeMove(parked.status, "confirm");
	if (verdict.kind !== "apply") return refuseExpired(programme, parked);
	const nowMs = clock.nowMs();
	const conversion = await updateIfStill(trx, parked.id, parked.status, {
		...amountsOf(programme, report.basketValue),
		status: verdict.to,
		pixel_basket_value: parked.basket_value,
		// As the server says: a pixel cannot report a test.
		test: report.isTest ? 1 : 0,
		occurred_at_ms: report.occurredAtMs ?? parked.occurred_at_ms,
		updated_at_ms: nowMs,
		window_ends_at_ms: nowMs + programme.approval_days * DAY_MS,
	});
	if (conversion === undefined) {
		// Another request confirmed it (or it expired) between our read and our write.
		const present = (await findByPublicId(trx, programme.id, parked.public_id)) ?? parked;
		if (present.status === "EXPIRED") return refuseExpired(programme, present);
		return succeed({ outcome: "DUPLICATE", conversion: present, owedProgrammeIds: [] });
	}
	await insertMoves(trx, [
		{ conversion_id: parked.id, move: "confirm", to_status: verdict.to, decided_by: "shop", at_ms: nowMs },
	]);
	await noteFirstTime(trx, programme, "first_pixel_at_ms", nowMs);
	return succeed({ outcome: "CONFIRMED", conversion, owedProgrammeIds: [] });
}

function refuseExpired(programme: Programme, conversion: Conversion): ReturnType<typeof refuse> {
	return refuse(
		"conversion_expired",
		`Order ${conversion.order_id} was reported by a pixel, waited ${programme.parked_days} days for this postback and is ${conversion.status}. Ask the network's staff to look at it.`,
	);
}
