// Callbacks that the operator holds on purpose, with RINGBACK_DELIVERY=paused.

export const DELIVERY = ["on", "paused"] as const;

export interface DeliveryPause {
	sinceMs: number;
	/** Callbacks that wait, retries that are not due yet included. */
	waiting: number;
	/** Another process was started without the setting, and sends. */
	isSentElsewhere: boolean;
}
