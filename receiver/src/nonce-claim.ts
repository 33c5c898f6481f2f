// The nonce of one request. The nonce is remembered when it is claimed, and released if the answer asks the
// sender to repeat the request. A proxy may repeat exactly the same bytes, and a 401 for them would end the
// delivery.

import type { NonceMemory } from "./nonce-memory.ts";
import type { Settings } from "./receiver-options.ts";
import { reportError, superviseCall } from "./report.ts";

export type NonceClaim = {
	/** The shop's nonce memory, restricted to this request. */
	readonly nonces: NonceMemory | undefined;
	/** Releases the nonce without waiting, because no answer may depend on a memory that hangs. */
	takeBack(): void;
};

export function claimNonce(settings: Settings): NonceClaim {
	const { nonces } = settings;
	if (nonces === undefined) return { nonces, takeBack: () => undefined };
	let spent: string | undefined;
	let isTakenBack = false;

	function forget(nonce: string): void {
		superviseCall(
			() => nonces?.forget?.(nonce),
			(error) => reportError(settings, error),
		);
	}

	return {
		nonces: {
			async remember(nonce, forMs) {
				let isNew = true;
				try {
					isNew = await nonces.remember(nonce, forMs);
					return isNew;
				} finally {
					// A memory that threw may still have stored the nonce. A nonce that the memory already knew belongs
					// to another request and must not be released.
					if (isNew) spent = nonce;
					if (isNew && isTakenBack) forget(nonce);
				}
			},
		},
		takeBack() {
			isTakenBack = true;
			if (spent !== undefined) forget(spent);
		},
	};
}
