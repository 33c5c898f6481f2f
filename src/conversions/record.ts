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
import {
	type Credit,
	compareCredits,
	creditedRates,
	foldCode,
	isClickOf,
	judgeCredit,
	NOT_CREDITING,
	type Rates,
} from "../domain/credit.ts";
import { type Result, succeed } from "../domain/fault.ts";
import { ID_RANDOM_BYTES, makeId } from "../domain/id.ts";
import { shareOf } from "../domain/money.ts";
import { DAY_MS } from "../domain/time.ts";
import type { Conversion } from "../store/queries/conversions.ts";
import type { OpenedClicks } from "../store/queries/credits.ts";
import { noteFirstTime } from "../store/queries/first-times.ts";
import type { Programme } from "../store/queries/programmes.ts";
import type { Db } from "../store/store.ts";
import {
	type Decided,
	DIFFERING_FIELDS,
	type DifferingField,
	type InTransaction,
	type Owing,
} from "./deps.ts";
import { type About, type Judgement, judgeAndMove, type OrderRequest, refuseBusy } from "./judge-and-move.ts";
import { creditStep, type Step } from "./make-moves.ts";

export interface Report {
	source: Reporter;
	orderId: string;
	eventType: EventType;
	/** Canonical, in the programme's currency: see domain/money. */
	basketValue: string;
	/** The time of the sale; null when the reporter did not say. */
	occurredAtMs: number | null;
	isTest: boolean;
	/** What the shop's server says of who brought it. Clicks are opened with those of others: one by one takes twice as long. */
	openClicks?: (() => OpenedClicks) | undefined;
	couponCode?: string | undefined;
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
		findSignals() {
			// Without a field no repeated report can be better than the first.
			if (!isCredited(programme, report) || !hasField(report)) return undefined;
			return {
				programmeId: programme.id,
				code: report.couponCode === undefined ? null : foldCode(report.couponCode),
				openClicks: report.openClicks ?? (() => []),
			};
		},
		judge(present, about) {
			const verdict = judgeReport(report, programme.parks_pixels === 1, knownOrder(present));
			if (verdict.kind === "duplicate") return judgeRepeated(programme, report, present, about);
			const { move } = verdict;
			const isRecordedFromPixel = report.source === "pixel" && move === "record";
			const showsPixelWorks = isRecordedFromPixel || move === "confirm";
			const nowMs = deps.clock.nowMs();
			const soldAtMs = report.occurredAtMs ?? nowMs;
			const { credit, rates } = creditOf(programme, report, soldAtMs, about);
			const by = credit === undefined ? sayNotCrediting(programme, report) : { credit: credit.word };
			return {
				kind: "move",
				step: { ...stepFor(deps, { programme, rates, report, move, nowMs }, present), credit },
				done: (conversion) => ({ outcome: OUTCOMES[move], conversion, showsPixelWorks, ...by }),
			};
		},
	};
}

/**
 * Its amount and time change nothing. But until somebody has decided about the money, the best of all that the shop's
 * server has said of who brought the sale counts; what it says in a test is not about a sale.
 */
function judgeRepeated(
	programme: Programme,
	report: Report,
	present: Conversion | null,
	about: About,
): Judgement<Decided<RecordOutcome>> {
	const { credit: known } = about;
	if (present === null) throw new Error("a first report was taken for a repeated one");
	const showsPixelWorks = agrees(present, report);
	const differs = report.source === "pixel" ? [] : differingFields(present, report);
	const repeated = { outcome: "DUPLICATE", conversion: present, showsPixelWorks, differs } as const;
	if (known === undefined)
		return { kind: "answer", result: succeed({ ...repeated, ...sayNotCrediting(programme, report) }) };
	const { credit, rates } = creditOf(programme, report, present.occurred_at_ms, about);
	const isOpen = present.status === "RECORDED" && !differs.includes("test");
	if (!isOpen || credit === undefined || compareCredits(credit, known) >= 0) {
		return { kind: "answer", result: succeed({ ...repeated, credit: known.word }) };
	}
	const isSamePartner = credit.partnership_id === known.partnership_id;
	return {
		kind: "move",
		step: { ...creditStep(programme, present, credit, isSamePartner ? null : rates), decidedBy: "shop" },
		done: (conversion) => ({ ...repeated, conversion, credit: credit.word }),
	};
}

/** Anyone can call a pixel: it credits nobody. */
function isCredited(programme: Programme, { source }: Report): boolean {
	return programme.credits_partners === 1 && source !== "pixel";
}

