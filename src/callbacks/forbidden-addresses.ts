// Callbacks that were not sent because their host resolves to a private or internal address. The address is for
// whoever runs the service: it goes to the log, and neither into the database nor onto a page.

import type { Outcome } from "../domain/verdict.ts";
import type { Log } from "../ports.ts";

/** Only bounds memory; when full, what is forbidden is simply logged once more. */
const MAX_REMEMBERED = 1_000;

/** Each host with its address is logged once, not once a callback: a shop's mistake must not flood the log. */
export function createForbiddenAddressLog(log: Log): (url: string, outcome: Outcome) => void {
	const logged = new Map<string, string>();
	return (url, outcome) => {
		if (outcome.kind !== "forbidden-address") return;
		const host = URL.parse(url)?.host ?? "";
		const { address, reason } = outcome;
		if (logged.get(host) === address) return;
		if (logged.size >= MAX_REMEMBERED) logged.clear();
		logged.set(host, address);
		log.warn({ host, address, reason }, "a callback was not sent: its host is not public");
	};
}
