// Prices sales by the partner who brought them. It decides whom a report credits, and from which rates the amounts of the
// sale are computed.

import type { PricedSale, Pricing, ReportToPrice } from "#core/conversions/change-module.ts";
import type { DecidedParts } from "#core/conversions/module-facts.ts";
import type { About } from "#core/conversions/order-request.ts";
import type { Report } from "#core/conversions/report.ts";
import { zeroIn } from "#core/domain/money.ts";
import { feeFor, noRates, ratesFor } from "#core/domain/rate.ts";
import { type Programme, ratesOf } from "#core/store/queries/programmes.ts";
import type { Conversion } from "#core/store/tables/conversions.ts";
import type { Click, OpenedClicks } from "../domain/click-token.ts";
import {
	type Credit,
	type CreditWord,
	clicksEndMs,
	compareCredits,
	foldCode,
	isClickOf,
	judgeCredit,
	NOT_CREDITING,
} from "../domain/credit.ts";
import { commissionsOf } from "../store/credits.ts";
import { creditStep, priceLaterCredit } from "./later-credit.ts";

declare module "#core/conversions/report.ts" {
	interface Report {
		/** Decrypts the click IDs that the shop's server sent. This happens for all reports of a batch at once (see Signals). */
		openClicks?: (() => OpenedClicks) | undefined;
		/** Coupon codes of the order. The first one that belongs to a partner counts. */
		couponCodes?: readonly string[] | undefined;
	}
}

declare module "#core/conversions/module-facts.ts" {
	interface DecidedParts {
		/**
		 * Word that says why a partner is credited with the sale, or why nobody is. Missing if the programme
		 * credits nobody.
		 */
		credit?: CreditWord | typeof NOT_CREDITING;
	}
}

export const CREDIT_PRICING: Pricing = { needsOf, price, priceAgain };

/**
 * Returns the parts of a report that may credit a partner. A report without a click ID or a coupon code
 * cannot lead to a better credit.
 */
function needsOf(programme: Programme, report: Report): ReportToPrice["needs"] | null {
	if (!isCredited(programme, report) || !hasField(report)) return null;
	const { openClicks = () => [] } = report;
	return { signals: { programme, codes: foldedCodesOf(report), openClicks } };
}

function price(reported: ReportToPrice, soldAtMs: number, about: About): PricedSale {
	const { programme, report } = reported;
	const { currency, credits_partners } = programme;
	const all = ratesOf(programme);
	const credit = isCredited(programme, report) ? judgeCreditOf(reported, soldAtMs, about) : undefined;
	const partnership = about.facts.partnerships.find(credit?.partnershipId);
	const isNobodys = partnership === undefined && credits_partners === 1;
	const agreedRates = partnership === undefined ? null : commissionsOf(partnership, currency);
	return {
		rates: isNobodys ? noRates(zeroIn(currency)) : ratesFor(all, agreedRates, report.eventType),
		fee: feeFor(all, report.eventType),
		parts: { credit },
		decided: credit === undefined ? explainMissingCredit(programme, report) : { credit: credit.word },
	};
}

/**
 * Prices a repeated report. Until somebody has approved or rejected the conversion, the best credit among all reports of the
 * shop's server counts. A report marked as a test never changes the credit of a real sale.
 */
function priceAgain(
	reported: ReportToPrice,
	present: Conversion,
	about: About,
): ReturnType<Pricing["priceAgain"]> {
	const { programme, report, needs } = reported;
	const { credit: stored } = about.known;
	if (needs.signals === undefined || stored === undefined)
		return { decided: explainMissingCredit(programme, report) };
	const isOpen = present.status === "RECORDED" && report.isTest === (present.test === 1);
	const asBefore = { decided: { credit: stored.word } };
	if (!isOpen) return asBefore;
	const credit = judgeCreditOf(reported, present.occurred_at_ms, about);
	if (compareCredits(credit, stored) >= 0) return asBefore;
	const change = { from: stored.partnershipId, to: credit.partnershipId };
	const priced =
		change.from === change.to
			? null
			: priceLaterCredit(present, change, about.facts.recordOf(programme.id, change.to));
	return { decided: { credit: credit.word }, step: { ...creditStep(credit, priced), decidedBy: "shop" } };
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

/** Returns the word that says that the programme credits nobody, if the report has a field for crediting a partner. */
function explainMissingCredit(programme: Programme, report: Report): DecidedParts {
	return programme.credits_partners === 0 && hasField(report) ? { credit: NOT_CREDITING } : {};
}

/** Returns the credit of a report that can credit a partner. */
function judgeCreditOf(
	{ programme, report, needs }: ReportToPrice,
	soldAtMs: number,
	{ facts }: About,
): Credit {
	const { partnerships } = facts;
	const codes = foldedCodesOf(report);
	const codePartnershipId = codes.length === 0 ? undefined : partnerships.ofCodes(programme.id, codes);
	const isOwnClick = (click: Click | null) => {
		const found = partnerships.find(click?.partnershipId);
		return isClickOf(click, found && { createdAtMs: found.created_at_ms });
	};
	return judgeCredit({
		clicks: partnerships.clicksOf(needs.signals).map((click) => (isOwnClick(click) ? click : null)),
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
