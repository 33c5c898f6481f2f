// Records a sale that the shop's server, a browser pixel or a test reports. There is one conversion for each programme,
// order and event type. The server's report wins over the pixel's, whichever arrives first. Its amount and time replace
// those of the pixel, and the pixel's amount stays on record.

import { judgeReport, type ReportMove } from "../domain/conversion.ts";
import { type Result, succeed } from "../domain/fault.ts";
import { ID_RANDOM_BYTES, makeId } from "../domain/id.ts";
import { addAmounts } from "../domain/money.ts";
import { amountAt, writeRate, writeRates } from "../domain/rate.ts";
import { DAY_MS } from "../domain/time.ts";
import { type Conversion, knownOrderOf } from "../store/queries/conversions.ts";
import type { Programme } from "../store/queries/programmes.ts";
import type { Db } from "../store/store.ts";
import type { PricedSale, Pricing, ReportToPrice } from "./change-module.ts";
import { changeOrders } from "./change-orders.ts";
import {
	type Decided,
	DIFFERING_FIELDS,
	type DifferingField,
	type InTransaction,
	type Owing,
} from "./deps.ts";
import type { DecidedParts } from "./module-facts.ts";
import type { Step } from "./moves.ts";
import { type About, type Judgement, type OrderRequest, refuseBusy } from "./order-request.ts";
import type { Report } from "./report.ts";

export type RecordOutcome = "RECORDED" | "PARKED" | "CONFIRMED" | "DUPLICATE";

const OUTCOMES = { record: "RECORDED", park: "PARKED", confirm: "CONFIRMED" } as const;

/** Prepares a report. change-orders.ts handles it together with other requests. */
export function reportRequest(
	{ random, changes: { pricing } }: Pick<InTransaction, "random" | "changes">,
	programme: Programme,
	report: Report,
): OrderRequest<Decided<RecordOutcome>> {
	const parksPixels = programme.parks_pixels === 1;
	const needs = pricing.needsOf(programme, report);
	const reported: ReportToPrice = { programme, report, needs: needs ?? {} };
	return {
		programmeId: programme.id,
		orderId: report.orderId,
		eventType: report.eventType,
		...needs,
		mayChange: (present) =>
			needs !== null || judgeReport(report, parksPixels, knownOrderOf(present)).kind !== "duplicate",
		judge(present, about) {
			const verdict = judgeReport(report, parksPixels, present && knownOrderOf(present));
			if (verdict.kind === "duplicate") return judgeRepeated(pricing, reported, present, about);
			const { move } = verdict;
			const { nowMs } = about.facts;
			const { decided, parts, ...rated } = pricing.price(reported, report.occurredAtMs ?? nowMs, about);
			return {
				kind: "move",
				step: { ...parts, ...stepFor(random, { programme, ...rated, report, move, nowMs }, present) },
				done: (conversion) => describeMove(report, move, decided, conversion),
			};
		},
	};
}

function describeMove(
	report: Report,
	move: ReportMove,
	decided: DecidedParts,
	conversion: Conversion,
): Decided<RecordOutcome> {
	const isRecordedFromPixel = report.source === "pixel" && move === "record";
	const showsPixelWorks = isRecordedFromPixel || move === "confirm";
	return { outcome: OUTCOMES[move], conversion, showsPixelWorks, ...decided };
}

/** Judges a repeated report. The repeated amount and time change nothing, but the report may lead to new rates. */
function judgeRepeated(
	pricing: Pricing,
	reported: ReportToPrice,
	present: Conversion | null,
	about: About,
): Judgement<Decided<RecordOutcome>> {
	if (present === null) throw new Error("a first report was taken for a repeated one");
	const { report } = reported;
	const showsPixelWorks = confirmsPixel(present, report);
	const differs = report.source === "pixel" ? [] : differingFields(present, report);
	const { decided, step } = pricing.priceAgain(reported, present, about);
	const done = (conversion: Conversion) =>
		({ outcome: "DUPLICATE", conversion, showsPixelWorks, differs, ...decided }) as const;
	return step === undefined ? { kind: "keep", done } : { kind: "move", step, done };
}

export async function recordConversion(
	trx: Db,
	deps: InTransaction,
	programme: Programme,
	report: Report,
): Promise<Result<Decided<RecordOutcome> & Owing>> {
	const { results, owed } = await changeOrders(trx, deps, [reportRequest(deps, programme, report)]);
	const result = results[0] ?? refuseBusy();
	return result.ok ? succeed({ ...result.value, owed }) : result;
}

/**
 * Returns the fields in which a repeated report differs. If the report has no time, the time is not compared.
 */
function differingFields(stored: Conversion, report: Report): DifferingField[] {
	const { basketValue, occurredAtMs, isTest } = report;
	const differs: Readonly<Record<DifferingField, boolean>> = {
		basketValue: basketValue !== addAmounts(stored.basket_value, stored.refunded_value ?? "0"),
		occurredAt: occurredAtMs !== null && occurredAtMs !== stored.occurred_at_ms,
		test: isTest !== (stored.test === 1),
	};
	return DIFFERING_FIELDS.filter((field) => differs[field]);
}

interface Sale extends Pick<PricedSale, "rates" | "fee"> {
	programme: Programme;
	report: Report;
	move: ReportMove;
	nowMs: number;
}

function stepFor(random: InTransaction["random"], reported: Sale, stored: Conversion | null): Step {
	const { programme, report, move, nowMs } = reported;
	const sale = saleOf(reported);
	if (move === "confirm") {
		if (stored === null) throw new Error("a report confirms an order that nobody has reported");
		const change = { ...sale, pixel_basket_value: stored.basket_value, confirmed_at_ms: nowMs };
		return { move, change, decidedBy: "shop" };
	}
	const names = {
		public_id: makeId("cnv", nowMs, random.bytes(ID_RANDOM_BYTES)),
		programme_id: programme.id,
		order_id: report.orderId,
		event_type: report.eventType,
	};
	// An earlier conversion of the order may exist, which a pixel reported and this report replaces.
	const claimed = { pixel_basket_value: stored?.basket_value ?? null };
	return { move, sale: { ...sale, ...names, ...claimed, source: report.source } };
}

/**
 * Returns the columns of a sale, computed with the present rates. Later changes of the rates do not affect the
 * conversion.
 */
function saleOf({ programme, rates, fee, report, move, nowMs }: Sale) {
	const waitDays = move === "park" ? programme.parked_days : programme.approval_days;
	// A conversion that only a pixel has reported is approved by a person, never by the approval window.
	const hasWindow = move === "park" || report.source !== "pixel";
	return {
		basket_value: report.basketValue,
		rates: writeRates(rates),
		// The rates of a parked conversion are those of its confirmation.
		fee_rate: move === "park" ? null : writeRate(fee),
		commission: amountAt(report.basketValue, rates.commission),
		network_fee: amountAt(report.basketValue, rates.fee),
		currency: programme.currency,
		test: report.isTest ? (1 as const) : (0 as const),
		occurred_at_ms: report.occurredAtMs ?? nowMs,
		window_ends_at_ms: hasWindow ? nowMs + waitDays * DAY_MS : null,
	};
}

/**
 * Returns whether a repeated pixel report shows that the pixel works. It does if the shop's server has reported the
 * same order. For an imported conversion the server has reported nothing.
 */
function confirmsPixel(stored: Conversion, { source }: Report): boolean {
	const isUnconfirmed = stored.status === "PARKED" || stored.status === "EXPIRED";
	return source === "pixel" && !isUnconfirmed && stored.source !== "test" && stored.source !== "import";
}
