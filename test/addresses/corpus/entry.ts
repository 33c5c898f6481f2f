// One line of the corpus: a host or a whole URL, what the name server says of it, and the verdict that both
// saving and delivering must come to.

import type { FaultCode } from "../../../src/domain/fault.ts";
import type { Reply } from "../../support/dns-message.ts";

export interface Entry {
	/** What it is, or what it tries. */
	what: string;
	/** A host as it stands in a URL, brackets included: the run adds a port of its own. Or the whole text. */
	at: { host: string } | { url: string };
	expect: Expectation;
	/** For names; a name without answers does not exist. */
	answers?: Answers;
	/** The name in the question, where it is not the host as written. */
	asked?: string;
	/** From the moment it was saved on; the same if not given. */
	later?: { answers: Answers; expect: Expectation };
	/** The verdict depends on an answer that comes within a second. */
	isTimed?: boolean;
	/** The address of this machine where a packet to it would turn up. */
	reaches?: string;
}

export interface Answers {
	A: Reply;
	AAAA: Reply;
}

export type Expectation =
	/** Saved; and these addresses are dialled, in this order and no others. */
	| { verdict: "passes"; dials: readonly string[] }
	/** Refused with these words in the reason, and stored as a forbidden address: final, nothing dialled. */
	| { verdict: "forbidden"; because: string }
	/** Refused with this code, and stored as a network error of the look-up: retried, nothing dialled. */
	| { verdict: "unresolvable"; code: string }
	/** Refused for its form. A row that has it nevertheless is one attempt that fails as INVALID_URL: retried, nothing dialled. */
	| { verdict: "malformed"; fault: FaultCode };

export function passes(...dials: readonly string[]): Expectation {
	return { verdict: "passes", dials };
}

export function forbidden(because: string): Expectation {
	return { verdict: "forbidden", because };
}

export function unresolvable(code: string): Expectation {
	return { verdict: "unresolvable", code };
}

export function malformed(fault: FaultCode): Expectation {
	return { verdict: "malformed", fault };
}

/** The plain case: addresses of either family, each in the answer it belongs to. */
export function answerWith(...addresses: readonly string[]): Answers {
	const isSix = (address: string) => address.includes(":");
	return {
		A: { answers: addresses.filter((one) => !isSix(one)).map((data) => ({ type: "A", data })) },
		AAAA: { answers: addresses.filter(isSix).map((data) => ({ type: "AAAA", data })) },
	};
}
