// The terms of a programme. Each term is checked separately, so that a form can show all mistakes at once,
// each at its field. Changes apply to new conversions, and recorded conversions keep their amounts and their
// approval window. Owners may change the name, the rule for the basket value and, within limits that the
// network's staff set, the approval window. Only staff may change the rates and the handling of pixels,
// because these are agreed with the network.

import {
	BASKET_RULES,
	type BasketRule,
	basketSentence,
	DEFAULT_BASKET_RULE,
	parseBasketNote,
	parseBasketRule,
} from "../domain/basket-rule.ts";
import { groupDigits } from "../domain/bytes.ts";
import { readName } from "../domain/display-name.ts";
import {
	type Checked,
	checkAll,
	type Fault,
	fault,
	listFaults,
	type Result,
	refuse,
	refuseAll,
	succeed,
} from "../domain/fault.ts";
import { compareForm } from "../domain/form-changes.ts";
import { parseRate, shortenRate } from "../domain/money.ts";
import { storedRate, writeByType, writeRates } from "../domain/rate.ts";
import { parseFixed, parseRatesByType, sayByType, sayRates } from "../domain/rate-words.ts";
import { type Actor, inProgramme, personIdOf, transactAs } from "../people/actor.ts";
import type { AccountsDeps } from "../people/deps.ts";
import { noteAudit } from "../store/queries/audit.ts";
import { lockProgramme, type Programme, ratesOf, updateTerms } from "../store/queries/programmes.ts";

/** Maximum number of days of any term. It is ten years, so a larger number is a typing error. */
export const MAX_DAYS = 3_650;
export const DEFAULT_APPROVAL_DAYS = 30;
/** Default limits for the length of approval windows that owners may choose. Staff can set other limits. */
export const DEFAULT_APPROVAL_LIMITS = { min: 0, max: 90 } as const;
/** Number of days for which a parked conversion waits for the shop's own sale report. */
export const DEFAULT_PARKED_DAYS = 30;

export interface TermsInput {
	name: string;
	/** General commission as a percentage with up to four decimals. */
	commissionRate: string;
	/** Amount that is added to the percentage for each conversion. The default is 0. */
	commissionFixed?: string;
	feeRate: string;
	feeFixed?: string;
	/** Rates for single event types, as domain/rate-words.ts reads and writes them. By default there are none. */
	eventRates?: string;
	approvalDays: number;
	/** Shortest approval window, in days, that owners may choose. */
	approvalDaysMin?: number;
	approvalDaysMax?: number;
	parksPixels: boolean;
	parkedDays?: number;
	/** What the basket value contains, as a `BasketRule`. The default is the order's total. */
	basketRule?: string;
	/** Note that the programme adds to the rule for the basket value. By default it is empty. */
	basketNote?: string;
}

export type Terms = Required<TermsInput> & { basketRule: BasketRule };

export function parseTerms(input: TermsInput, currency: string): Checked<Terms> {
	const { min, max } = DEFAULT_APPROVAL_LIMITS;
	const least = parseDays(input.approvalDaysMin ?? min, 0, "approvalDaysMin");
	// If the agreed window is longer than the default limit, the limit is raised so that owners may keep that
	// window.
	const most = input.approvalDaysMax ?? Math.max(input.approvalDays || 0, max);
	return checkAll({
		name: readName(input.name, "the programme's"),
		commissionRate: parseRate(input.commissionRate, "commission"),
		commissionFixed: parseFixed(input.commissionFixed ?? "", currency, "commissionFixed"),
		feeRate: parseRate(input.feeRate, "fee"),
		feeFixed: parseFixed(input.feeFixed ?? "", currency, "feeFixed"),
		eventRates: parseEventRates(input.eventRates ?? "", currency),
		approvalDays: parseDays(input.approvalDays, 0, "approvalDays"),
		approvalDaysMin: least,
		approvalDaysMax: parseMost(most, least),
		parksPixels: succeed(input.parksPixels),
		parkedDays: parseDays(input.parkedDays ?? DEFAULT_PARKED_DAYS, 1, "parkedDays"),
		basketRule: parseBasketRule(input.basketRule ?? DEFAULT_BASKET_RULE, "basketRule"),
		basketNote: parseBasketNote(input.basketNote ?? "", "basketNote"),
	});
}

/** Checks the rates for event types, and returns their text in canonical form, so that two texts can be compared. */
function parseEventRates(text: string, currency: string): Result<string> {
	const parsed = parseRatesByType(text, currency, "eventRates");
	return parsed.ok ? succeed(sayByType(parsed.value, (rates) => sayRates(rates, currency))) : parsed;
}

