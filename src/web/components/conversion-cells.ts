// How a conversion is shown in a list: its order, its status and what comes of it, who decided and why.

import { html } from "hono/html";
import type { Status } from "../../domain/conversion.ts";
import type { Conversion } from "../../store/conversions.ts";
import type { Html } from "../html.ts";
import { conversionPath, withQuery } from "../paths.ts";
import {
	decidedByWords,
	isUnconfirmed,
	reasonWords,
	SOURCE_WORDS,
	STATUS_WORDS,
	titleCase,
} from "./conversion-words.ts";
import { badge, dayTag, type Tone } from "./text.ts";

const STATUS_TONES: Readonly<Record<Status, Tone>> = {
	RECORDED: "info",
	APPROVED: "good",
	REJECTED: "bad",
	REVERSED: "warn",
	PARKED: "plain",
	EXPIRED: "plain",
};

export function statusBadge(status: Status): Html {
	return badge(STATUS_TONES[status], STATUS_WORDS[status]);
}

/** Long ids are cut with an ellipsis where there is no room; the whole one is in its title. */
function orderLink(conversion: Conversion, programmePublicId: string, from: CameFrom): Html {
	const href = withQuery(conversionPath(programmePublicId, conversion.public_id), from);
	return html`<a class="order-id mono" href="${href}" title="${conversion.order_id}">${conversion.order_id}</a>`;
}

/** For the way back: the filters of the list that it stands in, by the name that the conversion's page reads. */
export type CameFrom = Readonly<Partial<Record<"list" | "review", string | undefined>>>;

export function orderCell(conversion: Conversion, programmePublicId: string, from: CameFrom): Html {
	const { event_type: eventType, source, test } = conversion;
	// A test that was sent from Integration came from nowhere else: one word says both.
	const way = source === "test" ? null : ` · ${SOURCE_WORDS[source]}`;
	return html`${orderLink(conversion, programmePublicId, from)}<span class="secondary">${titleCase(eventType)}${way}${isUnconfirmed(conversion) ? ", unconfirmed" : null}${
		test === 1 ? html` · <span class="test-mark">Test</span>` : null
	}</span>`;
}

export function statusCell(conversion: Conversion): Html {
	const next = nextStep(conversion);
	return html`${statusBadge(conversion.status)}${next === null ? null : html`<span class="secondary nowrap">${next}</span>`}`;
}

/** What happens by itself, or who decided and why. */
function nextStep(conversion: Conversion): Html | null {
	const { status, window_ends_at_ms: endsAtMs, decided_by: decidedBy, reason } = conversion;
	if (endsAtMs !== null && status === "RECORDED") return html`approves on ${dayTag(endsAtMs)}`;
	if (endsAtMs !== null && status === "PARKED") return html`waits until ${dayTag(endsAtMs)}`;
	if (decidedBy === null) return null;
	const why = reason === null ? "" : `${reasonWords(reason)} · `;
	return html`${why}${decidedByWords(decidedBy)}`;
}
