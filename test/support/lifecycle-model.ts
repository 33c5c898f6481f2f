// The one model of a conversion's lifecycle that tests hold the service against. Written from contract sections 2, 3
// and 6 alone: it has its own table and its own arithmetic and imports no code of ours, so that a mistake in src/domain
// is not repeated here. Which of two credits is better, and who brought a sale by one report, it is told.
//
// `carryOut` and `endWindow` say what one act or one ended window leads to. Where a call was not answered, or a window
// may or may not have been noticed, several states are possible: `explain` and `letWindowsPass` follow all of them,
// and every answer narrows them.

import type { Click } from "../../src/domain/click-token.ts";
import type { Credit } from "../../src/domain/credit.ts";

export interface Terms {
	currency: string;
	currencyDigits: number;
	commissionRate: string;
	feeRate: string;
	approvalDays: number;
	parkedDays: number;
	parksPixels: boolean;
	/** Whether a signed repeat says better who brought the sale. Left out where the programme credits nobody. */
	isBetter?(told: Credit, known: Credit): boolean;
}

/** Who brought a sale by one report. */
export interface Brought {
	credit: Credit;
	/** What follows from it; "0" for nobody. */
	commissionRate: string;
	feeRate: string;
}

export interface LifeState {
	status: "NONE" | "PARKED" | "EXPIRED" | "RECORDED" | "APPROVED" | "REJECTED" | "REVERSED";
	basketValue: string;
	/** What the pixel had said of one that the shop's server reported later. */
	pixelBasketValue: string | null;
	/** Only a pixel, which anyone can call, has reported it so far. */
	isUnsigned: boolean;
	reason: string | null;
	test: boolean;
	occurredAtMs: number;
	windowEndsAtMs: number | null;
	/** Null where nobody is credited, or the shop's server has not spoken yet. */
	brought: Brought | null;
	/** Owed so far, by name. */
	events: ReadonlyMap<string, OwedBody>;
	/** The order's conversion before this one, which only a pixel had reported and which was over. */
	replaced: LifeState | null;
}

/** The body's fields that follow from the conversion's life; conversionId and programId are names, not facts. */
export interface OwedBody {
	status: string;
	basketValue: string;
	commission: string;
	networkFee: string;
	reason: string | null;
	test: boolean;
	occurredAt: string;
}

export type Act =
	| {
			kind: "report";
			source: "postback" | "pixel" | "test";
			basketValue: string;
			occurredAtMs: number | null;
			isTest: boolean;
			/** What it says of who brought it, and who that is if it was sold then. */
			openClicks?: (() => readonly (Click | null)[]) | undefined;
			couponCode?: string | undefined;
			bring?(soldAtMs: number): Brought;
	  }
	| { kind: "approve" }
	| { kind: "reject" | "reverse"; reason: string };

/** An act and how it was answered: an outcome word, a fault's code, or null when no answer came. */
export interface Answered {
	act: Act;
	/** The clock of the process that carried it out. */
	nowMs: number;
	answer: string | null;
}

export const UNKNOWN: LifeState = {
	status: "NONE",
	basketValue: "",
	pixelBasketValue: null,
	isUnsigned: false,
	reason: null,
	test: false,
	occurredAtMs: 0,
	windowEndsAtMs: null,
	brought: null,
	events: new Map(),
	replaced: null,
};

const DAY_MS = 24 * 60 * 60_000;

export interface Step {
	/** The outcome word, or the code of the refusal. */
	answer: string;
	next: LifeState;
}

/** The states after these acts, carried out in any order, that agree with every answer; none when it is broken. */
export function explain(
	states: readonly LifeState[],
	acts: readonly Answered[],
	terms: Terms,
	owes: boolean,
): LifeState[] {
	if (acts.length === 0) return [...states];
	const reached: LifeState[] = [];
	for (const state of states) {
		for (const [index, { act, nowMs, answer }] of acts.entries()) {
			const rest = acts.filter((_, at) => at !== index);
			const step = carryOut(state, act, nowMs, terms, owes);
			if (answer === null) reached.push(...explain([state], rest, terms, owes));
			if (answer === null || answer === step.answer) reached.push(...explain([step.next], rest, terms, owes));
		}
	}
	return withoutTwins(reached);
}

/** What the windows may have done by `byMs`; `owed` lists whether the programme was owed events meanwhile. */
export function letWindowsPass(
	states: readonly LifeState[],
	byMs: number,
	terms: Terms,
	owed: readonly boolean[],
): LifeState[] {
	const reached = [...states];
	for (const state of states) {
		for (const owes of owed) reached.push(endWindow(state, byMs, terms, owes));
	}
	return withoutTwins(reached);
}

/** What the shop recorded is approved, what was parked expires; anything else stays as it is. */
export function endWindow(state: LifeState, nowMs: number, terms: Terms, owes: boolean): LifeState {
	if (state.windowEndsAtMs === null || state.windowEndsAtMs > nowMs) return state;
	if (state.status === "PARKED") return { ...state, status: "EXPIRED", windowEndsAtMs: null };
	return state.status === "RECORDED" && !state.isUnsigned
		? move(state, "APPROVED", null, terms, owes)
		: state;
}

/** `owes`: the programme has a Postback URL and a secret at that moment; without them nothing is owed, ever. */
export function carryOut(state: LifeState, act: Act, nowMs: number, terms: Terms, owes: boolean): Step {
	switch (act.kind) {
		case "report":
			return report(state, act, nowMs, terms, owes);
		case "approve":
			return decide(state, ["RECORDED"], "APPROVED", null, terms, owes);
		case "reject":
			return decide(state, ["RECORDED"], "REJECTED", act.reason, terms, owes);
		case "reverse":
			return decide(state, ["RECORDED", "APPROVED"], "REVERSED", act.reason, terms, owes);
		default:
			return act satisfies never;
	}
}

