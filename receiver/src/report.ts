// What the shop is told besides the answer that goes out. Its own functions may throw or reject, and a stranger's
// request can bring that about: neither goes any further than here.

import type { PostbackEvent } from "./event.ts";
import type { ReceivedRequest, Refused, Settings } from "./receiver-options.ts";

export function reportRefused(settings: Settings, refused: Refused, received?: ReceivedRequest): void {
	superviseCall(
		() => settings.onRefused(refused, received),
		(error) => reportError(settings, error),
	);
}

export function reportError(settings: Settings, error: unknown, event?: PostbackEvent): void {
	superviseCall(
		() => settings.onError(error, event),
		(second) => {
			// The shop's own report failed: this is the last place that can still say so.
			console.error("onError itself failed:", second, "while it was told of:", error);
		},
	);
}

/** Calls at once and waits for nothing: what is thrown, now or later, goes to `onFailure`. */
export async function superviseCall(call: () => unknown, onFailure: (error: unknown) => void): Promise<void> {
	try {
		await call();
	} catch (error) {
		onFailure(error);
	}
}
