// Calls the shop's own reporting functions. They may throw or reject, and a stranger's request can make them
// do so. Errors are therefore caught.

import type { PostbackEvent } from "./event.ts";
import type { ReceivedRequest, Refused, Settings } from "./receiver-options.ts";

export function reportRefused(settings: Settings, refused: Refused, received?: ReceivedRequest): void {
	void superviseCall(
		() => settings.onRefused(refused, received),
		(error) => reportError(settings, error),
	);
}

export function reportError(
	{ onError }: Pick<Settings, "onError">,
	error: unknown,
	event?: PostbackEvent,
): void {
	void superviseCall(
		() => onError(error, event),
		(second) => {
			// The shop's own onError failed. The console is the last place where this can be reported.
			console.error("onError itself failed:", second, "It was called for:", error);
		},
	);
}

/**
 * Calls the function at once and does not wait for it. Errors are passed to `onFailure`, even if they occur
 * later.
 */
export async function superviseCall(call: () => unknown, onFailure: (error: unknown) => void): Promise<void> {
	try {
		await call();
	} catch (error) {
		onFailure(error);
	}
}
