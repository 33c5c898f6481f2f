// The model of a conversion's lifecycle, against which tests check the service. It is written from contract
// sections 2, 3 and 6, and for rates from docs/partners.md, with its own table and arithmetic. It imports no
// code of the product, so that it does not repeat a mistake of src/core/domain. The caller decides which of two
// credits is better, which partner a report credits, and which rates applied at a time.
//
// `carryOut` and `endWindow` return the result of one action or one ended window. If a call was not answered,
// or it is unknown whether an ended window was processed, several states are possible. `explain` and
// `letWindowsPass` return all of them, and every later answer excludes some.

import type { Click } from "#modules/partners/domain/click-token.ts";
import type { Credit } from "#modules/partners/domain/credit.ts";

export interface Terms {
	currency: string;
	currencyDigits: number;
	/** Returns the programme's rates at a time. */
	ratesAt(atMs: number): TimedRates;
	approvalDays: number;
	parkedDays: number;
	parksPixels: boolean;
	/**
	 * Returns whether a signed repeat brings a better credit than the current one. Undefined if the programme
	 * credits nobody.
	 */
	isBetter?(candidate: Credit, current: Credit): boolean;
}

/** Percentages of the basket. */
export interface TimedRates {
	commissionRate: string;
	feeRate: string;
}

/** Partner that a report credits, with the commission of that partner. */
export interface Brought {
	credit: Credit;
	/** Commission that this partner had when the conversion was recorded or confirmed. "0" if nobody is credited. */
	commissionRate: string;
}

export interface LifeState {
	status: "NONE" | "PARKED" | "EXPIRED" | "RECORDED" | "APPROVED" | "REJECTED" | "REVERSED";
	basketValue: string;
	/** Amount that a pixel reported, if the shop's server reported the order later. */
	pixelBasketValue: string | null;
	/** True as long as only a pixel, which anyone can call, has reported the order. */
	isUnsigned: boolean;
	reason: string | null;
	test: boolean;
	occurredAtMs: number;
	windowEndsAtMs: number | null;
	/**
	 * Time of the recording, or of the confirmation if a pixel had reported the sale. The rates of this time never
	 * change.
	 */
	ratedAtMs: number;
	/** Rates of the programme at the time `ratedAtMs`. */
	rates: TimedRates;
	/** The credited partner. Null if nobody is credited, or the shop's server has not reported yet. */
	brought: Brought | null;
	/** First partner that was credited, with the commission of that credit. Null if no partner was credited yet. */
	first: Brought | null;
	/** Refunds in the order in which they were made. The `basketValue` of each is the value that it left. */
	refunds: readonly ModelRefund[];
	/** Events created so far, by name. */
	events: ReadonlyMap<string, OwedBody>;
	/**
	 * Earlier conversion of the same order, which only a pixel had reported and which had ended. Null if there is none.
	 */
	replaced: LifeState | null;
}

export interface ModelRefund {
	refundId: string;
	amount: string;
	/** Value that was left after the refund. */
	left: string;
}

/**
 * Fields of a callback's body that depend on the conversion's history. conversionId and programId are left out,
 * because they are only names.
 */
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
			/** Returns the click IDs of the report after decryption. */
			openClicks?: (() => readonly (Click | null)[]) | undefined;
			couponCodes?: readonly string[] | undefined;
			/** Returns the credit for a sale at `soldAtMs`, with the commission that the partner had at `ratedAtMs`. */
			bring?(soldAtMs: number, ratedAtMs: number): Brought;
	  }
	| { kind: "approve" }
	| { kind: "reject" | "reverse"; reason: string };

/**
 * Actions that change the amounts of a conversion. They leave its status unchanged, except that a refund of the whole
 * rest is a reversal.
 */
export type MoneyAct =
	| { kind: "refund"; refundId: string; amount: string; reason: string }
	/** Staff credit the conversion to another partner, or to nobody. */
	| { kind: "assign"; partner: string; bring(ratedAtMs: number): Brought };

/** An action and its answer, which is an outcome, a fault code, or null if no answer came. */
export interface Answered {
	act: Act | MoneyAct;
	/** Time by the clock of the process that carried the action out. */
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
	ratedAtMs: 0,
	rates: { commissionRate: "0", feeRate: "0" },
	brought: null,
	first: null,
	refunds: [],
	events: new Map(),
	replaced: null,
};

const DAY_MS = 24 * 60 * 60_000;

export interface Step {
	/** The outcome word, or the code of the refusal. */
	answer: string;
	next: LifeState;
}

/**
 * Returns the states that are possible after these actions in any order and that agree with every answer. An empty
 * list means that a promise is broken.
 */
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

