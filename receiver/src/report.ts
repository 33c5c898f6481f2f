// Calls the shop's own reporting functions. They may throw or reject, and a stranger's request can make them
// do so, so errors are caught here.

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
			// The shop's own onError failed, and this is the last place that can say so.
			console.error("onError itself failed:", second, "while it was told of:", error);
		},
	);
}

/** Calls at once and does not wait. Errors, now or later, go to `onFailure`. */
export async function superviseCall(call: () => unknown, onFailure: (error: unknown) => void): Promise<void> {
	try {
		await call();
	} catch (error) {
		onFailure(error);
	}
}
