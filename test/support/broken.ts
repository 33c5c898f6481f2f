// What an auditor throws: which promise does not hold, and what was seen.

export type PromiseName =
	/** The numbered invariants of ARCHITECTURE.md. */
	| "1 what was answered is stored"
	| "2 one event per move"
	| "3 one end or a due time"
	| "4 seven attempts at their time"
	| "5 one owner of a slot, results of its own"
	| "6 verifiable, fresh requests"
	| "7 no forbidden address"
	| "8 owners are told"
	/** The rules of the contract and the decisions beside them. */
	| "the answer follows from the life of a conversion"
	| "the body is the event as it happened"
	| "a credit is what the shop's server signed"
	| "the URL and secret of now"
	| "the verdict follows from the answer"
	| "everything due ends"
	| "nothing is sent while held"
	| "nothing unexpected";

export class Broken extends Error {
	readonly promise: PromiseName;

	constructor(promise: PromiseName, seen: string) {
		super(`${promise}: ${seen}`);
		this.promise = promise;
	}
}

export function demand(isKept: boolean, promise: PromiseName, seen: () => string): asserts isKept {
	if (!isKept) throw new Broken(promise, seen());
}