function report(
	state: LifeState,
	{ source, basketValue, occurredAtMs, isTest, bring }: Extract<Act, { kind: "report" }>,
	nowMs: number,
	terms: Terms,
	owes: boolean,
): Step {
	const isUnsigned = source === "pixel";
	// Anyone can call a pixel: whatever it says, it credits nobody.
	const broughtAt = isUnsigned || terms.isBetter === undefined ? undefined : bring;
	const recorded: LifeState = {
		...state,
		status: "RECORDED",
		basketValue,
		isUnsigned,
		test: isTest,
		occurredAtMs: occurredAtMs ?? nowMs,
		windowEndsAtMs: isUnsigned ? null : nowMs + terms.approvalDays * DAY_MS,
		brought: broughtAt?.(occurredAtMs ?? nowMs) ?? null,
	};
	const announced = owes ? announce(recorded, "conversion.recorded", terms) : recorded;
	if (state.status === "NONE") {
		if (!isUnsigned || !terms.parksPixels) return { answer: "RECORDED", next: announced };
		const windowEndsAtMs = nowMs + terms.parkedDays * DAY_MS;
		return { answer: "PARKED", next: { ...recorded, status: "PARKED", windowEndsAtMs } };
	}
	if (isUnsigned) return { answer: "DUPLICATE", next: state };
	if (!state.isUnsigned) {
		// A repeat is about the sale as it is on record, and a test says nothing of a sale.
		const isOpen = state.status === "RECORDED" && state.test === isTest;
		const known = isOpen ? state.brought?.credit : undefined;
		const told = broughtAt?.(state.occurredAtMs);
		const takes = known && told && terms.isBetter?.(told.credit, known);
		return { answer: "DUPLICATE", next: takes ? { ...state, brought: told } : state };
	}
	const pixelBasketValue = state.basketValue;
	switch (state.status) {
		case "PARKED":
		case "RECORDED":
			// A sale that a pixel reported is no test, and does not become one.
			if (isTest) return { answer: "DUPLICATE", next: state };
			// Rule 1 of section 3: no event.
			return { answer: "CONFIRMED", next: { ...recorded, pixelBasketValue } };
		case "EXPIRED":
		case "REJECTED":
		case "REVERSED": {
			// Each event is sent once per conversion, so it is another conversion.
			const first = { ...recorded, reason: null, events: new Map(), pixelBasketValue, replaced: state };
			return { answer: "RECORDED", next: owes ? announce(first, "conversion.recorded", terms) : first };
		}
		default:
			return { answer: "DUPLICATE", next: state };
	}
}

function decide(
	state: LifeState,
	from: readonly string[],
	to: "APPROVED" | "REJECTED" | "REVERSED",
	reason: string | null,
	terms: Terms,
	owes: boolean,
): Step {
	if (state.status === "NONE") return { answer: "unknown_order", next: state };
	if (state.status === to) return { answer: to, next: state };
	if (!from.includes(state.status)) return { answer: "move_not_allowed", next: state };
	return { answer: to, next: move(state, to, reason, terms, owes) };
}

function move(
	state: LifeState,
	to: "APPROVED" | "REJECTED" | "REVERSED",
	reason: string | null,
	terms: Terms,
	owes: boolean,
): LifeState {
	const moved: LifeState = { ...state, status: to, reason, windowEndsAtMs: null };
	return owes ? announce(moved, `conversion.${to.toLowerCase()}`, terms) : moved;
}

function announce(state: LifeState, name: string, terms: Terms): LifeState {
	const { status, basketValue, reason, test } = state;
	const body: OwedBody = {
		status,
		basketValue,
		...amountsOf(state, terms),
		reason,
		test,
		occurredAt: new Date(state.occurredAtMs).toISOString(),
	};
	return { ...state, events: new Map([...state.events, [name, body]]) };
}

/** What nobody brought has neither, where partners are credited. */
export function amountsOf(
	{ basketValue, brought }: LifeState,
	terms: Terms,
): Pick<OwedBody, "commission" | "networkFee"> {
	const nobody = { commissionRate: "0", feeRate: "0" };
	const { commissionRate, feeRate } = terms.isBetter === undefined ? terms : (brought ?? nobody);
	return {
		commission: share(basketValue, commissionRate, terms.currencyDigits),
		networkFee: share(basketValue, feeRate, terms.currencyDigits),
	};
}

/** Half up, in whole hundredths of a percent of the smallest coin. */
function share(basketValue: string, ratePercent: string, digits: number): string {
	const [whole = "0", decimals = ""] = ratePercent.split(".");
	const tenThousandths = BigInt(whole + decimals.padEnd(4, "0"));
	const product = BigInt(basketValue.replace(".", "")) * tenThousandths;
	const coins = (product * 2n + 1_000_000n) / 2_000_000n;
	const text = coins.toString().padStart(digits + 1, "0");
	return digits === 0 ? text : `${text.slice(0, -digits)}.${text.slice(-digits)}`;
}

function withoutTwins(states: readonly LifeState[]): LifeState[] {
	if (states.length < 2) return [...states];
	const known = new Map<string, LifeState>();
	for (const state of states) {
		const replaced = [...(state.replaced?.events ?? [])];
		known.set(JSON.stringify({ ...state, events: [...state.events, ...replaced] }), state);
	}
	return [...known.values()];
}