/**
 * Returns the states that are possible at `byMs`, because ended windows may have been processed by then.
 * `owed` lists whether the programme was owed events in that time.
 */
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

/**
 * Returns the state after a window has ended. A recorded conversion is approved and a parked one expires.
 * Other states do not change.
 */
export function endWindow(state: LifeState, nowMs: number, terms: Terms, owes: boolean): LifeState {
	if (state.windowEndsAtMs === null || state.windowEndsAtMs > nowMs) return state;
	if (state.status === "PARKED") return { ...state, status: "EXPIRED", windowEndsAtMs: null };
	return state.status === "RECORDED" && !state.isUnsigned
		? move(state, "APPROVED", null, terms, owes)
		: state;
}

/**
 * Carries out an action and returns the answer and the next state. `owes` says whether the programme has a Postback
 * URL and a secret at that moment, without which no event is created.
 */
export function carryOut(
	state: LifeState,
	act: Act | MoneyAct,
	nowMs: number,
	terms: Terms,
	owes: boolean,
): Step {
	switch (act.kind) {
		case "report":
			return report(state, act, nowMs, terms, owes);
		case "approve":
			return decide(state, ["RECORDED"], "APPROVED", null, terms, owes);
		case "reject":
			return decide(state, ["RECORDED"], "REJECTED", act.reason, terms, owes);
		case "reverse":
			return decide(state, ["RECORDED", "APPROVED"], "REVERSED", act.reason, terms, owes);
		case "refund":
			return refund(state, act, terms, owes);
		case "assign":
			return assign(state, act.bring(state.ratedAtMs), terms);
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
	// Anyone can call a pixel, so a pixel never credits anybody.
	const broughtAt = isUnsigned || terms.isBetter === undefined ? undefined : bring;
	const brought = broughtAt?.(occurredAtMs ?? nowMs, nowMs) ?? null;
	const recorded: LifeState = {
		...state,
		status: "RECORDED",
		basketValue,
		isUnsigned,
		test: isTest,
		occurredAtMs: occurredAtMs ?? nowMs,
		windowEndsAtMs: isUnsigned ? null : nowMs + terms.approvalDays * DAY_MS,
		ratedAtMs: nowMs,
		rates: terms.ratesAt(nowMs),
		brought,
		first: isSomebody(brought) ? brought : null,
	};
	const announced = owes ? announce(recorded, "conversion.recorded", terms) : recorded;
	if (state.status === "NONE") {
		if (!isUnsigned || !terms.parksPixels) return { answer: "RECORDED", next: announced };
		const windowEndsAtMs = nowMs + terms.parkedDays * DAY_MS;
		return { answer: "PARKED", next: { ...recorded, status: "PARKED", windowEndsAtMs } };
	}
	if (isUnsigned) return { answer: "DUPLICATE", next: state };
	if (!state.isUnsigned) {
		// A repeated report changes a sale only if it is open and of the same kind, because a test says nothing about a
		// real sale.
		const isOpen = state.status === "RECORDED" && state.test === isTest;
		const current = isOpen ? state.brought?.credit : undefined;
		const candidate = broughtAt?.(state.occurredAtMs, state.ratedAtMs);
		const takes = current && candidate && terms.isBetter?.(candidate.credit, current);
		return { answer: "DUPLICATE", next: takes ? creditLater(state, candidate) : state };
	}
	const pixelBasketValue = state.basketValue;
	switch (state.status) {
		case "PARKED":
		case "RECORDED":
			// A sale that a pixel reported is not a test, and a signed test report does not make it one.
			if (isTest) return { answer: "DUPLICATE", next: state };
			// By section 3 rule 1, a confirmation creates no event.
			return { answer: "CONFIRMED", next: { ...recorded, pixelBasketValue } };
		case "EXPIRED":
		case "REJECTED":
		case "REVERSED": {
			// A conversion announces each event only once, so a sale that is recorded again gets a new conversion. Refunds
			// stay with the old one.
			const fresh = { reason: null, refunds: [], events: new Map() };
			const first = { ...recorded, ...fresh, pixelBasketValue, replaced: state };
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

/**
 * Refunds a part of the value. A repeated refund gets the same answer in every status. A refund of the whole rest is a
 * reversal, which leaves the amounts as they were.
 */
function refund(
	state: LifeState,
	{ refundId, amount, reason }: Extract<MoneyAct, { kind: "refund" }>,
	terms: Terms,
	owes: boolean,
): Step {
	const refused = (answer: string): Step => ({ answer, next: state });
	if (state.status === "NONE") return refused("unknown_order");
	const known = state.refunds.find((earlier) => earlier.refundId === refundId);
	if (known !== undefined) {
		if (known.amount !== amount) return refused("refund_id_used");
		return refused(coinsOf(known.left) === 0n ? "REVERSED" : "REFUNDED");
	}
	if (state.status !== "RECORDED" && state.status !== "APPROVED") return refused("move_not_allowed");
	// The shop vouches for the sale if its server reports it or if it approves it.
	if (state.isUnsigned && state.status === "RECORDED") return refused("not_confirmed");
	const present = coinsOf(state.basketValue);
	if (present === 0n) return refused("nothing_to_refund");
	const left = present - coinsOf(amount);
	if (left < 0n) return refused("refund_above_value");
	const made = { refundId, amount, left: writeCoins(left, terms.currencyDigits) };
	const refunds = [...state.refunds, made];
	if (left === 0n) {
		return { answer: "REVERSED", next: move({ ...state, refunds }, "REVERSED", reason, terms, owes) };
	}
	return { answer: "REFUNDED", next: { ...state, basketValue: made.left, refunds } };
}

function isSomebody(brought: Brought | null): boolean {
	return brought !== null && brought.credit.partnershipId !== null;
}

/**
 * Credits the conversion after it was recorded. Each partner keeps the commission that it had at the time of the
 * recording. The first partner keeps the commission that was recorded.
 */
function creditLater(state: LifeState, candidate: Brought): LifeState {
	const { partnershipId } = candidate.credit;
	const known = [state.brought, state.first].find((one) => one?.credit.partnershipId === partnershipId);
	const brought = {
		credit: candidate.credit,
		commissionRate: known?.commissionRate ?? candidate.commissionRate,
	};
	return { ...state, brought, first: state.first ?? (isSomebody(brought) ? brought : null) };
}

/**
 * Credits the conversion to the partner that staff name. No event announces this. Naming the credited partner again
 * changes nothing.
 */
function assign(state: LifeState, brought: Brought, terms: Terms): Step {
	const refused = (answer: string): Step => ({ answer, next: state });
	if (terms.isBetter === undefined) return refused("not_allowed");
	const isVouchedFor = state.status === "RECORDED" && !state.isUnsigned;
	if (!isVouchedFor && state.status !== "APPROVED") return refused("wrong_status");
	const present = state.brought?.credit;
	const isSame =
		present !== undefined &&
		present.partnershipId === brought.credit.partnershipId &&
		(present.partnershipId !== null || present.word === brought.credit.word);
	return { answer: "ASSIGNED", next: isSame ? state : creditLater(state, brought) };
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

/**
 * Returns the commission and the network fee. Both are zero if the programme credits partners and the sale has none.
 */
export function amountsOf(
	{ basketValue, brought, rates }: LifeState,
	terms: Terms,
): Pick<OwedBody, "commission" | "networkFee"> {
	const credited = isSomebody(brought)
		? { commissionRate: brought?.commissionRate ?? "0", feeRate: rates.feeRate }
		: { commissionRate: "0", feeRate: "0" };
	const { commissionRate, feeRate } = terms.isBetter === undefined ? rates : credited;
	return {
		commission: share(basketValue, commissionRate, terms.currencyDigits),
		networkFee: share(basketValue, feeRate, terms.currencyDigits),
	};
}

/**
 * Returns a percentage of an amount, rounded half up. The intermediate product is in hundredths of a percent
 * of the smallest coin.
 */
function share(basketValue: string, ratePercent: string, digits: number): string {
	const [whole = "0", decimals = ""] = ratePercent.split(".");
	const tenThousandths = BigInt(whole + decimals.padEnd(4, "0"));
	const product = coinsOf(basketValue) * tenThousandths;
	return writeCoins((product * 2n + 1_000_000n) / 2_000_000n, digits);
}

/** Returns an amount in the smallest coins of its currency. */
export function coinsOf(amount: string): bigint {
	return BigInt(amount.replace(".", ""));
}

export function writeCoins(coins: bigint, digits: number): string {
	const text = coins.toString().padStart(digits + 1, "0");
	return digits === 0 ? text : `${text.slice(0, -digits)}.${text.slice(-digits)}`;
}

function withoutTwins(states: readonly LifeState[]): LifeState[] {
	if (states.length < 2) return [...states];
	const stateByText = new Map<string, LifeState>();
	for (const state of states) {
		const replaced = [...(state.replaced?.events ?? [])];
		stateByText.set(JSON.stringify({ ...state, events: [...state.events, ...replaced] }), state);
	}
	return [...stateByText.values()];
}
