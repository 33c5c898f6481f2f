// Records a sale that the shop's server, a browser pixel or a test reports. There is one conversion for each programme,
// order and event type. The server's report wins over the pixel's, whichever arrives first. Its amount and time replace
// those of the pixel, and the pixel's amount stays on record.

import type { Click } from "../domain/click-token.ts";
import { type EventType, judgeReport, type Reporter, type ReportMove } from "../domain/conversion.ts";
import {
	type Credit,
	clicksEndMs,
	compareCredits,
	foldCode,
	isClickOf,
	judgeCredit,
	NOT_CREDITING,
} from "../domain/credit.ts";
import { type Result, succeed } from "../domain/fault.ts";
import { ID_RANDOM_BYTES, makeId } from "../domain/id.ts";
import { addAmounts, zeroIn } from "../domain/money.ts";
import {
	amountAt,
	feeFor,
	noRates,
	type Rate,
	type Rates,
	ratesFor,
	writeRate,
	writeRates,
} from "../domain/rate.ts";
import { DAY_MS } from "../domain/time.ts";
import { type Conversion, knownOrderOf } from "../store/queries/conversions.ts";
import { commissionsOf, type OpenedClicks, type Signals } from "../store/queries/credits.ts";
import { type Programme, ratesOf } from "../store/queries/programmes.ts";
import type { Db } from "../store/store.ts";
import { changeOrders } from "./change-orders.ts";
import {
	type Decided,
	DIFFERING_FIELDS,
	type DifferingField,
	type InTransaction,
	type Owing,
} from "./deps.ts";
import { priceLaterCredit } from "./later-credit.ts";
import { creditStep, type Step } from "./moves.ts";
import {
	type About,
	type CreditFacts,
	type Judgement,
	type OrderRequest,
	refuseBusy,
} from "./order-request.ts";

export interface Report {
	source: Reporter;
	orderId: string;
	eventType: EventType;
	/** Amount in the programme's currency, in the canonical form of domain/money.ts. */
	basketValue: string;
	/** Time of the sale, or null if the report does not say. */
	occurredAtMs: number | null;
	isTest: boolean;
	/**
	 * Decrypts the click IDs that the shop's server sent. This happens for all reports of a batch at once (see Signals).
	 */
	openClicks?: (() => OpenedClicks) | undefined;
	/** Coupon codes of the order. The first one that belongs to a partner counts. */
	couponCodes?: readonly string[] | undefined;
}

export type RecordOutcome = "RECORDED" | "PARKED" | "CONFIRMED" | "DUPLICATE";

const OUTCOMES = { record: "RECORDED", park: "PARKED", confirm: "CONFIRMED" } as const;

/** Prepares a report. change-orders.ts handles it together with other requests. */
export function reportRequest(
	{ random }: Pick<InTransaction, "random">,
	programme: Programme,
	report: Report,
): OrderRequest<Decided<RecordOutcome>> {
	const parksPixels = programme.parks_pixels === 1;
	const signals = signalsOf(programme, report);
	return {
		programmeId: programme.id,
		orderId: report.orderId,
		eventType: report.eventType,
		signals,
		mayChange: (present) =>
			signals !== undefined || judgeReport(report, parksPixels, knownOrderOf(present)).kind !== "duplicate",
		judge(present, about) {
			const verdict = judgeReport(report, parksPixels, present && knownOrderOf(present));
			if (verdict.kind === "duplicate") return judgeRepeated(programme, report, present, about);
			const { move } = verdict;
			const { nowMs } = about;
			const soldAtMs = report.occurredAtMs ?? nowMs;
			const { credit, ...rated } = creditOf(programme, report, soldAtMs, about);
			return {
				kind: "move",
				step: { ...stepFor(random, { programme, ...rated, report, move, nowMs }, present), credit },
				done: (conversion) => describeMove(programme, report, move, credit, conversion),
			};
		},
	};
}

/** Returns what may credit a partner. A report without a click ID or a coupon code cannot lead to a better credit. */
function signalsOf(programme: Programme, report: Report): Signals | undefined {
	if (!isCredited(programme, report) || !hasField(report)) return undefined;
	const { openClicks = () => [] } = report;
	return { programme, codes: foldedCodesOf(report), openClicks };
}

function describeMove(
	programme: Programme,
	report: Report,
	move: ReportMove,
	credit: Credit | undefined,
	conversion: Conversion,
): Decided<RecordOutcome> {
	const isRecordedFromPixel = report.source === "pixel" && move === "record";
	const showsPixelWorks = isRecordedFromPixel || move === "confirm";
	const creditWord = credit === undefined ? explainMissingCredit(programme, report) : { credit: credit.word };
	return { outcome: OUTCOMES[move], conversion, showsPixelWorks, ...creditWord };
}

/**
 * Judges a repeated report. Its amount and time change nothing. Until somebody has approved or rejected the conversion,
 * the best credit among all reports of the shop's server counts. A report marked as a test never changes the credit of
 * a real sale.
 */
