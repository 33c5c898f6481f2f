// A reserved block with both its edges and its neighbours, every address written out and nothing reckoned: a
// block that the product has one bit too wide or too narrow shows at one of the four.

import { type Entry, forbidden, passes } from "./entry.ts";

/** The block that the refusal names in brackets, or null where the address is public. */
type Verdict = string | null;

export interface ReservedBlock {
	cidr: string;
	/** What it is, and the document that says so. */
	what: string;
	addresses: readonly (readonly [address: string, verdict: Verdict])[];
}

/** Its edges and what else is worth trying inside; its public neighbours; and what is refused as part of another. */
interface Addresses {
	inside?: readonly string[];
	outside?: readonly string[];
	[otherReason: string]: readonly string[] | undefined;
}

export function block(
	cidr: string,
	what: string,
	{ inside = [], outside = [], ...others }: Addresses,
): ReservedBlock {
	const addresses = [
		...inside.map((address) => [address, `(${cidr})`] as const),
		...outside.map((address) => [address, null] as const),
		...Object.entries(others).flatMap(([reason, ofAnother = []]) =>
			ofAnother.map((address) => [address, reason] as const),
		),
	];
	return { cidr, what, addresses };
}

export function entriesOf(blocks: readonly ReservedBlock[]): Entry[] {
	return blocks.flatMap(({ cidr, what, addresses }) =>
		addresses.map(([address, verdict]) => ({
			what: `${address}, an edge or a neighbour of ${cidr} (${what})`,
			at: { host: address.includes(":") ? `[${address}]` : address },
			expect: verdict === null ? passes(address) : forbidden(verdict),
			...reach(address),
		})),
	);
}

/** What is this machine itself: a canary listens there. The unspecified address is dialled as loopback. */
function reach(address: string): Pick<Entry, "reaches"> {
	if (address.startsWith("127.")) return { reaches: address };
	if (address === "0.0.0.0") return { reaches: "127.0.0.1" };
	return address === "::" || address === "::1" ? { reaches: "::1" } : {};
}
