// The promises that auditors check, and the error that an auditor throws when a promise does not hold.

export const PROMISES = [
	// These are the numbered invariants of ARCHITECTURE.md.
	"1 an answered change is stored",
	"2 each move creates one event",
	"3 a delivery has one end or a due time",
	"4 at most seven attempts, each at its time",
	"5 one engine owns a slot and stores its own results",
	"6 every request verifies and is fresh",
	"7 no request goes to a forbidden address",
	"8 owners learn of failures",
	"9 entries add up to what a conversion owes",
	"10 an entry is open or in one statement",
	"11 a statement adds up, has the next number and never changes",
	"12 amounts follow from the rates of the sale",
	// These are rules of the contract, and decisions where the contract leaves a choice.
	"an answer follows from the state of the conversion",
	"the body describes the event as it happened",
	"a credit follows from what the shop's server signed",
	"a partner's balance follows from the answers",
	"requests use the current URL and secret",
	"the verdict follows from the answer",
	"everything due ends",
	"nothing is sent during a hold",
	"nothing unexpected happens",
] as const;

export type PromiseName = (typeof PROMISES)[number];

export class Broken extends Error {
	readonly promise: PromiseName;

	constructor(promise: PromiseName, observation: string) {
		super(`${promise}: ${observation}`);
		this.promise = promise;
	}
}

/**
 * Throws a Broken error if `holds` is false. `observe` describes the observation that contradicts the
 * promise.
 */
export function demand(holds: boolean, promise: PromiseName, observe: () => string): asserts holds {
	if (!holds) throw new Broken(promise, observe());
}