function judgeRepeated(
	programme: Programme,
	report: Report,
	present: Conversion | null,
	about: About,
): Judgement<Decided<RecordOutcome>> {
	const { credit: storedCredit } = about;
	if (present === null) throw new Error("a first report was taken for a repeated one");
	const showsPixelWorks = confirmsPixel(present, report);
	const differs = report.source === "pixel" ? [] : differingFields(present, report);
	const repeated = { outcome: "DUPLICATE", showsPixelWorks, differs } as const;
	const keepWith = (credit: Pick<Decided<RecordOutcome>, "credit">) =>
		({ kind: "keep", done: (conversion: Conversion) => ({ ...repeated, conversion, ...credit }) }) as const;
	if (storedCredit === undefined) return keepWith(explainMissingCredit(programme, report));
	const credit = findBetterCredit(programme, report, present, about);
	if (credit === undefined) return keepWith({ credit: storedCredit.word });
	const change = { from: storedCredit.partnershipId, to: credit.partnershipId };
	const priced =
		change.from === change.to
			? null
			: priceLaterCredit(present, change, about.recordOf(programme, change.to));
	return {
		kind: "move",
		step: { ...creditStep(credit, priced), decidedBy: "shop" },
		done: (conversion) => ({ ...repeated, conversion, credit: credit.word }),
	};
}

/** Returns the credit of a repeated report if it replaces the stored one. */
function findBetterCredit(
	programme: Programme,
	report: Report,
	present: Conversion,
	facts: CreditFacts,
): Credit | undefined {
	if (facts.credit === undefined || !isCredited(programme, report)) return undefined;
	const isOpen = present.status === "RECORDED" && report.isTest === (present.test === 1);
	if (!isOpen) return undefined;
	const credit = judgeCreditOf(programme, report, present.occurred_at_ms, facts);
	return compareCredits(credit, facts.credit) < 0 ? credit : undefined;
}

/** Returns whether the report can credit a partner. Anybody can call a pixel, so a pixel credits nobody. */
function isCredited(programme: Programme, { source }: Report): boolean {
	return programme.credits_partners === 1 && source !== "pixel";
}

function hasField({ openClicks, couponCodes = [] }: Report): boolean {
	return openClicks !== undefined || couponCodes.length > 0;
}

function foldedCodesOf({ couponCodes = [] }: Report): readonly string[] {
	return couponCodes.map(foldCode);
}

/**
 * Returns the word that says that the programme credits nobody, if the report has a field for crediting a partner.
 * Otherwise returns nothing.
 */
function explainMissingCredit(programme: Programme, report: Report): Pick<Decided<RecordOutcome>, "credit"> {
	return programme.credits_partners === 0 && hasField(report) ? { credit: NOT_CREDITING } : {};
}

/** Returns the credit of a report that can credit a partner. */
function judgeCreditOf(
	programme: Programme,
	report: Report,
	soldAtMs: number,
	{ partnerships, clicks }: CreditFacts,
): Credit {
	const codes = foldedCodesOf(report);
	const codePartnershipId = codes.length === 0 ? undefined : partnerships.ofCodes(programme.id, codes);
	const isOwnClick = (click: Click | null) => {
		const found = partnerships.find(click?.partnershipId);
		return isClickOf(click, found && { createdAtMs: found.created_at_ms });
	};
	return judgeCredit({
		clicks: clicks.map((click) => (isOwnClick(click) ? click : null)),
		codePartnershipId,
		programmeId: programme.id,
		soldAtMs,
		windowDays: programme.click_days,
		clicksEndMs(partnershipId) {
			const found = partnerships.find(partnershipId);
			return found === undefined
				? null
				: clicksEndMs({ endedAtMs: found.ended_at_ms, clicksEndedAtMs: found.clicks_ended_at_ms });
		},
	});
}

/** The credit of a sale that is recorded or confirmed now, and its rates. */
interface CreditedRates {
	/** Undefined if the report cannot credit anybody. */
	credit: Credit | undefined;
	/** Rates from which the amounts are computed. They are 0 if the programme credits partners and nobody brought the sale. */
	rates: Rates;
	/** Rate of the network fee, also if none is charged now. */
	fee: Rate;
}

function creditOf(
	programme: Programme,
	report: Report,
	soldAtMs: number,
	crediting: CreditFacts,
): CreditedRates {
	const { currency, credits_partners } = programme;
	const all = ratesOf(programme);
	const fee = feeFor(all, report.eventType);
	const isCrediting = isCredited(programme, report);
	const credit = isCrediting ? judgeCreditOf(programme, report, soldAtMs, crediting) : undefined;
	const partnership = crediting.partnerships.find(credit?.partnershipId ?? undefined);
	if (partnership === undefined && credits_partners === 1)
		return { credit, rates: noRates(zeroIn(currency)), fee };
	const own = partnership === undefined ? null : commissionsOf(partnership, currency);
	return { credit, rates: ratesFor(all, own, report.eventType), fee };
}

/** Records a single report. */
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

interface Sale extends Omit<CreditedRates, "credit"> {
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
	// The order may have an earlier conversion, which a pixel reported and this one replaces.
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