/** Converts terms to columns. The terms must have been checked with the same currency. */
export function rowOfTerms(terms: Terms, currency: string) {
	const byType = parseRatesByType(terms.eventRates, currency, "eventRates");
	if (!byType.ok) throw new Error(`rates that were checked are not readable: ${terms.eventRates}`);
	return {
		name: terms.name,
		commission_rate: storedRate({ percent: terms.commissionRate, fixed: terms.commissionFixed }),
		fee_rate: storedRate({ percent: terms.feeRate, fixed: terms.feeFixed }),
		event_rates: writeByType(byType.value, writeRates),
		approval_days: terms.approvalDays,
		approval_days_min: terms.approvalDaysMin,
		approval_days_max: terms.approvalDaysMax,
		parks_pixels: terms.parksPixels ? 1 : 0,
		parked_days: terms.parkedDays,
		basket_rule: terms.basketRule,
		basket_note: terms.basketNote,
	} as const;
}

/** Writes all rates for the audit log, such as "8 % + 1.00 EUR, fee 2 %; LEAD: 5.00 EUR, fee 1.00 EUR". */
export function sayAllRates(terms: Terms, currency: string): string {
	const general = {
		commission: { percent: terms.commissionRate, fixed: terms.commissionFixed },
		fee: { percent: terms.feeRate, fixed: terms.feeFixed },
	};
	return [sayRates(general, currency), ...terms.eventRates.split("\n")]
		.filter((each) => each !== "")
		.join("; ");
}

export function termsOf(programme: Programme): Terms {
	const { commission, fee, byType } = ratesOf(programme);
	return {
		name: programme.name,
		commissionRate: commission.percent,
		commissionFixed: commission.fixed,
		feeRate: fee.percent,
		feeFixed: fee.fixed,
		eventRates: sayByType(byType, (rates) => sayRates(rates, programme.currency)),
		approvalDays: programme.approval_days,
		approvalDaysMin: programme.approval_days_min,
		approvalDaysMax: programme.approval_days_max,
		parksPixels: programme.parks_pixels === 1,
		parkedDays: programme.parked_days,
		basketRule: programme.basket_rule,
		basketNote: programme.basket_note,
	};
}

const DAYS_WORDS = {
	approvalDays: "The approval window is",
	approvalDaysMin: "The shortest approval window is",
	approvalDaysMax: "The longest approval window is",
	parkedDays: "A parked conversion waits",
} as const;

function parseDays(days: number, least: number, field: keyof typeof DAYS_WORDS): Result<number> {
	if (Number.isInteger(days) && days >= least && days <= MAX_DAYS) return succeed(days);
	const text = `${DAYS_WORDS[field]} a whole number of days from ${least} to ${groupDigits(MAX_DAYS)}.`;
	return refuse("invalid_days", text, field);
}

function parseMost(days: number, least: Result<number>): Result<number> {
	const parsed = parseDays(days, 0, "approvalDaysMax");
	if (!parsed.ok || !least.ok || parsed.value >= least.value) return parsed;
	const text = `The longest approval window must not be shorter than the shortest, ${least.value} days.`;
	return refuse("invalid_days", text, "approvalDaysMax");
}

/** Returns the refusal of a number of days that is outside the limits for owners. */
function outsideOwnersDays({
	approvalDaysMin: least,
	approvalDaysMax: most,
}: Pick<Terms, "approvalDaysMin" | "approvalDaysMax">): Fault {
	const range =
		least === most ? `${least} days` : `a whole number of days from ${least} to ${groupDigits(most)}`;
	const text = `The approval window of this programme is ${range}. Ask the network's staff for another.`;
	return fault("invalid_days", text, "approvalDays");
}

const STAFF_TERMS = [
	"commissionRate",
	"commissionFixed",
	"feeRate",
	"feeFixed",
	"eventRates",
	"approvalDaysMin",
	"approvalDaysMax",
	"parksPixels",
	"parkedDays",
] as const;

const TERMS = [
	"name",
	"approvalDays",
	"basketRule",
	"basketNote",
	...STAFF_TERMS,
] as const satisfies readonly (keyof Terms)[];

const LABELS: Readonly<Record<keyof Terms, string>> = {
	name: "name",
	commissionRate: "commission",
	commissionFixed: "fixed commission",
	feeRate: "fee",
	feeFixed: "fixed fee",
	eventRates: "rates for event types",
	approvalDays: "approval days",
	approvalDaysMin: "shortest approval days",
	approvalDaysMax: "longest approval days",
	parksPixels: "parks pixels",
	parkedDays: "parked days",
	basketRule: "basket value",
	basketNote: "note on the basket value",
};

/** Changed term with its old and new value in words for people. */
export interface TermChange {
	term: keyof Terms;
	before: string;
	after: string;
}

