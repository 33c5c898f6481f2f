// The nonce of one request: spent once it is remembered, and given back when the answer asks for the request again.
// A proxy may repeat the very same bytes, and a 401 for them would end the delivery.

import type { NonceMemory } from "./nonce-memory.ts";
import type { Settings } from "./receiver-options.ts";
import { reportError, superviseCall } from "./report.ts";

export type NonceClaim = {
	/** The shop's memory, for this request alone. */
	readonly nonces: NonceMemory | undefined;
	/** Waits for nothing: no answer may hang on a memory that does. */
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
					// A memory that threw may have kept it all the same. One that knew it keeps it: it is another request's.
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
