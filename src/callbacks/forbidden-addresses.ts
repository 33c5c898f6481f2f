// Callbacks that were not sent because their host resolves to a private or internal address. The address is for
// whoever runs the service: it goes to the log, and neither into the database nor onto a page.

import type { Log, Transport } from "../ports.ts";

/** Only bounds memory; when full, what is forbidden is simply logged once more. */
const MAX_REMEMBERED = 1_000;

/** Each host with its address is logged once, not once a callback: a shop's mistake must not flood the log. */
export function logForbiddenAddresses({ post }: Pick<Transport, "post">, log: Log): Pick<Transport, "post"> {
	const logged = new Map<string, string>();
	return {
		async post(request) {
			const answer = await post(request);
			const { outcome } = answer;
			if (outcome.kind !== "forbidden-address") return answer;
			const host = URL.parse(request.url)?.host ?? "";
			if (logged.get(host) !== outcome.address) {
				if (logged.size >= MAX_REMEMBERED) logged.clear();
				logged.set(host, outcome.address);
				const { address, reason } = outcome;
				log.warn({ host, address, reason }, "a callback was not sent: its host is not public");
			}
			return answer;
		},
	};
}