/**
 * Changes a programme's terms and resolves to the changes. `shown` is what the form contained when it was
 * opened, and only differences from it are saved. The other terms stay as they are, even if another person
 * has changed them since.
 */
export async function changeProgramme(
	{ store, clock }: Pick<AccountsDeps, "store" | "clock">,
	actor: Actor,
	programmeId: number,
	wanted: Partial<TermsInput>,
	shown: Partial<TermsInput> = {},
): Promise<Checked<readonly TermChange[]>> {
	const changed = await transactAs<readonly TermChange[]>(
		store,
		actor,
		inProgramme(programmeId),
		async (trx) => {
			const programme = await lockProgramme(trx, programmeId);
			if (programme === undefined) {
				return refuseAll([fault("unknown_programme", "This programme does not exist.")]);
			}
			const stored = termsOf(programme);
			const { currency } = programme;
			const judged = judgeChange(actor, currency, stored, wanted, shown);
			if (!judged.ok) return judged;
			if (judged.value.length === 0) return succeed([]);
			const after: Terms = { ...stored, ...Object.fromEntries(judged.value) };
			const nowMs = clock.nowMs();
			await updateTerms(trx, programme, rowOfTerms(after, currency), nowMs);
			const changes = judged.value.map(([term]) => ({
				term,
				before: sayTerm(term, stored[term], currency),
				after: sayTerm(term, after[term], currency),
			}));
			const entry = {
				personId: personIdOf(actor),
				programmeId,
				action: "programme.changed",
				subject: programme.public_id,
				detail: changes.map(({ term, before, after }) => `${LABELS[term]}: ${before} → ${after}`).join("; "),
			} as const;
			await noteAudit(trx, entry, nowMs);
			return succeed(changes);
		},
	);
	if (changed.ok && changed.value.length > 0) store.announceChange(programmeId);
	return listFaults(changed);
}

function judgeChange(
	{ kind }: Actor,
	currency: string,
	stored: Terms,
	wantedInput: Partial<TermsInput>,
	shownInput: Partial<TermsInput>,
): Checked<readonly (readonly [keyof Terms, Terms[keyof Terms]])[]> {
	const isOwner = kind === "shop";
	const parsed = parseTerms({ ...stored, ...wantedInput }, currency);
	if (!parsed.ok) {
		// `parseTerms` checks against the limits for staff, so its refusal is replaced by one that names the limits for
		// owners.
		const sayLimits = (each: Fault) => (each.field === "approvalDays" ? outsideOwnersDays(stored) : each);
		return isOwner ? refuseAll(parsed.faults.map(sayLimits)) : parsed;
	}
	const wanted = parsed.value;
	const seen = parseTerms({ ...stored, ...shownInput }, currency);
	const shown = seen.ok ? seen.value : stored;
	const { changed, overtaken } = compareForm(TERMS, { shown, wanted, stored });
	if (overtaken.length > 0) {
		return refuseAll(
			overtaken.map((term) => {
				const now = sayTerm(term, stored[term], currency);
				const text = `Another person changed ${LABELS[term]} to ${now} while this page was open. Nothing was saved. Check it and save again.`;
				return fault("changed_meanwhile", text, term);
			}),
		);
	}
	const forbidden = isOwner ? STAFF_TERMS.filter((term) => changed.includes(term)) : [];
	if (forbidden.length > 0) {
		return refuseAll(
			forbidden.map((term) => {
				const text = `Only the network's staff may change ${LABELS[term]}. Ask them; nothing was changed.`;
				return fault("not_allowed", text, term);
			}),
		);
	}
	const { approvalDays: days } = wanted;
	const isOutside = days < stored.approvalDaysMin || days > stored.approvalDaysMax;
	if (isOwner && changed.includes("approvalDays") && isOutside) return refuseAll([outsideOwnersDays(stored)]);
	return succeed(changed.map((term) => [term, wanted[term]] as const));
}

function sayTerm(term: keyof Terms, value: string | number | boolean, currency: string): string {
	switch (term) {
		case "commissionRate":
		case "feeRate":
			return `${shortenRate(String(value))} %`;
		case "commissionFixed":
		case "feeFixed":
			return `${value} ${currency}`;
		case "eventRates":
			return String(value).replaceAll("\n", " and ") || "none";
		case "basketRule": {
			const rule = BASKET_RULES.find((known) => known === value);
			return rule === undefined ? String(value) : `“${basketSentence(rule)}”`;
		}
		case "basketNote":
			return value === "" ? "none" : `“${value}”`;
		default:
			return typeof value === "boolean" ? (value ? "yes" : "no") : String(value);
	}
}
