// A delivery's state in a few words, the same wherever a delivery shows: in lists, on its own page, beside a test
// and on the page of its conversion.

import { html } from "hono/html";
import { type AttemptOutcome, explainAttempt } from "../../callbacks/attempt-cause.ts";
import type { DeliveryState } from "../../domain/delivery.ts";
import { EVENT_NAMES } from "../../domain/event-name.ts";
import type { Content, Html } from "../html.ts";
import { badge, timeTag } from "./text.ts";

export const STATE_OPTIONS: readonly { value: DeliveryState; label: string }[] = [
	{ value: "pending", label: "Pending" },
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
	if (state !== "pending") return html`<span class="faint nothing">—</span>`;
	if (dueAtMs === null || dueAtMs <= nowMs) return "now";
	return timeTag(dueAtMs);
}

/** Those that count; interrupted ones are told apart. */
export function attemptCount({ attempts, interrupted }: { attempts: number; interrupted: number }): Content {
	const counted = String(attempts - interrupted);
	if (interrupted === 0) return counted;
	return html`${counted} <span class="secondary">+${interrupted} interrupted</span>`;
}

/** The last HTTP status received, and what happened since where a later attempt got none. */
export function lastAnswer({
	lastHttpStatus,
	lastAttempt,
}: {
	lastHttpStatus: number | null;
	lastAttempt: AttemptOutcome | null;
}): Content {
	const isLater = lastAttempt !== null && !["answered", "interrupted"].includes(lastAttempt.result);
	const status = lastHttpStatus === null ? html`<span class="faint">—</span>` : String(lastHttpStatus);
	if (!isLater) return status;
	const { title } = explainAttempt(lastAttempt);
	return html`${status} <span class="secondary">${lastHttpStatus === null ? "" : "then: "}${title}</span>`;
}
