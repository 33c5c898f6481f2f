// Who brought a sale. The first row that fits is the answer, and every answer has a word, so that a shop learns why nobody
// was credited. Only what the shop's server signed is judged here: anyone can call a pixel.

import type { Click } from "./click-token.ts";
import { DAY_MS, MINUTE_MS } from "./time.ts";

/** The best first. ASSIGNED is what staff decide, and stands. */
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
/** In place of a word, where a shop sends a field and the programme credits nobody. Nothing is stored. */
export const NOT_CREDITING = "NOT_CREDITING";

/** With the names of its columns. */
export interface Credit {
	/** Null: nobody. */
	partnership_id: number | null;
	word: CreditWord;
	link_id: number | null;
	clicked_at_ms: number | null;
	sub_1: string;
	sub_2: string;
	sub_3: string;
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
	if (clickId.length > MAX_CLICK_ID_CHARACTERS) return [""];
	const ids = clickId.split(".").filter((id) => id !== "");
	return ids.length === 0 ? [""] : ids.slice(-CLICKS_READ);
}

/** Codes are compared without case, and as they look: "é" may be one character or two. */
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
	partnership_id: null,
	word: "NO_SIGNAL",
	link_id: null,
	clicked_at_ms: null,
	sub_1: "",
	sub_2: "",
	sub_3: "",
};

/** Not from before a backup was restored: the partnership of its number may be another one since, or none. */
export function isClickOf(click: Click | null, partnership: { created_at_ms: number } | undefined): boolean {
	return click !== null && partnership !== undefined && click.atMs >= partnership.created_at_ms;
}

/** An unknown code takes nothing away from a click. */
function creditByCode(partnershipId: number | null): Credit {
	return { ...NOBODY, partnership_id: partnershipId, word: partnershipId === null ? "UNKNOWN_CODE" : "CODE" };
}

function creditByClick(
	click: Click | null,
	{ programmeId, soldAtMs, windowDays }: Omit<SaleSignals, "clicks" | "codePartnershipId">,
): Credit {
	if (click === null) return { ...NOBODY, word: "CLICK_UNREADABLE" };
	const { atMs, subIds } = click;
	if (click.programmeId !== programmeId) return { ...NOBODY, word: "OTHER_PROGRAMME" };
	if (atMs > soldAtMs + AFTER_SALE_TOLERANCE_MS) return { ...NOBODY, word: "CLICK_AFTER_SALE" };
	if (atMs < soldAtMs - windowDays * DAY_MS) return { ...NOBODY, word: "CLICK_TOO_OLD" };
	const [sub_1, sub_2, sub_3] = subIds;
	const by = { partnership_id: click.partnershipId, link_id: click.linkId, clicked_at_ms: atMs };
	return { ...by, word: "CLICK", sub_1, sub_2, sub_3 };
}

/**
 * The better one first: by its word, and of two clicks the newer. What is left is settled by ids, so that no two credits
 * that differ are equally good: the best of all that an order was reported with is the same in whatever order they came.
 */
export function compareCredits(one: Credit, other: Credit): number {
	const subIds = ({ sub_1, sub_2, sub_3 }: Credit) => [sub_1, sub_2, sub_3].join("\n");
	return (
		CREDIT_WORDS.indexOf(one.word) - CREDIT_WORDS.indexOf(other.word) ||
		(other.clicked_at_ms ?? 0) - (one.clicked_at_ms ?? 0) ||
		(one.partnership_id ?? 0) - (other.partnership_id ?? 0) ||
		(one.link_id ?? 0) - (other.link_id ?? 0) ||
		(subIds(one) === subIds(other) ? 0 : subIds(one) < subIds(other) ? -1 : 1)
	);
}

/** Percentages with four decimals: see domain/money. */
export interface Rates {
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
