// What a name server says of a name, in the forms that the entries about names are made of.

import type { Reply, ResourceRecord } from "../../support/dns-message.ts";
import { type Answers, answerWith, type Entry, type Expectation, forbidden } from "./entry.ts";

/** What the name has, its answers, and what must come of it. */
export type NameCase = readonly [what: string, answers: Answers, expect: Expectation];

/** The name is there and has no such record. */
export const NOTHING: Reply = { answers: [] };
export const PRIVATE = forbidden("10.9.8.7 is in a private network");

export function ipv4(...addresses: readonly string[]): Reply {
	return answerWith(...addresses).A;
}

/** Nothing over IPv6. */
export function overIpv4(reply: Reply): Answers {
	return { A: reply, AAAA: NOTHING };
}

/** Over both families. */
export function failing(failure: NonNullable<Reply["failure"]>): Answers {
	return { A: { failure }, AAAA: { failure } };
}

/** Each aliased to the next, and what the last one stands for, in one message as resolvers send it. */
export function chain(length: number, ...addresses: readonly string[]): Reply {
	const links = Array.from({ length }, (_, index): ResourceRecord => {
		const owner = index === 0 ? {} : { owner: `link-${index}.alias.example` };
		return { ...owner, type: "CNAME", data: `link-${index + 1}.alias.example` };
	});
	const ends = addresses.map(
		(data): ResourceRecord => ({ owner: `link-${length}.alias.example`, type: "A", data }),
	);
	return { answers: [...links, ...ends] };
}

/** Each under a name of its own. */
export function nameEntries(family: string, cases: readonly NameCase[]): Entry[] {
	return cases.map(([what, answers, expect], index) => ({
		what: `a name with ${what}`,
		at: { host: `${family}-${index}.names.example` },
		answers,
		expect,
	}));
}
