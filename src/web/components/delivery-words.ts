// A delivery's state in a few words, the same wherever a delivery shows: in lists, on its own page, beside a test
// and on the page of its conversion.

import { html } from "hono/html";
import type { DeliveryState } from "../../domain/delivery.ts";
import { EVENT_NAMES } from "../../domain/event-name.ts";
import type { Content, Html } from "../html.ts";
import { badge, timeTag } from "./text.ts";

export const STATE_OPTIONS: readonly { value: DeliveryState; label: string }[] = [
	{ value: "pending", label: "On its way" },
	{ value: "delivered", label: "Delivered" },
	{ value: "failed", label: "Failed" },
	{ value: "cancelled", label: "Cancelled" },
];

export const EVENT_OPTIONS = EVENT_NAMES.map((name) => ({ value: name, label: name }));

export interface DeliveryProgress {
	state: DeliveryState;
	attempts: number;
	run: number;
	dueAtMs: number | null;
}

export function stateBadge({ state, attempts }: DeliveryProgress): Html {
	switch (state) {
		case "delivered":
			return badge("good", "Delivered");
		case "failed":
			return badge("bad", "Failed");
		case "cancelled":
			return badge("plain", "Cancelled");
		case "pending":
			return attempts === 0 ? badge("info", "Waiting") : badge("warn", "Retrying");
		default:
			return state satisfies never;
	}
}

export function resentMark(run: number): Html | null {
	return run > 1 ? html`<span class="small faint nowrap">resent by hand</span>` : null;
}

export function nextAttempt({ state, dueAtMs }: DeliveryProgress, nowMs: number): Content {
	if (state !== "pending") return html`<span class="faint">—</span>`;
	if (dueAtMs === null || dueAtMs <= nowMs) return "now";
	return timeTag(dueAtMs);
}

/** What came back last, in the fewest words. */
export function lastAnswer(lastHttpStatus: number | null, attempts: number): Content {
	if (lastHttpStatus !== null) return String(lastHttpStatus);
	return attempts === 0 ? html`<span class="faint">—</span>` : "no answer";
}
