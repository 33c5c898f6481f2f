// Did an attempt's request arrive where it should, as often as it should? Asked of the shop, not of the service.

import type { AttemptRow } from "../support/shop-programme.ts";
import type { SeenRequest } from "./hostile-shop.ts";

/** What is wrong, in words; empty when all is well. `before` came just before, on the connection to be kept. */
export function findArrivalFaults(
	requests: readonly SeenRequest[],
	attacked: AttemptRow,
	before: AttemptRow | null,
): string[] {
	const arrived = arrivalsOf(requests, attacked);
	const faults: string[] = [];
	if (arrived.length > 1) faults.push(`the request came ${arrived.length} times`);
	if (attacked.result === "answered" && arrived.length === 0) faults.push("answered, but never asked");
	// Whoever did not prove to be the shop does not get to read what is meant for the shop.
	if (attacked.detail?.endsWith("(tls)") === true && arrived.length > 0)
		faults.push("the request was sent although the handshake failed");
	if (before !== null && !isOnKept(requests, attacked, before))
		faults.push("the attack was not on a kept connection, so it proves nothing");
	return faults;
}

function isOnKept(requests: readonly SeenRequest[], attacked: AttemptRow, before: AttemptRow): boolean {
	const [first] = arrivalsOf(requests, before);
	const [second] = arrivalsOf(requests, attacked);
	return first !== undefined && first.connectionId === second?.connectionId;
}

function arrivalsOf(requests: readonly SeenRequest[], { nonce }: AttemptRow): SeenRequest[] {
	return requests.filter(({ rawHeaders }) => nonce !== null && rawHeaders.includes(nonce));
}