function hasField({ openClicks, couponCode }: Report): boolean {
	return openClicks !== undefined || couponCode !== undefined;
}

function sayNotCrediting(programme: Programme, report: Report): Pick<Decided<RecordOutcome>, "credit"> {
	return programme.credits_partners === 0 && hasField(report) ? { credit: NOT_CREDITING } : {};
}

/** Who brought it, where that is judged, and the rates that follow. */
function creditOf(
	programme: Programme,
	report: Report,
	soldAtMs: number,
	{ partnerships, clicks }: Pick<About, "partnerships" | "clicks">,
): { credit: Credit | undefined; rates: Rates } {
	if (programme.credits_partners === 0) return { credit: undefined, rates: programme };
	if (!isCredited(programme, report)) return { credit: undefined, rates: creditedRates(programme, null) };
	const { couponCode } = report;
	const code = couponCode === undefined ? undefined : partnerships.ofCode(programme.id, foldCode(couponCode));
	const credit = judgeCredit({
		clicks: clicks.map((click) => (isClickOf(click, partnerships.find(click?.partnershipId)) ? click : null)),
		codePartnershipId: code,
		programmeId: programme.id,
		soldAtMs,
		windowDays: programme.click_days,
	});
	const { partnership_id: id } = credit;
	const own = id === null ? null : (partnerships.find(id) ?? { commission_rate: null });
	return { credit, rates: creditedRates(programme, own) };
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
	if (result.value.showsPixelWorks && programme.first_pixel_at_ms === null) {
		await noteFirstTime(trx, "first_pixel_at_ms", [programme.id], deps.clock.nowMs());
	}
	return succeed({ ...result.value, owed });
}

/** A time that the report does not name is no other time. */
function differingFields(known: Conversion, report: Report): DifferingField[] {
	const { basketValue, occurredAtMs, isTest } = report;
	const isOther: Readonly<Record<DifferingField, boolean>> = {
		basketValue: basketValue !== known.basket_value,
		occurredAt: occurredAtMs !== null && occurredAtMs !== known.occurred_at_ms,
		test: isTest !== (known.test === 1),
	};
	return DIFFERING_FIELDS.filter((field) => isOther[field]);
}

function knownOrder(known: Conversion | null): KnownOrder | null {
	if (known === null) return null;
	return { status: known.status, source: known.source, isConfirmed: known.confirmed_at_ms !== null };
}

interface Sale {
	programme: Programme;
	rates: Rates;
	report: Report;
	move: ReportMove;
	nowMs: number;
}

function stepFor({ random }: InTransaction, reported: Sale, known: Conversion | null): Step {
	const { programme, report, move, nowMs } = reported;
	const sale = saleOf(reported);
	if (known === null || move !== "confirm") {
		const names = {
			public_id: makeId("cnv", nowMs, random.bytes(ID_RANDOM_BYTES)),
			programme_id: programme.id,
			order_id: report.orderId,
			event_type: report.eventType,
		};
		const claimed = { pixel_basket_value: known?.basket_value ?? null };
		return {
			move,
			known: null,
			replaced: known,
			sale: { ...sale, ...names, ...claimed, source: report.source },
		};
	}
	const change = { ...sale, pixel_basket_value: known.basket_value, confirmed_at_ms: nowMs };
	return { move, known, change, programId: programme.public_id, decidedBy: "shop" };
}

/** The rates are those of this moment: later changes of them do not touch the conversion. */
function saleOf({ programme, rates, report, move, nowMs }: Sale) {
	const waitDays = move === "park" ? programme.parked_days : programme.approval_days;
	// Nobody but a person approves what only a pixel has reported.
	const hasWindow = move === "park" || report.source !== "pixel";
	return {
		basket_value: report.basketValue,
		commission: shareOf(report.basketValue, rates.commission_rate),
		network_fee: shareOf(report.basketValue, rates.fee_rate),
		currency: programme.currency,
		test: report.isTest ? (1 as const) : (0 as const),
		occurred_at_ms: report.occurredAtMs ?? nowMs,
		window_ends_at_ms: hasWindow ? nowMs + waitDays * DAY_MS : null,
	};
}

/** Browser and server agree on an order, whichever came first. Of an imported one the server has said nothing here. */
function agrees(known: Conversion, { source }: Report): boolean {
	const isWaiting = known.status === "PARKED" || known.status === "EXPIRED";
	return source === "pixel" && !isWaiting && known.source !== "test" && known.source !== "import";
}
