// Who brought a sale. The first row that fits is the answer, and every answer has a word, so that a shop learns why nobody
// was credited. Only what the shop's server signed is judged here: anyone can call a pixel.

import type { Click, SubIds } from "./click-token.ts";
import { NO_SUB_IDS } from "./click-token.ts";
import { DAY_MS, MINUTE_MS } from "./time.ts";

export const CREDIT_WORDS = [
	"CODE",
	"CLICK",
	"ASSIGNED",
	"NO_SIGNAL",
	"CLICK_TOO_OLD",
	"CLICK_AFTER_SALE",
	"OTHER_PROGRAMME",
	"CLICK_UNREADABLE",
	"UNKNOWN_CODE",
] as const;
/** ASSIGNED is what staff decide later. */
export type CreditWord = (typeof CREDIT_WORDS)[number];

export interface Credit {
	/** Null: nobody. */
	partnershipId: number | null;
	word: CreditWord;
	linkId: number | null;
	clickedAtMs: number | null;
	subIds: SubIds;
}

export interface SaleSignals {
	/** Opened, in the order given; null where one could not be. Empty where the shop sent none. */
	clicks: readonly (Click | null)[];
	/** The active partnership that the coupon code belongs to; null for a code of nobody, undefined where none was sent. */
	codePartnershipId: number | null | undefined;
	programmeId: number;
	soldAtMs: number;
	windowDays: number;
}

export const MAX_CLICK_ID_CHARACTERS = 400;
export const MAX_COUPON_CODE_CHARACTERS = 64;
/** The shop may pass the last two clicks, joined by a dot. */
const CLICKS_READ = 2;
/** Two machines' clocks. */
const AFTER_SALE_TOLERANCE_MS = 5 * MINUTE_MS;

/** A longer text is none that we made. */
export function readClickIds(clickId: string): readonly string[] {
	return clickId.length > MAX_CLICK_ID_CHARACTERS ? [""] : clickId.split(".").slice(-CLICKS_READ);
}

/** Codes are compared without case. */
export function foldCode(code: string): string {
	return code.toUpperCase();
}

export function judgeCredit({
	clicks,
	codePartnershipId,
	programmeId,
	soldAtMs,
	windowDays,
}: SaleSignals): Credit {
	const nobody = { partnershipId: null, linkId: null, clickedAtMs: null, subIds: NO_SUB_IDS };
	if (typeof codePartnershipId === "number")
		return { ...nobody, partnershipId: codePartnershipId, word: "CODE" };
	const judged = clicks.map((click) => ({ click, word: judgeOne(click, programmeId, soldAtMs, windowDays) }));
	const credited = judged
		.flatMap(({ click, word }) => (click !== null && word === "CLICK" ? [click] : []))
		.toSorted((one, other) => other.atMs - one.atMs)[0];
	if (credited !== undefined) {
		const { partnershipId, linkId, atMs, subIds } = credited;
		return { partnershipId, word: "CLICK", linkId, clickedAtMs: atMs, subIds };
	}
	const words = judged.map(({ word }) => word);
	// An unknown code takes nothing away from a click, and says so where there is none.
	const word = NEAREST.find((each) => words.includes(each));
	return { ...nobody, word: word ?? (codePartnershipId === null ? "UNKNOWN_CODE" : "NO_SIGNAL") };
}

/** Of two clicks that credit nobody, the one that came nearest to it is told. */
const NEAREST = ["CLICK_TOO_OLD", "CLICK_AFTER_SALE", "OTHER_PROGRAMME", "CLICK_UNREADABLE"] as const;

function judgeOne(
	click: Click | null,
	programmeId: number,
	soldAtMs: number,
	windowDays: number,
): (typeof NEAREST)[number] | "CLICK" {
	if (click === null) return "CLICK_UNREADABLE";
	if (click.programmeId !== programmeId) return "OTHER_PROGRAMME";
	if (click.atMs > soldAtMs + AFTER_SALE_TOLERANCE_MS) return "CLICK_AFTER_SALE";
	return click.atMs < soldAtMs - windowDays * DAY_MS ? "CLICK_TOO_OLD" : "CLICK";
}

/** Percentages with four decimals: see domain/money. */
interface Rates {
	commission_rate: string;
	fee_rate: string;
}

/**
 * Of a programme that credits partners: what nobody brought has neither commission nor fee, and a partnership's own rate
 * goes before the programme's. `partnership` is null for nobody.
 */
export function creditedRates(
	{ commission_rate, fee_rate }: Rates,
	partnership: { commission_rate: string | null } | null,
): Rates {
	if (partnership === null) return { commission_rate: "0.0000", fee_rate: "0.0000" };
	return { commission_rate: partnership.commission_rate ?? commission_rate, fee_rate };
}
