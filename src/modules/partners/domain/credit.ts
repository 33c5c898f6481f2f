// Decides which partner is credited with a sale. Each click ID and each coupon code of a sale report yields a
// possible credit with a reason code, and the best one wins. Only reports that the shop's server signed are
// judged here, because anyone can call a pixel.

import { DAY_MS, MINUTE_MS } from "#core/domain/time.ts";
import { type Click, NO_SUB_IDS, type SubIds } from "./click-token.ts";

/**
 * All reason codes of a credit, the best first. ASSIGNED is a decision of staff, and no report overrides it.
 */
export const CREDIT_WORDS = [
	"ASSIGNED",
	"CODE",
	"CLICK",
	"CLICK_ENDED",
	"CLICK_TOO_OLD",
	"CLICK_AFTER_SALE",
	"OTHER_PROGRAMME",
	"CLICK_UNREADABLE",
	"UNKNOWN_CODE",
	"NO_SIGNAL",
] as const;
export type CreditWord = (typeof CREDIT_WORDS)[number];
/**
 * Reason code if a click ID or coupon code is sent to a programme that does not credit partners. It is
 * answered but not stored.
 */
export const NOT_CREDITING = "NOT_CREDITING";

export interface Credit {
	/** The partnership that is credited, or null if nobody is. */
	partnershipId: number | null;
	word: CreditWord;
	/**
	 * The link of the click that decided the credit, even if that click credits nobody. Null if no click
	 * decided it.
	 */
	linkId: number | null;
	clickedAtMs: number | null;
	subIds: SubIds;
}

export interface SaleSignals {
	/**
	 * The clicks in the order in which the shop sent them. Null means that the click ID could not be decrypted.
	 */
	clicks: readonly (Click | null)[];
	/**
	 * The active partnership that has the coupon code. Null if no partnership has it, undefined if no code was
	 * sent.
	 */
	codePartnershipId: number | null | undefined;
	programmeId: number;
	soldAtMs: number;
	/** Number of days after a click in which a sale is credited to it. */
	windowDays: number;
	/** Returns the time before which clicks of a partnership credit nobody, or null if all of them count. */
	clicksEndMs(partnershipId: number): number | null;
}

export const MAX_CLICK_ID_CHARACTERS = 400;
export const MAX_COUPON_CODE_CHARACTERS = 64;
/** Maximum number of coupon codes in a report. Carts rarely have more than three. */
export const MAX_COUPON_CODES = 10;
/** Maximum number of click IDs in a report. A shop may send the last two, joined by a dot. */
const CLICKS_READ = 2;
/** Tolerated difference between the clock of the shop and that of this service. */
const AFTER_SALE_TOLERANCE_MS = 5 * MINUTE_MS;

/**
 * Splits the reported text into click IDs. A text that is too long cannot consist of click IDs of this
 * service, and counts as one invalid click ID.
 */
export function readClickIds(clickId: string): readonly string[] {
	if (clickId.length > MAX_CLICK_ID_CHARACTERS) return [""];
	const ids = clickId.split(".").filter((id) => id !== "");
	return ids.length === 0 ? [""] : ids.slice(-CLICKS_READ);
}

/**
 * Returns the form of a coupon code for comparisons. It ignores case and the two ways to encode letters such
 * as "é".
 */
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
 * Returns whether a click belongs to this partnership. After a backup is restored, a partnership's id can be
 * given to another partnership, so a click from before the partnership was created belongs to a different
 * one.
 */
export function isClickOf(click: Click | null, partnership: { createdAtMs: number } | undefined): boolean {
	return click !== null && partnership !== undefined && click.atMs >= partnership.createdAtMs;
}

/**
 * Returns the time before which clicks of a partnership credit nobody, or null if all its clicks count. While
 * the partnership is ended together with its clicks, no click counts, because links may still hand out click
 * IDs for some seconds after the end.
 */
export function clicksEndMs(partnership: {
	endedAtMs: number | null;
	clicksEndedAtMs: number | null;
}): number | null {
	const { endedAtMs, clicksEndedAtMs } = partnership;
	if (clicksEndedAtMs === null || endedAtMs === null) return clicksEndedAtMs;
	return Number.POSITIVE_INFINITY;
}

/**
 * Returns the credit for a coupon code. A code that no partnership has ranks below every click, so it never
 * displaces one.
 */
function creditByCode(partnershipId: number | null): Credit {
	return { ...NOBODY, partnershipId, word: partnershipId === null ? "UNKNOWN_CODE" : "CODE" };
}

function creditByClick(
	click: Click | null,
	{
		programmeId,
		soldAtMs,
		windowDays,
		clicksEndMs: findEndMs,
	}: Omit<SaleSignals, "clicks" | "codePartnershipId">,
): Credit {
	if (click === null) return { ...NOBODY, word: "CLICK_UNREADABLE" };
	const { atMs, partnershipId, linkId, subIds } = click;
	if (click.programmeId !== programmeId) return { ...NOBODY, word: "OTHER_PROGRAMME" };
	// The refused click is stored too, because the page of the sale shows which link was clicked and when.
	const refused = { ...NOBODY, linkId, clickedAtMs: atMs };
	if (atMs > soldAtMs + AFTER_SALE_TOLERANCE_MS) return { ...refused, word: "CLICK_AFTER_SALE" };
	if (atMs < soldAtMs - windowDays * DAY_MS) return { ...refused, word: "CLICK_TOO_OLD" };
	if (atMs < (findEndMs(partnershipId) ?? Number.NEGATIVE_INFINITY))
		return { ...refused, word: "CLICK_ENDED" };
	return { partnershipId, word: "CLICK", linkId, clickedAtMs: atMs, subIds };
}

/**
 * Orders credits, the better one first: by reason code, then the newer of two clicks. Ids decide all other
 * cases, so two different credits never compare as equal. The best credit of an order is therefore the same
 * in whatever order its reports arrive.
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
