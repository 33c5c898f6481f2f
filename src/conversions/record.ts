// A sale is reported: by the shop's signed postback, by a browser pixel, or as a test. One conversion per programme,
// order and event type; the server's word wins over the pixel's in whatever order they arrive: its amount and time
// replace the pixel's, whose amount stays on record.

import {
	type EventType,
	judgeReport,
	type KnownOrder,
	type Reporter,
	type ReportMove,
} from "../domain/conversion.ts";
import { composeEvent } from "../domain/event.ts";
import { type Result, succeed } from "../domain/fault.ts";
import { ID_RANDOM_BYTES, makeId } from "../domain/id.ts";
import { shareOf } from "../domain/money.ts";
import { DAY_MS } from "../domain/time.ts";
import type { Conversion } from "../store/queries/conversions.ts";
import { noteFirstTime } from "../store/queries/first-times.ts";
import type { Programme } from "../store/queries/programmes.ts";
import type { Db } from "../store/store.ts";
import type { Decided, InTransaction, Owing } from "./deps.ts";
import { judgeAndMove, type OrderRequest, refuseBusy } from "./judge-and-move.ts";
import type { Step } from "./make-moves.ts";
import { subjectOf } from "./owe.ts";

export interface Report {
	source: Reporter;
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

/** To be judged with others: see judge-and-move. */
export function reportRequest(
	deps: InTransaction,
	programme: Programme,
	report: Report,
): OrderRequest<Decided<RecordOutcome>> {
	return {
		programmeId: programme.id,
		orderId: report.orderId,
		eventType: report.eventType,
		// Most reports are an order's first, so nothing is read before it is inserted.
		present: null,
		judge(present) {
			const verdict = judgeReport(report.source, programme.parks_pixels === 1, knownOrder(present));
			if (verdict.kind === "apply") {
				const { move } = verdict;
				const isRecordedFromPixel = report.source === "pixel" && move === "record";
				const showsPixelWorks = isRecordedFromPixel || move === "confirm";
				return {
					kind: "move",
					step: stepFor(deps, programme, present, report, move),
					done: (conversion) => ({ outcome: OUTCOMES[move], conversion, showsPixelWorks }),
				};
			}
			if (present === null) throw new Error("a first report was taken for a repeated one");
			const showsPixelWorks = agrees(present, report);
			const repeated = { outcome: "DUPLICATE", conversion: present, showsPixelWorks } as const;
			return { kind: "answer", result: succeed(repeated) };
		},
	};
}

/** One by itself. */
export async function recordConversion(
	trx: Db,
	deps: InTransaction,
	programme: Programme,
	report: Report,
): Promise<Result<Decided<RecordOutcome> & Owing>> {
	const { results, owed } = await judgeAndMove(trx, deps, [reportRequest(deps, programme, report)]);
	const result = results[0] ?? refuseBusy();
	if (!result.ok) return result;
	if (result.value.showsPixelWorks) {
		await noteFirstTime(trx, programme, "first_pixel_at_ms", deps.clock.nowMs());
	}
	return succeed({ ...result.value, owed });
}

function knownOrder(known: Conversion | null): KnownOrder | null {
	if (known === null) return null;
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

/** Browser and server agree on an order, whichever came first. Of an imported one the server has said nothing here. */
function agrees(known: Conversion, { source }: Report): boolean {
	const isWaiting = known.status === "PARKED" || known.status === "EXPIRED";
	return source === "pixel" && !isWaiting && known.source !== "test" && known.source !== "import";
}
