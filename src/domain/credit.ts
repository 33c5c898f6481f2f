// Decides which partner brought a sale. A report can carry click IDs and a coupon code. Each of them yields a
// credit with a reason code, and the best credit wins, so a shop also learns why nobody was credited. Only
// reports that the shop's server signed are judged here, because anyone can call a pixel.

import { type Click, NO_SUB_IDS, type SubIds } from "./click-token.ts";
import { DAY_MS, MINUTE_MS } from "./time.ts";

/** All reasons for a credit, the best first. ASSIGNED is a decision of staff, which no report changes. */
export const CREDIT_WORDS = [
	"ASSIGNED",
	"CODE",
	"CLICK",
	"CLICK_TOO_OLD",
	"CLICK_AFTER_SALE",
	"OTHER_PROGRAMME",
	"CLICK_UNREADABLE",
	"UNKNOWN_CODE",
	"NO_SIGNAL",
] as const;
export type CreditWord = (typeof CREDIT_WORDS)[number];
/** The answer to a shop that sends a click ID or a code to a programme that does not credit partners. It is not stored. */
export const NOT_CREDITING = "NOT_CREDITING";

export interface Credit {
	/** The partnership that is credited, or null for nobody. */
	partnershipId: number | null;
	word: CreditWord;
	/** The link that was clicked, or null if no click was credited. */
	linkId: number | null;
	clickedAtMs: number | null;
	subIds: SubIds;
}

export interface SaleSignals {
	/** The clicks in the order in which the shop sent them. Null stands for a click ID that could not be opened. */
	clicks: readonly (Click | null)[];
	/** The active partnership of the coupon code: null if the code belongs to nobody, undefined if no code was sent. */
	codePartnershipId: number | null | undefined;
	programmeId: number;
	soldAtMs: number;
	/** Number of days for which a click counts. */
	windowDays: number;
}

export const MAX_CLICK_ID_CHARACTERS = 400;
export const MAX_COUPON_CODE_CHARACTERS = 64;
/** A shop may send the last two clicks, joined by a dot. */
const CLICKS_READ = 2;
/** Tolerated difference between the shop's clock and ours. */
const AFTER_SALE_TOLERANCE_MS = 5 * MINUTE_MS;

/** Splits what the shop sent into click IDs. A text that is too long cannot be ours and becomes one unreadable ID. */
export function readClickIds(clickId: string): readonly string[] {
	if (clickId.length > MAX_CLICK_ID_CHARACTERS) return [""];
	const ids = clickId.split(".").filter((id) => id !== "");
	return ids.length === 0 ? [""] : ids.slice(-CLICKS_READ);
}

/** Returns the form in which codes are compared: without case, and "é" is the same whether it is one character or two. */
export function foldCode(code: string): string {
	return code.normalize("NFC").toUpperCase();
}

export function judgeCredit({ clicks, codePartnershipId, ...sale }: SaleSignals): Credit {
	const byCode = codePartnershipId === undefined ? [] : [creditByCode(codePartnershipId)];
	const [best = NOBODY] = [...byCode, ...clicks.map((click) => creditByClick(click, sale))].sort(
		compareCredits,
	);
	return best;
}

export const NOBODY: Credit = {
	partnershipId: null,
	word: "NO_SIGNAL",
	linkId: null,
	clickedAtMs: null,
	subIds: NO_SUB_IDS,
};

/**
 * Returns whether the click can belong to the partnership that has its number now. After a backup is restored, a number can
 * be given to another partnership, so a click that is older than the partnership is not its own.
 */
export function isClickOf(click: Click | null, partnership: { createdAtMs: number } | undefined): boolean {
	return click !== null && partnership !== undefined && click.atMs >= partnership.createdAtMs;
}

/** A code of nobody ranks below every click, so it takes nothing away from one. */
function creditByCode(partnershipId: number | null): Credit {
	return { ...NOBODY, partnershipId, word: partnershipId === null ? "UNKNOWN_CODE" : "CODE" };
}

function creditByClick(
	click: Click | null,
	{ programmeId, soldAtMs, windowDays }: Omit<SaleSignals, "clicks" | "codePartnershipId">,
): Credit {
	if (click === null) return { ...NOBODY, word: "CLICK_UNREADABLE" };
	const { atMs, partnershipId, linkId, subIds } = click;
	if (click.programmeId !== programmeId) return { ...NOBODY, word: "OTHER_PROGRAMME" };
	if (atMs > soldAtMs + AFTER_SALE_TOLERANCE_MS) return { ...NOBODY, word: "CLICK_AFTER_SALE" };
	if (atMs < soldAtMs - windowDays * DAY_MS) return { ...NOBODY, word: "CLICK_TOO_OLD" };
	return { partnershipId, word: "CLICK", linkId, clickedAtMs: atMs, subIds };
}

/**
 * Orders credits, the better one first: by word, and of two clicks the newer one. Ids decide the rest, so two credits that
 * differ are never equal. The best credit of an order is therefore the same in whatever order its reports arrive.
 */
export function compareCredits(one: Credit, other: Credit): number {
	const [subIds, otherSubIds] = [one.subIds.join("\n"), other.subIds.join("\n")];
	return (
		CREDIT_WORDS.indexOf(one.word) - CREDIT_WORDS.indexOf(other.word) ||
		(other.clickedAtMs ?? 0) - (one.clickedAtMs ?? 0) ||
		(one.partnershipId ?? 0) - (other.partnershipId ?? 0) ||
		(one.linkId ?? 0) - (other.linkId ?? 0) ||
		(subIds === otherSubIds ? 0 : subIds < otherSubIds ? -1 : 1)
	);
}

/** Percentages with four decimals, as domain/money writes them. */
export interface Rates {
	commission: string;
	fee: string;
}

/**
 * Returns the rates of a sale in a programme that credits partners. A sale that nobody brought has no commission and no fee.
 * A partnership's own rate takes precedence over the programme's. `partnership` is null for nobody.
 */
export function creditedRates(programme: Rates, partnership: { commission: string | null } | null): Rates {
	if (partnership === null) return { commission: "0.0000", fee: "0.0000" };
	return { commission: partnership.commission ?? programme.commission, fee: programme.fee };
}
