// A sale is reported: by the shop's signed postback, by a browser pixel, or as a test. One conversion per programme,
// order and event type; the server's word wins over the pixel's in whatever order they arrive: its amount and time
// replace the pixel's, whose amount stays on record.

import {
	type EventType,
	judgeReport,
	type KnownOrder,
	type ReportMove,
	type Source,
} from "../domain/conversion.ts";
import { composeEvent } from "../domain/event.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import { ID_RANDOM_BYTES, makeId } from "../domain/id.ts";
import { shareOf } from "../domain/money.ts";
import { DAY_MS } from "../domain/time.ts";
import { type Conversion, findByOrder } from "../store/conversions.ts";
import { noteFirstTime } from "../store/first-times.ts";
import type { Programme } from "../store/programmes.ts";
import type { Db } from "../store/store.ts";
import type { Decided, InTransaction } from "./deps.ts";
import { makeMoves, type Step } from "./make-moves.ts";
import { subjectOf } from "./owe.ts";

export interface Report {
	source: Source;
	orderId: string;
	eventType: EventType;
	/** Canonical, in the programme's currency: see domain/money. */
	basketValue: string;
	/** The time of the sale; null when the reporter did not say. */
	occurredAtMs: number | null;
	isTest: boolean;
}

export type RecordOutcome = "RECORDED" | "PARKED" | "CONFIRMED" | "DUPLICATE";

const OUTCOMES = { record: "RECORDED", park: "PARKED", confirm: "CONFIRMED" } as const;

/** Each look meets what somebody else did since the one before; an order does not change more often at one moment. */
const MAX_LOOKS = 5;

export async function recordConversion(
	trx: Db,
	deps: InTransaction,
	programme: Programme,
	report: Report,
): Promise<Result<Decided<RecordOutcome>>> {
	// Most reports are an order's first, so nothing is read before it is inserted.
	let known: Conversion | undefined;
	for (let look = 0; look < MAX_LOOKS; look++) {
		const verdict = judgeReport(report.source, programme.parks_pixels === 1, knownOrder(known));
		if (verdict.kind === "duplicate" && known !== undefined) {
			if (showsPixelWorks(known, report)) await notePixel(trx, deps, programme);
			return succeed({ outcome: "DUPLICATE", conversion: known, owedProgrammeIds: [] });
		}
		if (verdict.kind === "apply") {
			const step = stepFor(deps, programme, known ?? null, report, verdict.move);
			const { conversions, owedProgrammeIds } = await makeMoves(trx, deps, [step]);
			const [conversion] = conversions;
			if (conversion !== undefined) {
				const isPixels = report.source === "pixel" && verdict.move === "record";
				if (isPixels || verdict.move === "confirm") await notePixel(trx, deps, programme);
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

function stepFor(
	{ clock, random }: InTransaction,
	programme: Programme,
	known: Conversion | null,
	report: Report,
	move: ReportMove,
): Step {
	const nowMs = clock.nowMs();
	const sale = saleOf(programme, report, move, nowMs);
	if (known === null) {
		const names = {
			public_id: makeId("cnv", nowMs, random.bytes(ID_RANDOM_BYTES)),
			programme_id: programme.id,
			order_id: report.orderId,
			event_type: report.eventType,
		};
		return { move, known, sale: { ...sale, ...names, source: report.source } };
	}
	const change = { ...sale, pixel_basket_value: known.basket_value };
	// An expired one is the server's own sale now; a confirmed one stays the pixel's.
	if (move !== "confirm") return { move, known, change: { ...change, source: report.source } };
	const confirmed = {
		move,
		known,
		change: { ...change, confirmed_at_ms: nowMs },
		decidedBy: "shop",
	} as const;
	if (known.status !== "RECORDED") return confirmed;
	// It was recorded without parking, and announced with the pixel's amount.
	const announcedBody = composeEvent("conversion.recorded", subjectOf(known, programme.public_id));
	return { ...confirmed, announcedBody };
}

/** The rates are those of this moment: later changes of them do not touch the conversion. */
function saleOf(programme: Programme, report: Report, move: ReportMove, nowMs: number) {
	const waitDays = move === "park" ? programme.parked_days : programme.approval_days;
	return {
		basket_value: report.basketValue,
		commission: shareOf(report.basketValue, programme.commission_rate),
		network_fee: shareOf(report.basketValue, programme.fee_rate),
		currency: programme.currency,
		test: report.isTest ? (1 as const) : (0 as const),
		occurred_at_ms: report.occurredAtMs ?? nowMs,
		window_ends_at_ms: nowMs + waitDays * DAY_MS,
	};
}

/** Browser and server agree on an order, whichever came first. */
function showsPixelWorks(known: Conversion, { source }: Report): boolean {
	const isWaiting = known.status === "PARKED" || known.status === "EXPIRED";
	return source === "pixel" && !isWaiting && known.source !== "test";
}

function notePixel(trx: Db, { clock }: InTransaction, programme: Programme): Promise<void> {
	return noteFirstTime(trx, programme, "first_pixel_at_ms", clock.nowMs());
}
